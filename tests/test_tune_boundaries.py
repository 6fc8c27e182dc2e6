"""Each edit of `wb.Space.fusion` does in the compiler what it says: a cut keeps its ends apart, a force makes one kernel."""

from __future__ import annotations

import pytest
from breadth import breadth
from small_samples import SMALL

import workbench as wb
from workbench.measurement.count import as_it_stands, count_config, final_workload, look
from workbench.pipeline.config import Config
from workbench.pipeline.spec import Pipeline

SAMPLES = breadth(("branches", "chain", "conv_bias_batch_norm", "mlp", "parallel_cast"), "chain", "parallel_cast")


def split(space: wb.Space, edit: str | None) -> tuple[Pipeline, Pipeline]:
    """The passes of a choice up to its edit, and from there on."""
    steps = [*Pipeline.parse(space.config_for({"edit": edit}).pipeline)]
    place = max(at for at, step in enumerate(steps) if step.name == "FuseOps") - (edit is not None)
    return Pipeline(steps[:place]), Pipeline(steps[place:])


def before_edits(name: str, space: wb.Space) -> wb.Workload:
    """A sample after the passes of the space's pipeline that come before its edits."""
    workload = wb.samples.load(name, **SMALL[name])
    trace = wb.trace(workload, split(space, None)[0])
    return wb.load((trace.result, workload.params), name=name)


@pytest.mark.parametrize("name", SAMPLES)
def test_an_edit_does_what_it_says_in_the_compiler(dialect, name):
    space = wb.Space.fusion(wb.samples.load(name, **SMALL[name]))
    workload = before_edits(name, space)
    for edit in space.edits:
        passes = split(space, edit)[1]
        trace = wb.trace(workload, passes)
        assert trace.failed is None, trace.failed
        after, mapping = trace.end.graph, trace.diff.mapping
        (options,) = (step.options for step in passes if step.name.endswith("Fusion"))
        for source, target, _ in options.get("edges", ()):
            kernels = [after.kernel_of(mapping[node][0]) for node in (source, target)]
            assert kernels[0] is None or kernels[0] != kernels[1], edit
        forced = sorted(op for op in options["ops"] if not op.startswith("."))
        assert "nodes" not in options or forced in kernels_of(after), edit


@pytest.mark.parametrize("name", breadth(sorted(SMALL), "attention", "chain", "parallel_cast"))
def test_every_sample_has_edits_to_choose_from(dialect, name):
    space = wb.Space.fusion(wb.samples.load(name, **SMALL[name]), most=4)
    assert 1 <= len(space.edits) <= 4
    assert [*space.assignments()][1] == {"edit": space.edits[0]}


def test_where_kernels_hand_nothing_over_what_lies_within_them_is_cut(dialect, tell):
    workload = wb.samples.load("chain")
    space = wb.Space.fusion(workload)
    assert look(workload, space.config_for({"edit": None})).counts.calls == 1
    counted = [look(workload, space.config_for({"edit": edit}), final=False).counts for edit in space.edits]
    tell(f"chain: {[each.calls for each in counted]} kernels after each edit")
    # its four operators are in a row: three cuts, and three pairs of them
    assert [each.calls for each in counted] == [2, 2, 2, 3, 3, 3]
    assert all(sum(each.handover_bytes.values()) for each in counted)


def kernels_of(graph: wb.Graph) -> list[list[str]]:
    """The operators of each kernel that has been made."""
    groups = {graph.kernel_of(node.id) for node in graph.ops} - {None}
    return [sorted(node.op for node in graph.ops if graph.kernel_of(node.id) == group) for group in groups]


def test_every_edit_can_be_built_and_leaves_the_result_as_it_was(dialect):
    workload = wb.samples.load("parallel_cast")
    space = wb.Space.fusion(workload, most=3)
    found = wb.tune(workload, space, prune=None, each=0.01, race=0, store=False)
    trials = {trial.chosen["edit"]: trial for trial in found.trials if trial.chosen}
    assert set(trials) == {None, *space.edits}
    assert {trial.status for trial in found.trials} == {"ok"}, found.table["reason"].tolist()
    counted = {edit: trial.values["kernels"] for edit, trial in trials.items()}
    assert len(set(counted.values())) > 1
    for edit in space.edits:
        config = space.config_for({"edit": edit})
        final = final_workload(workload, config)
        assert count_config(final, as_it_stands(final, config)).calls == counted[edit]


@pytest.mark.one_dialect
def test_ids_of_an_edit_hold_where_the_compilers_own_pipeline_ran_before(dialect):
    workload = wb.samples.load("conv_bias_batch_norm", **SMALL["conv_bias_batch_norm"])
    space = wb.Space.fusion(workload)
    assert {edit.partition("{")[0] for edit in space.edits} == {"CutFusion", "ForceFusion"}
    # it may write the parameters into the module that it gets
    plain = look(workload, Config()).counts
    for edit in space.edits[:2]:
        assert look(workload, space.config_for({"edit": edit}), final=False).counts.calls >= 1
    assert look(workload, Config(), final=False).counts == plain
