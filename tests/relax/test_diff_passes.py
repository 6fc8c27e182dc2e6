"""What the diff says of Relax passes: true of every node whatever the pass does, and exact where it is known."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import diff_laws
import pytest
from small_samples import TWO_LAYERS

import workbench as wb
from workbench.pipeline.trace import Trace

sys.path.insert(0, str(Path(__file__).parents[1]))
from onnx_models import attention

PASSES = (
    "DecomposeOpsForInference", "EliminateCommonSubexpr", "FoldConstant", "CombineParallelMatmul", "ToMixedPrecision",
    "DeadCodeElimination", "LegalizeOps", "AnnotateTIROpPattern", "FuseOps", "FuseTIR",
)  # fmt: skip


def test_every_sample_is_looked_at():
    assert set(TWO_LAYERS) == set(wb.samples.names("relax"))


@functools.cache
def traced(sample: str) -> Trace:
    return wb.trace(wb.samples.load(sample, **TWO_LAYERS[sample]), list(PASSES), opt_level=4)


@pytest.fixture(params=sorted(TWO_LAYERS))
def trace(request):
    trace = traced(request.param)
    assert trace.failed is None
    return trace


def step(trace: Trace, name: str):
    return trace.steps[PASSES.index(name)]


@pytest.mark.parametrize("name", [*PASSES, "the whole trace"])
def test_the_diff_of_a_pass_keeps_its_laws(trace, name):
    if name == "the whole trace":
        diff_laws.check(trace.start.graph, trace.end.graph, trace.diff)
    else:
        diff_laws.check(step(trace, name).before, step(trace, name).after, step(trace, name).diff)


def test_fusing_and_annotating_change_no_node(trace):
    for name in ("AnnotateTIROpPattern", "FuseOps"):
        assert step(trace, name).status == "changed"
        assert step(trace, name).diff.empty


def test_legalizing_renames_every_operator_and_adds_none(trace):
    d = step(trace, "LegalizeOps").diff
    before = step(trace, "LegalizeOps").before
    assert not d.added
    # a shape, an axis or a scalar that was an argument is inside the kernel now
    for b in d.removed:
        fixed = all(before.nodes[i].kind == "constant" for i in before.inputs[b])
        assert before.nodes[b].kind in ("shape", "constant", "tuple") or fixed, before.nodes[b]


def test_equal_casts_are_merged():
    d = step(traced("parallel_cast"), "EliminateCommonSubexpr").diff
    assert [kind for kind, count in d.counts.items() if count] == ["kept", "merged"]
    assert len(d.merged) == 2


@pytest.mark.parametrize("sample", ["bert", "resnet18"])
def test_following_each_pass_tells_more_than_the_two_ends(sample):
    trace = traced(sample)
    # graphs from a file do not know the passes between them
    ends = [wb.Graph.from_json(state.graph.to_json()) for state in (trace.start, trace.end)]
    assert trace.diff.edits < wb.diff(*ends).edits


def test_a_lowered_operator_is_one_changed_node_of_the_whole_though_fusion_renames_its_variable():
    trace = wb.trace(wb.load(attention()))
    ops = trace.start.graph.nodes, trace.end.graph.nodes
    pairs = {(ops[0][b].op, ops[1][a].op.rstrip("0123456789")) for b, a in trace.diff.changed}
    assert ("relax.permute_dims", "transpose") in pairs
    assert not {ops[0][b].op for b in trace.diff.removed} & {op for op, _ in pairs}
