"""Numbers of one fact on one screen: equal, or a sentence names both."""

from __future__ import annotations

import pytest
from breadth import breadth
from small_samples import SMALL

import workbench as wb
from workbench.graph.changes import MARKS


def block(blocks, name):
    return next((found for found in blocks if found.get("name") == name), {})


def length(column):
    return len(column) // 4


@pytest.mark.parametrize("name", breadth(SMALL, "parallel_cast"))
def test_numbers_of_a_state_agree_or_a_sentence_names_both(dialect, name):
    bench = wb.Workbench(wb.samples.load(name, dialect=dialect, **SMALL[name]), auto_measure=False)
    assert bench.wait()
    counts = bench.state["counts"]
    for tab in ("kernels", "memory", "waterfall"):
        bench.open_tab(tab)
        assert bench.wait()

    # kernels: beside the titles, in the list of passes, in the tabs
    calls = length(bench.plans[0]["step"]["name_s"])
    assert counts["after_kernels"] == calls
    assert block(bench.kernels_tab, "kernels-summary")["text"].startswith(f"{calls} call")
    listed = [state.get("kernels") for state in bench.state["passes"] if state["status"] != "off"]
    shown = counts["before_kernels"]
    beside = block(bench.waterfall_tab, "waterfall-beside").get("text", "")
    _, *stages = block(bench.waterfall_tab, "waterfall-table")["rows"]
    for (stage, built, *_), kernels in zip(stages, [shown, *listed], strict=True):
        shown = shown if kernels is None else kernels
        assert int(built) == shown or f"{built} instead of {shown} after {stage}" in beside
    assert shown == counts["after_kernels"]

    # changes: beside a pass, and the marks in its picture
    for place, state in enumerate(bench.state["passes"]):
        if state["status"] != "changed":
            continue
        bench.session.drawing.show_step(place)
        assert bench.wait()
        # a merge counts once, at its result, and a split at its origin
        sides = {mark: "before_mark" if mark in ("removed", "split") else "after_mark" for mark in MARKS[1:]}
        marks = {mark: bytes(bench.diff[side]).count(MARKS.index(mark)) for mark, side in sides.items()}
        assert {mark: state[mark] for mark in MARKS[1:]} == marks
        assert {mark: bench.state["counts"][mark] for mark in MARKS[1:]} == marks
        assert bench.state["counts"]["after_kernels"] == state["kernels"]

    # memory: the sentence, the rows, the peak beside the title
    plan = wb.memory(bench.session.drawing.program_of(bench.choice), bench.target, bench.session.config)
    summary = block(bench.memory_tab, "memory-summary")["text"]
    outside = length(bench.plans[0]["row"]["label_s"]) - len(plan.storages)
    assert f"{len(plan.storages)} storage" in summary
    assert (f"and {outside} row" in summary) == (outside > 0)
    assert bench.state["peak"].removesuffix(" at the peak") in summary
    bench.close()
