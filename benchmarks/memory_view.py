"""The view of memory plans in a real page: the time to draw one, and the frames while it zooms, without a GPU.

A drawing is read back from the canvas, so that its pixels are made and not only its commands. Frames are those in which the view
painted while a wheel event came for each.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.bar import Bar, show
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
async (ms) => {
  const canvas = [...document.querySelectorAll("canvas.wb-canvas")].at(-1);
  const started = performance.now();
  let frames = 0;
  for (; performance.now() - started < ms; frames++) {
    const deltaY = Math.floor(frames / 8) % 2 ? 40 : -40;
    canvas.dispatchEvent(new WheelEvent("wheel", { deltaY, bubbles: true, cancelable: true }));
    await new Promise(requestAnimationFrame);
  }
  return (1000 * frames) / (performance.now() - started);
}
"""


def bars_of(view: View, kernels: int) -> list[Bar]:
    """Return the rows of a plan of that many kernels."""
    view.notebook.run_cell(f"{_PREPARE}\nplan = network({kernels})")
    opened = view.show("wb.MemoryView(plan)")
    view.rest()
    times: list[float] = view.page.evaluate(_DRAW, DRAWS)
    rate = statistics.median(view.page.evaluate(_WHEEL, 2000) for _ in range(3))
    what = f"memory plan of {kernels:,} kernels"
    drawn = statistics.median(times)
    return [
        Bar(f"{what}: Python call to pixels", opened, "ms"),
        Bar(f"{what}: draw", drawn, "ms", bar="under 100 ms", met=drawn < 100, note=f"worst {max(times):.0f} ms"),
        Bar(f"{what}: wheel", rate, "frames/s", bar="at least 50 frames/s", met=rate >= 50, note="software rendering"),
    ]


def measured(lab: Any, browser: Any, kernels: int) -> list[Bar]:
    """Return the rows, or one with the failure."""
    view = View(lab, browser)
    try:
        return bars_of(view, kernels)
    except Exception as error:  # noqa: BLE001  one plan's failure is its row, not the end of the others
        return [Bar(f"memory plan of {kernels:,} kernels", None, "", bar="runs", met=False, note=str(error)[:120])]
    finally:
        view.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, running_lab(Path(folder)) as lab, running_browser() as browser:
        show([bar for kernels in (1_000, 10_000) for bar in measured(lab, browser, kernels)])


if __name__ == "__main__":
    main()
