"""A saved page, opened from disk with the network cut off."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.lab import BRIEFLY
from matplotlib import image
from playwright.sync_api import Browser, Locator, Page, Route, expect
from widgets import hostile

from workbench.graph.model import Edge, Graph, Group, Node
from workbench.widgets.graph.compare import CompareView
from workbench.widgets.graph.view import GraphView


def graph(*ops: str) -> Graph:
    """A chain of operators; the second and the third are in a kernel."""
    nodes = tuple(
        Node(id, "op", op, "Tensor[(1, 16), float32]", group=0 if id in (1, 2) else None) for id, op in enumerate(ops)
    )
    edges = tuple(Edge(id, id + 1, 0, "Tensor[(1, 16), float32]") for id in range(len(ops) - 1))
    return Graph(nodes, edges, (Group(0, "primitive", "fused"),), (len(ops) - 1,), "chain", "relay")


BEFORE = graph("nn.dense", "nn.relu", "tanh", "add")
AFTER = graph("nn.dense", "nn.relu", "sigmoid", "add")


class Saved:
    """A saved page in a browser, and everything it asked for."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.asked: list[str] = []
        self.failed: list[str] = []
        page.route("**/*", self._answer)
        page.on("pageerror", lambda error: self.failed.append(str(error)))
        page.on("console", lambda message: self.failed.append(message.text) if message.type == "error" else None)

    def _answer(self, route: Route) -> None:
        if route.request.url.startswith("file:"):
            route.continue_()
            return
        self.asked.append(route.request.url)
        route.abort()

    def open(self, path: Path) -> None:
        self.page.goto(path.as_uri())
        expect(self.page.locator("canvas").first).to_be_visible(timeout=BRIEFLY)
        # a worker answers in a few milliseconds; nothing on the page says that it did
        self.page.wait_for_timeout(300)

    def part(self, name: str) -> Locator:
        return self.page.locator(f"[data-testid='{name}']")

    def svg(self) -> str:
        """The picture as the page's own save button writes it."""
        with self.page.expect_download() as download:
            self.part("save").click()
        return Path(download.value.path()).read_text(encoding="utf-8")

    def pixels(self, name: str = "canvas") -> bytes:
        self.page.wait_for_timeout(400)  # glides last 250 ms
        return self.part(name).screenshot()


def shows(svg: str, op: str) -> bool:
    """Whether an operator has a box of its own; a collapsed group lists what is in it."""
    return f">{op}</text>" in svg


@pytest.fixture(params=["worker", "no worker"])
def saved(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Saved]:
    """A page in a browser, with workers and without; nothing may fail in it and nothing be asked for."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, accept_downloads=True)
    page = context.new_page()
    if request.param == "no worker":
        page.add_init_script(
            "window.Worker = class { constructor() { throw new Error('workers are forbidden here'); } }"
        )
    saved = Saved(page)
    yield saved
    assert saved.failed == []
    # the worker is the page's own text
    assert [url for url in saved.asked if not url.startswith("blob:")] == []
    context.close()


def test_search_expand_pan_and_zoom(saved: Saved, tmp_path: Path) -> None:
    saved.open(GraphView(BEFORE, collapsed=[0]).save(tmp_path / "a.html"))
    assert not shows(saved.svg(), "tanh")
    closed = saved.pixels()

    saved.part("search").fill("op:tanh")
    expect(saved.page.locator(".wb-count")).to_contain_text("1", timeout=BRIEFLY)
    saved.part("search").press("Enter")
    assert shows(saved.svg(), "tanh")
    assert saved.pixels() != closed

    saved.part("search").press("Escape")
    saved.part("fit").click()
    still = saved.pixels()
    box = saved.part("canvas").bounding_box()
    assert box
    saved.page.mouse.move(box["x"] + 40, box["y"] + 40)
    saved.page.mouse.down()
    saved.page.mouse.move(box["x"] + 140, box["y"] + 90, steps=4)
    saved.page.mouse.up()
    panned = saved.pixels()
    assert panned != still
    saved.page.mouse.wheel(0, -400)
    assert saved.pixels() != panned


def test_the_picture_is_saved_as_png_too(saved: Saved, tmp_path: Path) -> None:
    saved.open(GraphView(BEFORE).save(tmp_path / "a.html"))
    with saved.page.expect_download() as download:
        saved.part("save").click(modifiers=["Shift"])
    assert download.value.suggested_filename == "graph.png"
    pixels = image.imread(Path(download.value.path()))
    assert pixels.shape[0] > 400
    assert pixels[:, :, 0].min() < 0.2 < 0.9 < pixels[:, :, 0].mean()


def test_compare(saved: Saved, tmp_path: Path) -> None:
    saved.open(CompareView(BEFORE, AFTER).save(tmp_path / "a.html"))
    svg = saved.svg()
    assert shows(svg, "tanh")
    assert shows(svg, "sigmoid")
    assert saved.page.locator("[data-testid^='chip-']:visible").count() > 0
    split = saved.pixels("canvas-before")
    saved.part("mode-changed").click()
    assert saved.pixels("canvas-before") != split
    saved.part("mode-overlay").click()
    expect(saved.part("canvas-overlay")).to_be_visible(timeout=BRIEFLY)


def test_hostile_names_break_nothing(saved: Saved, tmp_path: Path) -> None:
    saved.open(CompareView(hostile.graph, hostile.changed(), titles=list(hostile.NAMES[:2])).save(tmp_path / "a.html"))
    saved.part("search").fill("bold")
    saved.part("search").press("Enter")
    assert "&lt;b&gt;bold&lt;/b&gt;" in saved.svg()
    assert saved.page.evaluate("window.broken ?? null") is None
    assert saved.page.locator("img, b, i").count() == 0


@pytest.mark.parametrize(("scheme", "colour"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(17, 17, 17)")])
def test_the_page_follows_the_systems_colours(scheme: str, colour: str, browser: Browser, tmp_path: Path) -> None:
    page = browser.new_page(color_scheme=scheme)  # pyright: ignore[reportArgumentType]
    page.goto(GraphView(BEFORE).save(tmp_path / "a.html").as_uri())
    expect(page.locator(".wb")).to_have_css("background-color", colour)
    page.emulate_media(color_scheme="dark" if scheme == "light" else "light")
    expect(page.locator(".wb")).not_to_have_css("background-color", colour)
    page.close()
