"""A pass pair with both graphs fully open, at three sizes: a click that changes it to the settled picture, and a saved page.

The pair is a graph and the same with another activation, so that no time of a pass is in the figures: a checkbox in the
notebook exchanges the graph after the pass.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from browser.lab import Lab, running_browser, running_lab

import workbench as wb
from benchmarks.bar import Bar, attempted, show
from benchmarks.page import View
from benchmarks.synthetic import transformer

SIZES = (1_000, 10_000, 50_000)
CLICKS = 5
OPEN = {"before": [], "after": []}

_MAKE = """
import ipywidgets
before, *others = (transformer({n}, name) for name in ("erf", "tanh", "sigmoid"))
changes = [wb.diff(before, other) for other in others]
toggle = ipywidgets.Checkbox(description="pass", indent=False)
toggle.observe(lambda change: view.compare(before, others[change.new], changes[change.new]), "value")
display(toggle)
"""

# Milliseconds from the click to the last frame of the new picture: its nodes glide to their places.
_CLICK = """
async (limit) => {
  const root = [...document.querySelectorAll(".wb")].at(-1);
  const box = [...document.querySelectorAll(".widget-checkbox input")].at(-1);
  const [scenes, started] = [root.dataset.scenes, performance.now()];
  let [frames, last] = [root.frames, started];
  box.click();
  for (;;) {
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    if (root.frames !== frames) [frames, last] = [root.frames, now];
    if (root.dataset.scenes !== scenes && now - last > 400) return last - started;
    if (now - started > limit) throw new Error("no settled picture");
  }
}
"""


def toggled(lab: Lab, browser: Any, nodes: int) -> Iterator[Bar]:
    with closing(View(lab, browser)) as view:
        view.notebook.run_cell(_MAKE.format(n=nodes))
        view.notebook.python("len(changes)")
        view.show(f"wb.CompareView(before, others[0], collapsed={OPEN})", 120)
        view.rest(2)
        times = [view.page.evaluate(_CLICK, 120_000) for _ in range(CLICKS)]
    note = f"{min(times):.0f} to {max(times):.0f} ms"
    yield Bar(f"pair of {nodes:,} nodes, all open: toggle to settled", statistics.median(times), "ms", note=note)


def opened(browser: Any, nodes: int, folder: Path) -> Iterator[Bar]:
    """A saved page in a browser context of its own, from the request to the picture on the screen."""
    path = wb.CompareView(transformer(nodes), transformer(nodes, "tanh"), collapsed=OPEN).save(folder / "pair.html")
    times = []
    for _ in range(3):
        context = browser.new_context(viewport={"width": 1600, "height": 1100})
        page = context.new_page()
        started = time.perf_counter()
        page.goto(path.as_uri())
        page.wait_for_selector(".wb[data-scenes]", timeout=120_000)
        times.append(1000 * (time.perf_counter() - started))
        context.close()
    note = f"a file of {path.stat().st_size / 1e6:.1f} MB"
    yield Bar(f"pair of {nodes:,} nodes, all open: cold saved page", statistics.median(times), "ms", note=note)


def rows(sizes: Iterable[int]) -> Iterator[Bar]:
    with tempfile.TemporaryDirectory() as folder, running_lab(Path(folder)) as lab, running_browser() as browser:
        for nodes in sizes:
            what = f"pair of {nodes:,} nodes, all open"
            yield from attempted(f"{what}: cold saved page", partial(opened, browser, nodes, Path(folder)))
            yield from attempted(f"{what}: toggle to settled", partial(toggled, lab, browser, nodes))


if __name__ == "__main__":
    show(rows([int(size) for size in sys.argv[1:]] or SIZES))
