"""`wb.reduce` on both dialects, with a function as the symptom: nothing is built."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from scripts_alone import run_alone

import workbench as wb
from workbench.dialects.registry import dialect_of
from workbench.experiments.reduce.run import Reduced
from workbench.experiments.reduce.size import has_empty
from workbench.pipeline.spec import Pipeline

Question = Callable[[wb.Workload, wb.Config], bool]


def names(w: wb.Workload) -> list[str]:
    return [node.op.rpartition(".")[2] for node in w.graph.ops]


def has(*wanted: str) -> Question:
    def has_operators(w: wb.Workload, _: wb.Config) -> bool:
        return set(wanted) <= set(names(w))

    return has_operators


def softmax_of_sum(w: wb.Workload, _: wb.Config) -> bool:
    """Whether a softmax depends on an addition, directly or not."""
    graph, after = w.graph, set[int]()
    for node in graph.nodes:
        if node.op.endswith("add") or after & set(graph.inputs[node.id]):
            after.add(node.id)
    return any("softmax" in graph.nodes[node].op for node in after)


@pytest.fixture
def w(dialect: str) -> wb.Workload:
    return wb.samples.load("attention", dialect=dialect, seq=8)


def test_one_operator_is_left(w: wb.Workload) -> None:
    small = wb.reduce(w, has("softmax"))
    assert names(small.workload) == ["softmax"]
    assert small.complete
    assert small.after < small.before
    assert small.probes < 2 * small.before.operators


def test_operators_that_need_each_other_stay(w: wb.Workload) -> None:
    small = wb.reduce(w, softmax_of_sum)
    assert len(names(small.workload)) == 2
    assert softmax_of_sum(small.workload, wb.Config())


def test_each_step_is_smaller_and_shows_the_symptom(w: wb.Workload) -> None:
    small = wb.reduce(w, has("softmax", "split"))
    sizes = [small.before, *(step.after for step in small.steps)]
    assert all(after < before for before, after in pairwise(sizes))
    assert all(has("softmax", "split")(step.workload, wb.Config()) for step in small.steps)
    assert list(small.table["operators"]) == [size.operators for size in sizes]


def test_trace_repeats_the_edits(w: wb.Workload) -> None:
    small = wb.reduce(w, has("softmax"))
    assert small.trace.failed is None
    assert dialect_of(w).frontend.same(small.trace.result, small.workload.module)


@pytest.mark.one_dialect
def test_two_searches_are_equal(w: wb.Workload) -> None:
    first, second = (wb.reduce(w, softmax_of_sum) for _ in range(2))
    assert (first.edits, first.probes, first.text) == (second.edits, second.probes, second.text)


MERGE = "EliminateCommonSubexpr"


@pytest.mark.one_dialect
def test_passes_that_the_symptom_does_not_need_are_left_out(w: wb.Workload) -> None:
    def merges(program: wb.Workload, config: wb.Config) -> bool:
        running = {step.name for step in Pipeline.parse(config.pipeline) if step.enabled}
        return MERGE in running and has("softmax")(program, config)

    given = f"FoldConstant,{MERGE},-FuseOps,FoldConstant"
    small = wb.reduce(w, merges, given)
    assert (small.given, small.config) == (wb.Config(pipeline=given), wb.Config(pipeline=MERGE))
    assert MERGE in small.script
    assert "FoldConstant()" not in small.script


@pytest.mark.one_dialect
def test_symptom_that_needs_no_pass_has_an_empty_configuration(w: wb.Workload) -> None:
    for given in (f"FoldConstant,{MERGE}", 3):
        assert wb.reduce(w, has("softmax"), given).config == wb.Config(opt_level=0)


@pytest.mark.one_dialect
def test_settings_that_the_symptom_does_not_need_are_left_out(w: wb.Workload, dialect: str) -> None:
    depth, other = f"{dialect}.FuseOps.max_depth", f"{dialect}.fallback_device_type"

    def is_shallow(program: wb.Workload, config: wb.Config) -> bool:
        return config.options.get(depth) == 1 and has("softmax")(program, config)

    config = wb.Config(options={other: 1, depth: 1}, disabled=("FoldConstant",))
    small = wb.reduce(w, is_shallow, config)
    assert small.config == wb.Config(opt_level=0, options={depth: 1})
    assert small.finding.answer == "yes"


@pytest.mark.one_dialect
def test_python_functions_that_the_symptom_does_not_need_are_left_out(w: wb.Workload) -> None:
    ran: list[str] = []

    def needed(module: object) -> object:
        ran.append("needed")
        return module

    def spare(module: object) -> object:
        ran.append("spare")
        return module

    def shows(program: wb.Workload, config: wb.Config) -> bool:
        found = "needed" in ran and has("softmax")(program, config)
        ran.clear()
        return found

    small = wb.reduce(w, shows, Pipeline([spare, needed, spare]))
    assert small.config.pipeline == str(Pipeline([needed]))


@pytest.mark.one_dialect
def test_program_without_the_symptom_is_refused(w: wb.Workload) -> None:
    with pytest.raises(wb.WorkbenchError, match="does not show the symptom has_operators"):
        wb.reduce(w, has("conv2d"))


@pytest.mark.one_dialect
@pytest.mark.parametrize("ends", ["cancelled", "interrupted", "budget"])
def test_ended_search_returns_the_smallest_program(w: wb.Workload, ends: str) -> None:
    asked: list[int] = []

    def softmax(program: wb.Workload, config: wb.Config) -> bool:
        asked.append(len(program.graph.ops))
        if ends == "interrupted" and len(asked) > 3:
            raise KeyboardInterrupt
        return has("softmax")(program, config)

    budget = 1e-9 if ends == "budget" else 600.0
    small = wb.reduce(w, softmax, budget=budget, cancelled=lambda: ends == "cancelled" and len(asked) > 2)
    assert not small.complete
    assert "ended early" in str(small)
    assert len(small.workload.graph.ops) == (len(w.graph.ops) if ends == "budget" else min(asked[:3]))


def test_script_needs_tvm_alone(w: wb.Workload, tmp_path: Path) -> None:
    done = run_alone(wb.reduce(w, has("softmax", "split")).script, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "array(" in done.stdout


def test_no_tensor_becomes_empty(w: wb.Workload) -> None:
    """Relax infers a dimension of -1 for a split of one element into three."""
    small = wb.reduce(w, has("split"))
    assert not has_empty(small.workload.graph)
    assert small.after.elements < 20


@pytest.mark.one_dialect
def test_result_is_shown_as_a_table(w: wb.Workload) -> None:
    small: Reduced = wb.reduce(w, has("softmax"))
    html = small._repr_html_()
    assert html.count("<tr>") == len(small.steps) + 2
    assert str(small) in html
