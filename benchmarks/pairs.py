"""A pass pair with both graphs fully open, at three sizes: a click that changes it to the settled picture, and a saved page.

The pair is a graph and the same with another activation, so that no time of a pass is in the figures: a checkbox in the
notebook exchanges the graph after the pass. The graph has layers that repeat, or parts of which no two are alike. Growth is the
exponent between the first and the last size: 1 is linear.

python -m benchmarks.pairs              all sizes of both graphs
python -m benchmarks.pairs 1000 50000   some sizes
"""

from __future__ import annotations

import math
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from browser.lab import Lab, running_browser, running_lab

import workbench as wb
from benchmarks.bar import Bar, attempted, show
from benchmarks.page import View, renderer_bytes
from benchmarks.synthetic import irregular, transformer

SIZES = (1_000, 10_000, 50_000)
CLICKS = 5
OPENING_MS = 1500
GROWTH = 1.15
COLD = {10_000: 600, 50_000: 1000}
TOGGLE = {10_000: 200, 50_000: 400}
"bars in milliseconds, for layers that repeat"
MAKERS = {"layers that repeat": transformer, "nothing repeated": irregular}
OPEN = {"before": [], "after": []}

_MAKE = """
import ipywidgets
from benchmarks.synthetic import irregular
before, *others = ({make}({n}, name) for name in ("erf", "tanh", "sigmoid"))
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


def toggled(lab: Lab, browser: Any, kind: str, nodes: int) -> Iterator[Bar]:
    with closing(View(lab, browser)) as view:
        without = renderer_bytes(browser)
        view.notebook.run_cell(_MAKE.format(n=nodes, make=MAKERS[kind].__name__))
        view.notebook.python("len(changes)")
        view.show(f"wb.CompareView(before, others[0], collapsed={OPEN})", 120)
        view.rest(2)
        times = [view.page.evaluate(_CLICK, 120_000) for _ in range(CLICKS)]
        used = (renderer_bytes(browser) - without) / nodes
    yield _row(f"{kind}, pair of {nodes:,} nodes, all open: toggle to settled", kind, nodes, times, TOGGLE)
    what = f"{kind}, pair of {nodes:,} nodes, all open: memory of the page for 1,000 nodes"
    yield Bar(what, used / 1000, "MB", note=f"JupyterLab without the view {without / 1e6:.0f} MB")


def opened(browser: Any, kind: str, nodes: int, folder: Path) -> Iterator[Bar]:
    """A saved page in a browser context of its own, whose window is open, from the request to the picture on the screen."""
    make = MAKERS[kind]
    path = wb.CompareView(make(nodes), make(nodes, "tanh"), collapsed=OPEN).save(folder / "pair.html")
    times = []
    for _ in range(3):
        context = browser.new_context(viewport={"width": 1600, "height": 1100})
        page = context.new_page()
        # a new window draws itself for half a second of CPU, in other processes
        page.wait_for_timeout(OPENING_MS)
        started = time.perf_counter()
        page.goto(path.as_uri())
        page.wait_for_selector(".wb[data-scenes]", timeout=120_000)
        times.append(1000 * (time.perf_counter() - started))
        context.close()
    size = f"a file of {path.stat().st_size / 1e6:.1f} MB"
    yield _row(f"{kind}, pair of {nodes:,} nodes, all open: cold saved page", kind, nodes, times, COLD, size)


def _row(what: str, kind: str, nodes: int, times: list[float], bars: dict[int, int], note: str = "") -> Bar:
    middle, limit = statistics.median(times), bars.get(nodes) if MAKERS[kind] is transformer else None
    bar, met = (f"under {limit} ms", middle < limit) if limit else ("", None)
    return Bar(what, middle, "ms", bar=bar, met=met, note=f"{min(times):.0f} to {max(times):.0f} ms  {note}".strip())


def rows(sizes: Sequence[int]) -> Iterator[Bar]:
    with tempfile.TemporaryDirectory() as folder, running_lab(Path(folder)) as lab, running_browser() as browser:
        for kind in MAKERS:
            found: dict[str, list[float]] = {}
            for nodes in sizes:
                pages = attempted(
                    f"{kind}, {nodes:,}: cold saved page", partial(opened, browser, kind, nodes, Path(folder))
                )
                clicks = attempted(f"{kind}, {nodes:,}: toggle", partial(toggled, lab, browser, kind, nodes))
                for row in (*pages, *clicks):
                    found.setdefault(row.what.split(": ")[-1], []).append(row.ours or math.nan)
                    yield row
            for what, figures in found.items():
                if len(figures) == len(sizes) > 1 and "memory" not in what:
                    grown = math.log(figures[-1] / figures[0]) / math.log(sizes[-1] / sizes[0])
                    met = grown <= GROWTH
                    yield Bar(f"{kind}, {what}: growth", grown, "", bar=f"at most {GROWTH}", met=met, note="exponent")


if __name__ == "__main__":
    show(rows([int(size) for size in sys.argv[1:]] or SIZES))
