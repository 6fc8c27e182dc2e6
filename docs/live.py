"""Pages with live widgets, for the site: `python docs/live.py` records their graphs; the build writes the pages without TVM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import workbench as wb

RECORDED = Path(__file__).parent / "recorded"
HEIGHT = 560
"of a page's frame, in CSS pixels"


@dataclass(frozen=True)
class Page:
    """One live page."""

    title: str
    "the caption, which also names the frame for a screen reader"
    record: Callable[[], wb.Trace]
    "runs the passes; needs TVM with Relax"
    view: Callable[[wb.Trace], object]
    "makes the widget from the recorded trace; needs no TVM"


BUILD = "EliminateCommonSubexpr,LegalizeOps,AnnotateTIROpPattern,FuseOps"


def _casts() -> wb.Trace:
    return wb.trace(wb.samples.load("parallel_cast"), BUILD)


def _attention() -> wb.Trace:
    return wb.trace(wb.samples.load("attention"), "LegalizeOps,AnnotateTIROpPattern,FuseOps")


def _bert() -> wb.Trace:
    return wb.trace(wb.samples.load("bert", layers=2), "LegalizeOps,AnnotateTIROpPattern,FuseOps")


PAGES = {
    "graph": Page("Two parallel casts, as loaded", _casts, lambda t: wb.GraphView(t.steps[0].before, height=480)),
    "compare": Page(
        "EliminateCommonSubexpr merges two casts and two relus",
        _casts,
        lambda t: wb.CompareView(t.steps[0].before, t.steps[0].after, titles=["before", "after"], height=480),
    ),
    "stepper": Page("Four passes, step by step", _casts, lambda t: wb.PassStepper(t)),
    "fusion": Page(
        "The kernels of an attention head, and the reasons", _attention, lambda t: wb.FusionInspector(t.steps[1].after)
    ),
    "bert": Page(
        "Two layers of BERT, before and after FuseOps",
        _bert,
        lambda t: wb.CompareView(t.steps[1].after, t.steps[2].after, titles=["before", "after FuseOps"], height=480),
    ),
}


def record() -> None:
    """Run the passes and store one trace a recording."""
    RECORDED.mkdir(exist_ok=True)
    for page in {page.record: page for page in PAGES.values()}.values():
        path = _recording(page)
        page.record().save(path)
        print(f"{path.name}  {path.stat().st_size:,} bytes")


def write(folder: Path) -> None:
    """Write each page into a folder, from the stored traces."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        page.view(wb.Trace.open(_recording(page))).save(folder / f"{name}.html")


def _recording(page: Page) -> Path:
    return RECORDED / f"{page.record.__name__.strip('_')}.wbtrace"


if __name__ == "__main__":
    record()
