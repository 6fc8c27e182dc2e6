"""Lineage through real pipelines and real builds, in both dialects."""

from __future__ import annotations

from pathlib import Path

import pytest
from breadth import breadth

import workbench as wb
from workbench.dialects.registry import dialect as door

SIZES = {"attention": {"seq": 8, "heads": 2, "head": 4}}


def sample(name: str, dialect: str) -> wb.Workload:
    return wb.samples.load(name, dialect=dialect, **SIZES.get(name, {}))


@pytest.mark.parametrize("name", ["mlp", "attention", "branches", "parallel_cast"])
def test_every_operator_of_the_fused_graph_came_from_somewhere_and_is_in_its_kernel(name: str, dialect: str) -> None:
    t = wb.trace(sample(name, dialect), door(dialect).passes.fusing())
    for node in t.end.graph.ops:
        found = t.lineage(-1, node.id)
        assert found.origins, node
        group = t.end.graph.kernel_of(node.id)
        assert found.kernels == (node.op if group is None else t.end.graph.groups[group].name,)


@pytest.mark.parametrize("name", breadth(["mlp", "branches", "conv_bias_batch_norm"], "branches"))
def test_every_operator_of_a_build_is_followed_to_a_kernel(name: str, dialect: str) -> None:
    t = wb.trace_build(sample(name, dialect))
    for node in t.start.graph.ops:
        found = t.lineage(0, node.id, "before")
        assert found.origins == (node.id,)
        assert found.kernels, str(found)


def test_a_conv2d_stays_one_through_a_build(dialect: str) -> None:
    t = wb.trace_build(sample("conv_bias_batch_norm", dialect))
    (conv,) = (node for node in t.start.graph.ops if node.op.endswith("nn.conv2d"))
    (kernel,) = t.lineage(0, conv.id, "before").kernels
    assert "conv2d" in kernel


def test_a_saved_trace_tells_the_same(tmp_path: Path, dialect: str) -> None:
    t = wb.trace(sample("branches", dialect), door(dialect).passes.fusing())
    opened = wb.Trace.open(t.save(tmp_path / "t.wbtrace"))
    for node in t.start.graph.nodes:
        ours, theirs = (which.lineage(0, node.id, "before") for which in (t, opened))
        assert (ours.places, ours.links, ours.kernels) == (theirs.places, theirs.links, theirs.kernels)
