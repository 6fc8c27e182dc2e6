"""A saved notebook shows the pictures of its widgets where no kernel runs, and the live views where one does."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from browser.driver import BRIEFLY, Notebook
from browser.lab import Lab, living_page
from browser.views import PREPARE, TANH
from playwright.sync_api import Browser, Page, expect

from workbench.widgets.still import MOST

STILL = "[data-wb-still]"


def stills(notebook: dict[str, Any]) -> list[str]:
    """The markup of the still outputs of a notebook's cells."""
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    marked = [output for output in outputs if "tvm-workbench-still" in output.get("metadata", {})]
    return ["".join(output["data"]["text/html"]) for output in marked]


def in_page(notebook: Notebook) -> list[str]:
    return stills(notebook.page.evaluate("() => window.jupyterapp.shell.currentWidget.content.model.toJSON()"))


PICTURE = re.compile(r'src="(data:image/[^"]+;base64,([^"]+))"')


def pictures(notebook: Notebook) -> list[str]:
    """The pictures that pages have sent; the first one of a small graph is Graphviz's, made in Python."""
    found = [match.groups() for match in PICTURE.finditer("".join(in_page(notebook)))]
    return [url for url, data in found if b"graphviz" not in base64.b64decode(data)]


def save(notebook: Notebook) -> None:
    notebook.page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")


def kernel_is_shut_down(notebook: Notebook) -> None:
    notebook.page.evaluate("() => window.jupyterapp.shell.currentWidget.context.sessionContext.shutdown()")


def has_picture(page: Page) -> None:
    """The picture is on the screen, and the widget's error is not."""
    picture = page.locator(f"{STILL} img").first
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.complete && image.naturalWidth > 300")
    assert (picture.bounding_box() or {})["height"] > 200
    for words in ("Error displaying widget", "Loading widget"):
        expect(page.get_by_text(words).and_(page.locator(":visible"))).to_have_count(0)


@pytest.fixture(scope="module")
def saved(lab: Lab, browser: Browser) -> Path:
    """A notebook with one widget, saved when the page had sent its picture; its kernel is gone."""
    path = lab.new("still")
    with living_page(browser, 1280, 800) as page:
        notebook = lab.open(page, path.name)
        notebook.run_cell(PREPARE)
        notebook.show("wb.CompareView(BEFORE, AFTER)")
        notebook.until(lambda: pictures(notebook))
        assert "Run the cell for the live view" in in_page(notebook)[0]
        save(notebook)
        notebook.until(lambda: stills(json.loads(path.read_text())) == in_page(notebook))
        kernel_is_shut_down(notebook)
    return path


def test_live_view_hides_its_picture_and_keeps_it_new(lab: Lab, browser: Browser) -> None:
    path = lab.new("living")
    with living_page(browser, 1280, 800) as page:
        notebook = lab.open(page, path.name)
        notebook.run_cell(PREPARE)
        view = notebook.show("wb.GraphView(BEFORE)")
        notebook.until(lambda: pictures(notebook))
        expect(page.locator(STILL)).to_be_hidden()
        expect(view.root).to_be_visible()
        first = in_page(notebook)
        page.wait_for_timeout(1500)
        assert in_page(notebook) == first, "a view at rest leaves the notebook as it is"
        view.click(TANH)
        notebook.until(lambda: in_page(notebook) != first)
        assert len(in_page(notebook)) == 1

        # the kernel lives on, and so does the view when the page is loaded again
        save(notebook)
        notebook.until(lambda: stills(json.loads(path.read_text())) == in_page(notebook))
        page.reload()
        expect(page.locator(".wb canvas.wb-canvas")).to_be_visible()
        expect(page.locator(STILL)).to_be_hidden()


WRAPPED = """
import ipywidgets
from IPython.display import display
view, out = wb.GraphView(BEFORE), ipywidgets.Output()
print("a line before it")
display(out)
with out:
    display(view)
"""


@pytest.mark.long
def test_view_inside_an_output_widget_is_shown(relax: Notebook) -> None:
    """Only the picture itself is hidden, and neither the output around it nor the one before that."""
    relax.run_cell(WRAPPED)
    expect(relax.page.locator(STILL)).to_be_attached()
    expect(relax.page.locator(".wb canvas.wb-canvas")).to_be_visible()
    expect(relax.page.get_by_text("a line before it", exact=True).last).to_be_visible()
    expect(relax.page.locator(STILL)).to_be_hidden()


MANY = """
b = GraphBuilder("many", "relay")
row = [b.node("param", f"x{i}", name=f"x{i}", type="Tensor[(1, 16), float32]") for i in range(60)]
for depth in range(60):
    row = [b.node("op", "nn.relu", (value,), type="Tensor[(1, 16), float32]") for value in row]
b.outputs = row
"""
DECODED = """async (url) => { const image = new Image(); image.src = url; await image.decode(); return image.naturalWidth; }"""


@pytest.mark.long
def test_picture_of_a_large_graph_is_small_and_one_of_hostile_names_is_valid(relax: Notebook) -> None:
    relax.tell(MANY)
    for count, source, kind in [
        (1, "wb.GraphView(b.build(), collapsed=[], viewport={'x': 5000, 'y': 3000, 'scale': 0.1})", "webp"),
        (2, "wb.CompareView(hostile.graph(), hostile.changed(), titles=list(hostile.NAMES[:2]))", "svg+xml"),
    ]:
        relax.show(source)
        relax.until(lambda count=count: len(pictures(relax)) == count)
        picture = pictures(relax)[-1]
        assert picture.startswith(f"data:image/{kind};base64,")
        assert len(picture) <= MOST
        assert relax.page.evaluate(DECODED, picture) > 300
    assert relax.page.evaluate("window.broken ?? null") is None


def test_picture_is_shown_without_a_kernel(lab: Lab, browser: Browser, saved: Path) -> None:
    path = copied(saved, "gone", {"kernelspec": {"name": "gone", "display_name": "gone"}})
    subprocess.run([sys.executable, "-m", "jupyter", "trust", str(path)], check=True, capture_output=True)
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(f"{lab.url}/lab/workspaces/gone/tree/{path.name}?token={lab.token}")
    page.locator(".jp-Dialog-button.jp-mod-reject", has_text="No Kernel").click(timeout=BRIEFLY)
    has_picture(page)
    page.close()


@pytest.mark.long
def test_picture_is_shown_with_a_new_kernel_without_trust_and_by_nbconvert(
    lab: Lab, browser: Browser, saved: Path, tmp_path: Path
) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    lab.open(page, saved.name)
    page.wait_for_timeout(3000)  # JupyterLab looks for the model in the new kernel
    has_picture(page)

    # a notebook that the server knows no signature of
    lab.open(page, copied(saved, "strange", {"note": "another notebook"}).name)
    picture = page.locator(".jp-OutputArea-output img").first
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.complete && image.naturalWidth > 300")
    expect(page.get_by_text("Error displaying widget")).to_have_count(0)

    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--output-dir", str(tmp_path), str(saved)]
    subprocess.run(command, check=True, capture_output=True)
    page.goto((tmp_path / "still.html").as_uri())
    has_picture(page)
    page.close()


def copied(saved: Path, name: str, metadata: dict[str, Any]) -> Path:
    """Write the saved notebook with other metadata."""
    content = json.loads(saved.read_text())
    content["metadata"] |= metadata
    path = saved.with_name(f"{name}.ipynb")
    path.write_text(json.dumps(content))
    return path
