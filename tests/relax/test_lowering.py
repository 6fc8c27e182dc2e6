"""Lowering is no change on the page: a legalised operator, and the runtime's calls around kernels."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.graph.changes import RUNTIME, lowered, quiet_counts


@pytest.mark.parametrize("name", ["attention", "mlp"])
def test_legalised_operators_are_no_change(name: str) -> None:
    step = wb.trace(wb.samples.load(name), "LegalizeOps").steps[0]
    counts = quiet_counts(step.diff, step.before, step.after)
    assert step.diff.counts["changed"] > 0
    assert (counts["changed"], counts["removed"], counts["lowered"]) == (0, 0, step.diff.counts["changed"])
    marks = wb.CompareView(step.before, step.after).diff
    old, new = lowered(step.diff, step.before, step.after)
    assert [marks["before_mark"][n] for n in old] == [6] * len(old)
    assert {1, 2} & {*marks["before_mark"]} == set()
    assert len(new) == step.diff.counts["changed"]


def test_a_pass_that_lowers_nothing_keeps_its_changes() -> None:
    step = wb.trace(wb.samples.load("parallel_cast"), "EliminateCommonSubexpr").steps[0]
    assert quiet_counts(step.diff, step.before, step.after) == {**step.diff.counts, "lowered": 0}


def test_the_runtime_of_a_build_is_no_change() -> None:
    build = wb.trace_build(wb.samples.load("mlp"), "llvm")
    start = next(s for s in build.steps if s.name == "CallTIRRewrite")
    for step in build.steps[build.steps.index(start) :]:
        _, new = lowered(step.diff, step.before, step.after)
        calls = {n for n in step.diff.added if step.after.nodes[n].op.startswith(RUNTIME)}
        assert calls <= new
        assert all(
            step.after.nodes[n].op.startswith(RUNTIME) or step.after.nodes[n].kind != "op"
            for n in new & set(step.diff.added)
        )
