"""A click on a pass to the new picture on the screen, in JupyterLab and Chromium. Builds are off: the picture is timed."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from browser.driver import Notebook
from browser.lab import running_browser, running_lab

from benchmarks.bar import Bar, show

# The click, and the first frame after another arrangement has been painted.
_CLICK = """
async (testid) => {
  const box = [...document.querySelectorAll(`[data-testid='${testid}']`)].at(-1);
  const root = box.closest(".wb");
  const before = root.dataset.scenes;
  const started = performance.now();
  box.click();
  while (root.dataset.scenes === before) {
    if (performance.now() - started > 30000) throw new Error("no picture within 30 s of the click");
    await new Promise(requestAnimationFrame);
  }
  return performance.now() - started;
}
"""


def toggled(notebook: Notebook, name: str, repeats: int) -> list[float]:
    """Milliseconds from click to paint, of each of `repeats` clicks."""
    return [notebook.page.evaluate(_CLICK, f"toggle-{name}") for _ in range(repeats)]


def rows() -> Iterator[Bar]:
    with tempfile.TemporaryDirectory() as folder, running_lab(Path(folder)) as lab, running_browser() as browser:
        # One page: a notebook opened again on a living kernel loses messages (a subshell that the kernel no longer knows).
        page = browser.new_page(viewport={"width": 1600, "height": 1100})
        notebook = lab.open(page, "00_quickstart.ipynb")
        for sample, name, bar in (
            ("parallel_cast", "EliminateCommonSubexpr", 200),
            ("bert", "EliminateCommonSubexpr", 1000),
            # in the middle, and what it changes the passes after it see too
            ("bert", "SimplifyExpr", 1000),
            ("bert", "CanonicalizeOps", 1000),
            ("bert", "FuseOps", 1000),
        ):
            views = page.locator(".wb").count()
            notebook.run_cell(
                f"import workbench as wb\nbench = wb.Workbench(wb.samples.load({sample!r}), auto_measure=False)\nbench"
            )
            page.wait_for_function(
                "n => [...document.querySelectorAll('.wb')][n]?.dataset.scenes > 0", arg=views, timeout=120_000
            )
            toggled(notebook, name, 2)
            times = toggled(notebook, name, 10)
            middle = statistics.median(times)
            yield Bar(
                f"{sample}: untick {name} to painted",
                middle,
                "ms",
                bar=f"under {bar} ms",
                met=middle < bar,
                note=f"{min(times):.0f} to {max(times):.0f} ms",
            )


if __name__ == "__main__":
    show(rows())
