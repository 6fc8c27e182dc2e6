"""The view of memory plans in a real page: the time to draw one, and the frames while it zooms, without a GPU.

A drawing is read back from the canvas, so that its pixels are made and not only its commands. Frames are those in which the view
painted while a wheel event came for each; the bar is that of benchmarks/page.py.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.bar import Bar, attempted, show
from benchmarks.page import ROOT, View, running_browser, running_lab

DRAWS = 20

_PREPARE = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from benchmarks.memory_plans import network
"""
# Milliseconds of the frames in which the view draws another window; the view's callback comes first.
_DRAW = """
async (count) => {
  const canvas = [...document.querySelectorAll("canvas.wb-canvas")].at(-1);
  const times = [];
  for (let i = 0; i < count; i++) {
    canvas.dispatchEvent(new KeyboardEvent("keydown", { key: i % 2 ? "-" : "+", bubbles: true }));
    times.push(await new Promise((done) => requestAnimationFrame((start) => {
      canvas.getContext("2d").getImageData(0, 0, 1, 1);
      done(performance.now() - start);
    })));
  }
  return times;
}
"""
_WHEEL = """
async ([ms]) => {
  const canvas = [...document.querySelectorAll("canvas.wb-canvas")].at(-1);
  const started = performance.now();
  let frames = 0;
  for (; performance.now() - started < ms; frames++) {
    const deltaY = Math.floor(frames / 8) % 2 ? 40 : -40;
    canvas.dispatchEvent(new WheelEvent("wheel", { deltaY, bubbles: true, cancelable: true }));
    await new Promise(requestAnimationFrame);
  }
  return [(performance.now() - started) / 1000, frames];
}
"""


def measured(lab: Any, browser: Any, kernels: int, what: str) -> Iterator[Bar]:
    """Yield the rows of a plan of that many kernels."""
    with closing(View(lab, browser)) as view:
        view.notebook.run_cell(f"{_PREPARE}\nplan = network({kernels})")
        yield Bar(f"{what}: Python call to pixels", view.show("wb.MemoryView(plan)"), "ms")
        view.rest()
        times: list[float] = view.page.evaluate(_DRAW, DRAWS)
        drawn = statistics.median(times)
        yield Bar(f"{what}: draw", drawn, "ms", bar="under 100 ms", met=drawn < 100, note=f"worst {max(times):.0f} ms")
        yield from view.gesture(f"{what}: wheel", _WHEEL, 2000)


def rows() -> Iterator[Bar]:
    with tempfile.TemporaryDirectory() as folder, running_lab(Path(folder)) as lab, running_browser() as browser:
        for kernels in (1_000, 10_000):
            what = f"memory plan of {kernels:,} kernels"
            yield from attempted(what, partial(measured, lab, browser, kernels, what))


if __name__ == "__main__":
    show(rows())
