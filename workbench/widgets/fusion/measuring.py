"""Measure a program as given and with the edits, and check that both compute the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workbench.dialects.registry import dialect_of
from workbench.errors import WorkbenchError
from workbench.measurement.build_and_time import MeasureOptions
from workbench.measurement.measure import measure_one
from workbench.pipeline.config import AS_IS, Config
from workbench.pipeline.outputs import difference, run_once
from workbench.plots.rows import Row
from workbench.widgets.fusion.program import Fused
from workbench.worker.parent import Progress

GIVEN, EDITED = "as given", "with the edits"


def config(fused: Fused, name: str) -> Config:
    """Return the Config of both builds: FuseOps under these settings, and no earlier pass that changes operators."""
    depth = fused.settings.max_depth
    options = {} if depth == 256 else {f"{fused.graph.dialect}.FuseOps.max_depth": depth}
    assert fused.program.workload is not None
    switched = dialect_of(fused.program.workload).passes.toggles()
    # at level 1 FuseOps merges, and passes that rewrite operators do not run yet
    return Config(name, min(fused.settings.opt_level, 1), tuple(n for n in AS_IS if n in switched), options=options)


@dataclass(frozen=True)
class Measured:
    """The result of a measurement."""

    rows: tuple[Row, ...] = ()
    "of `wb.measure`: the program as given, and with the edits"
    outputs: str = ""
    "the comparison of the outputs, as a sentence; empty before"


def measure(fused: Fused, base: Fused, budget: float, progress: Progress, cancelled: Callable[[], bool]) -> Measured:
    """Time the program as given and with the edits, and compare their outputs."""
    pairs = [(base, GIVEN), (fused, EDITED)] if fused.program.edits else [(base, GIVEN)]
    target, found = fused.settings.target or "llvm", []
    for place, (each, name) in enumerate(pairs):
        progress(f"Building and timing: {name}", place / (len(pairs) + 1))
        found.append(_row(each, name, target, budget, cancelled))
    if len(pairs) < 2 or any(row["status"] != "ok" for row in found):
        return Measured(tuple(found))
    progress("Comparing outputs", 2 / 3)
    return Measured(tuple(found), compared(fused, base, cancelled))


def _row(fused: Fused, name: str, target: str, budget: float, cancelled: Callable[[], bool]) -> Row:
    assert fused.program.workload is not None
    # the two are compared with each other: the edits must not change the outputs, even if the given ones are wrong
    limits = MeasureOptions(budget=budget, check=False, cancelled=cancelled)
    return measure_one(fused.program.workload, config(fused, name), target, limits)


def compared(fused: Fused, base: Fused, cancelled: Callable[[], bool]) -> str:
    """Compare both programs' outputs for the same random inputs, and return the result as a sentence."""
    assert base.program.workload is not None
    assert fused.program.workload is not None
    try:
        first, second = (run_once(w, cancelled=cancelled) for w in (base.program.workload, fused.program.workload))
        apart = difference(first.outputs, second.outputs)
    except WorkbenchError as error:
        return f"The outputs were not compared: {error}"
    if apart.differing == 0:
        return "The outputs are equal, element by element."
    said = f"largest relative difference {apart.max_relative:.2g}, {apart.differing:,} of {apart.elements:,} elements"
    return f"The outputs agree within rounding: {said}." if apart.same else f"The outputs DIFFER: {said}."
