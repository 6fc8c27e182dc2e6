"""The driver of the browser tests: a notebook in JupyterLab, and a widget on its page with the kernel's state beside it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, Page, expect

BRIEFLY = 60_000
"milliseconds; a shared machine may be slow, and times are measured in benchmarks/"
expect.set_options(timeout=BRIEFLY)

TEXTS = {"wb-predict", "wb-schedule", "wb-tune"}
"classes of the widgets without a graph"


class Notebook:
    """A notebook open in JupyterLab, and its kernel."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def run_all(self) -> None:
        """Run every cell, without waiting."""
        self.page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")

    def run_cell(self, source: str) -> None:
        """Add a cell at the end and run it."""
        self.page.evaluate(_RUN_CELL, source)

    def python(self, expression: str) -> Any:
        """Return an expression's value in the kernel, after everything the kernel was asked before."""
        answer = self.page.evaluate(_EVALUATE, f"import json as _json; print('<<' + _json.dumps({expression}) + '>>')")
        assert "<<" in answer, answer
        return json.loads(answer.split("<<", 1)[1].rsplit(">>", 1)[0])

    def tell(self, statement: str) -> None:
        """Run a statement in the kernel."""
        self.python(f"[exec({statement!r}, globals())]")

    def agree(self, expression: str, value: object) -> None:
        """Wait until the kernel has a value: a widget sends its newest state when the kernel has taken the one before."""
        self.until(lambda: self.python(expression) == value, lambda: f"{expression} is {self.python(expression)}")

    def until(self, true: Callable[[], Any], why: Callable[[], str] = lambda: "it did not become true") -> None:
        """Wait until a condition is true."""
        deadline = time.monotonic() + BRIEFLY / 1000
        while not true():
            assert time.monotonic() < deadline, why()
            self.page.wait_for_timeout(50)

    def show(self, make: str, name: str = "view") -> View:
        """Show a new widget in a cell of its own; it has this name in the kernel."""
        views = self.page.locator(".wb").count()
        self.run_cell(f"{name} = {make}\n{name}")
        expect(self.page.locator(".wb")).to_have_count(views + 1, timeout=BRIEFLY)
        return View(self, views)

    def clear(self) -> None:
        """Delete the cells and end their widgets; the kernel lives on."""
        self.tell("import ipywidgets; ipywidgets.Widget.close_all()")
        for command in ("select-all", "delete-cell"):
            self.page.evaluate("(name) => window.jupyterapp.commands.execute(`notebook:${name}`)", command)
        expect(self.page.locator(".wb")).to_have_count(0, timeout=BRIEFLY)


class View:
    """A widget on the page."""

    def __init__(self, notebook: Notebook, number: int) -> None:
        self.notebook, self.page = notebook, notebook.page
        self.python, self.tell, self.agree, self.until = notebook.python, notebook.tell, notebook.agree, notebook.until
        self.root = self.page.locator(".wb").nth(number)
        kinds = (self.root.get_attribute("class") or "").split()
        if not TEXTS & {*kinds}:
            self.until(lambda: int(self.root.get_attribute("data-scenes") or 0) > 0)
            self.canvas().scroll_into_view_if_needed()
            self.rest()

    def part(self, name: str) -> Locator:
        """Return the element with that data-testid."""
        return self.root.locator(f"[data-testid='{name}']").first

    def shows(self, name: str, text: object) -> None:
        """Wait until a part contains a text."""
        expect(self.part(name)).to_contain_text(f"{text}", timeout=BRIEFLY)

    def canvas(self, side: int = 0) -> Locator:
        return self.root.locator("canvas.wb-canvas").nth(side)

    def places(self, side: int = 0) -> dict[int, tuple[float, float, float]]:
        """Return the middle and the width of each node drawn as itself, in pixels of its pane; needs the bundle of PREPARE."""
        rows = self.root.evaluate("(root, side) => root.places?.(side) ?? []", side)
        return {int(id): (x, y, width) for id, x, y, width in rows}

    def rest(self) -> None:
        """Wait until nothing moves: a glide lasts 250 ms, and what Python asks for comes a moment later."""
        was, still = None, 0
        deadline = time.monotonic() + BRIEFLY / 1000
        while still < 3 and time.monotonic() < deadline:
            self.page.wait_for_timeout(90)
            now = (self.places(0), self.places(1))
            still = still + 1 if now == was else 0
            was = now

    def click(self, id: int, side: int = 0, **options: Any) -> None:
        """Click on a node's lower right, where no badge is."""
        x, y, width = self.places(side)[id]
        self.canvas(side).click(position={"x": x + width / 2 - 6, "y": y - 8}, **options)

    def hover(self, id: int, side: int = 0) -> None:
        """Move the pointer to the middle of a node."""
        x, y, _ = self.places(side)[id]
        self.canvas(side).hover(position={"x": x, "y": y})

    def drag(self, x: float, y: float, dx: float, dy: float) -> None:
        """Drag the first pane's background by some pixels, from a place in it."""
        box = self.canvas().bounding_box()
        assert box
        self.page.mouse.move(box["x"] + x, box["y"] + y)
        self.page.mouse.down()
        self.page.mouse.move(box["x"] + x + dx, box["y"] + y + dy, steps=4)
        self.page.mouse.up()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def ink(self, id: int) -> float:
        """Return how much darker than its surroundings a node is, from the pixels of the canvas: 0 is not there."""
        x, y, width = self.places()[id]
        box = [x - width / 2 - 1, y - 12, width + 2, 24]
        return self.canvas().evaluate(_INK, box)


_EVALUATE = """
async (code) => {
  const kernel = window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel;
  let text = "";
  const future = kernel.requestExecute({ code });
  future.onIOPub = (message) => {
    if (message.header.msg_type === "stream") text += message.content.text;
    if (message.header.msg_type === "error") text += message.content.traceback.join("\\n");
  };
  await future.done;
  return text;
}
"""

_RUN_CELL = """
async (source) => {
  const app = window.jupyterapp;
  const notebook = app.shell.currentWidget.content;
  notebook.activeCellIndex = notebook.widgets.length - 1;
  await app.commands.execute("notebook:insert-cell-below");
  notebook.activeCell.model.sharedModel.setSource(source);
  await app.commands.execute("notebook:run-cell");
}
"""

# The mean distance of the pixels in a rectangle from what is beside it.
_INK = """
(canvas, [x, y, width, height]) => {
  const ratio = canvas.width / canvas.clientWidth;
  const context = canvas.getContext("2d");
  const beside = context.getImageData((x - 4) * ratio, (y + height / 2) * ratio, 1, 1).data;
  const pixels = context.getImageData(x * ratio, y * ratio, width * ratio, height * ratio).data;
  let sum = 0;
  for (let i = 0; i < pixels.length; i += 4) for (let c = 0; c < 3; c++) sum += Math.abs(pixels[i + c] - beside[c]);
  return sum / pixels.length;
}
"""
