"""A saved page, opened from disk with the network cut off."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from breadth import breadth
from browser.saved import NO_WORKER, Saved, saved_page
from matplotlib import image
from playwright.sync_api import Browser, expect
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


def shows(svg: str, op: str) -> bool:
    """Whether an operator has a box of its own; a collapsed group lists what is in it."""
    return f">{op}</text>" in svg


@pytest.fixture
def saved(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Saved]:
    """A page in a browser; its first script is the fixture's parameter."""
    with saved_page(browser, getattr(request, "param", "")) as saved:
        yield saved


@pytest.mark.parametrize("saved", breadth(["", NO_WORKER], ""), indirect=True, ids=["worker", "no worker"])
def test_graph_is_searched_opened_moved_and_saved(saved: Saved, tmp_path: Path) -> None:
    saved.open(GraphView(BEFORE, collapsed=[0]).save(tmp_path / "a.html"))
    assert not shows(saved.svg(), "tanh")
    closed = saved.pixels()

    saved.part("search").fill("op:tanh")
    expect(saved.page.locator(".wb-count")).to_contain_text("1")
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

    with saved.page.expect_download() as download:
        saved.part("save").click(modifiers=["Shift"])
    assert download.value.suggested_filename == "graph.png"
    pixels = image.imread(Path(download.value.path()))
    assert pixels.shape[0] > 400
    assert pixels[:, :, 0].min() < 0.2 < 0.9 < pixels[:, :, 0].mean()


def test_comparison_has_its_modes(saved: Saved, tmp_path: Path) -> None:
    saved.open(CompareView(BEFORE, AFTER).save(tmp_path / "a.html"))
    svg = saved.svg()
    assert shows(svg, "tanh")
    assert shows(svg, "sigmoid")
    assert saved.page.locator("[data-testid^='chip-']:visible").count() > 0
    split = saved.pixels("canvas-before")
    saved.part("mode-changed").click()
    assert saved.pixels("canvas-before") != split
    saved.part("mode-overlay").click()
    expect(saved.part("canvas-overlay")).to_be_visible()


@pytest.mark.long
def test_hostile_names_stay_text(saved: Saved, tmp_path: Path) -> None:
    saved.open(
        CompareView(hostile.graph(), hostile.changed(), titles=list(hostile.NAMES[:2])).save(tmp_path / "a.html")
    )
    saved.part("search").fill("bold")
    saved.part("search").press("Enter")
    assert "&lt;b&gt;bold&lt;/b&gt;" in saved.svg()
    assert saved.page.evaluate("window.broken ?? null") is None
    assert saved.page.locator("img, b, i").count() == 0


def test_page_follows_the_systems_colours(browser: Browser, tmp_path: Path) -> None:
    page = browser.new_page(color_scheme="light")
    page.goto(GraphView(BEFORE).save(tmp_path / "a.html").as_uri())
    expect(page.locator(".wb")).to_have_css("background-color", "rgb(255, 255, 255)")
    page.emulate_media(color_scheme="dark")
    expect(page.locator(".wb")).to_have_css("background-color", "rgb(17, 17, 17)")
    page.close()
