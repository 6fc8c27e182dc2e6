"""A view in a notebook's page: what is on the screen, by the eyes of the page, and what the kernel knows."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from browser.lab import Lab, Notebook
from playwright.sync_api import Locator, Page

PATIENCE = 30.0
"seconds; a shared machine may be slow, and times are measured in benchmarks/"

# Nodes 0 to 6: x, dense, relu, tanh, add; two kernels, (dense, relu) is group 1 and (tanh, add) group 2, in function 0.
PREPARE = """
import workbench as wb
from workbench.graph.model import GraphBuilder

def made(*ops, w="w"):
    b = GraphBuilder("made", "relay")
    b.group("function", "main", None)
    kernels = [b.group("primitive", name, 0) for name in ("fused_first", "fused_second")]
    kind = {"type": "Tensor[(1, 16), float32]"}
    x = at = b.node("param", "x", name="x", group=0, **kind)
    weight = b.node("constant", w, name=w, group=0, type="Tensor[(16, 16), float32]")
    for place, op in enumerate(ops):
        inputs = (at, weight) if place == 0 else (at, x) if op == "add" else (at,)
        at = b.node("op", op, inputs, group=kernels[place > 1], attrs={"units": 16} if op == "nn.dense" else {}, **kind)
    b.outputs = [at]
    return b.build()

BEFORE = made("nn.dense", "nn.relu", "tanh", "add")
AFTER = made("nn.dense", "nn.relu", "sigmoid", "exp", "add")
"""
X, WEIGHT, DENSE, RELU, TANH, ADD = range(6)


def notebook(lab: Lab, page: Page) -> Notebook:
    """An empty notebook of this environment's Python, with the graphs above."""
    content = {"cells": [], "metadata": {"kernelspec": {"name": "python3", "display_name": "Python"}}}
    path = lab.folder / "views.ipynb"
    path.write_text(json.dumps({**content, "nbformat": 4, "nbformat_minor": 5}))
    opened = lab.open(page, path.name)
    opened.run_cell(PREPARE)
    return opened


class OnPage:
    """The newest view of a notebook; `view` is its name in the kernel."""

    def __init__(self, notebook: Notebook, make: str) -> None:
        self.notebook = notebook
        self.page = notebook.page
        views = self.page.locator(".wb").count()
        notebook.run_cell(f"view = {make}\nview")
        self.until(lambda: self.page.locator(".wb").count() > views)
        self.root = self.page.locator(".wb").last
        self.until(lambda: int(self.root.get_attribute("data-scenes") or 0) > 0)
        self.canvas().scroll_into_view_if_needed()
        self.rest()

    def python(self, expression: str) -> Any:
        return self.notebook.python(expression)

    def tell(self, statement: str) -> None:
        """Have the kernel do something."""
        self.notebook.python(f"[exec({statement!r}, globals())]")

    def part(self, name: str) -> Locator:
        return self.root.locator(f"[data-testid='{name}']").first

    def canvas(self) -> Locator:
        return self.root.locator("canvas.wb-canvas").first

    def places(self, side: int = 0) -> dict[int, tuple[float, float, float]]:
        """Of each node drawn as itself: the middle and the width, in pixels of its pane."""
        rows = self.root.evaluate("(root, side) => root.places(side)", side)
        return {int(id): (x, y, width) for id, x, y, width in rows}

    def rest(self) -> None:
        """Wait until nothing moves: a glide lasts 250 ms, and what Python asks for comes a moment later."""
        was, still = None, 0
        deadline = time.monotonic() + PATIENCE
        while still < 3 and time.monotonic() < deadline:
            self.page.wait_for_timeout(90)
            now = (self.places(0), self.places(1))
            still = still + 1 if now == was else 0
            was = now

    def until(self, true: Callable[[], Any]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not true():
            assert time.monotonic() < deadline, "it did not come to be"
            self.page.wait_for_timeout(50)

    def click(self, id: int, side: int = 0, **options: Any) -> None:
        """Click on a node's lower right, where no badge is."""
        x, y, width = self.places(side)[id]
        canvas = self.root.locator("canvas.wb-canvas").nth(side)
        canvas.click(position={"x": x + width / 2 - 6, "y": y - 8}, **options)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def ink(self, id: int) -> float:
        """How much darker than its surroundings a node is, from the pixels of the canvas: 0 is not there."""
        x, y, width = self.places()[id]
        box = [x - width / 2 - 1, y - 12, width + 2, 24]
        return self.canvas().evaluate(_INK, box)


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
