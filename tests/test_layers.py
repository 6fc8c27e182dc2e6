"""Layers of the example models, on every dialect: found from structure, and the same before and after each pass."""

from __future__ import annotations

import pytest
from breadth import breadth

import workbench as wb
from workbench.dialects.registry import dialect as door
from workbench.graph.layers import layered, layered_pair
from workbench.graph.model import Graph


def scopes(graph: Graph, id: int) -> list[str]:
    """Names of the scopes around a node, innermost first."""
    return [group.name for group in graph.ancestors(graph.nodes[id].group) if group.kind == "scope"]


def held(graph: Graph) -> dict[str, int]:
    """For each scope without scopes in it how many operators are in it, in order."""
    found: dict[str, int] = {}
    for node in graph.ops:
        for name in scopes(graph, node.id)[:1]:
            found[name] = found.get(name, 0) + 1
    return found


def test_bert_has_twelve_layers_with_their_weights(dialect):
    graph = layered(wb.samples.load("bert", dialect=dialect).graph)
    found = held(graph)
    assert list(found) == [f"layer_{i}" for i in range(12)]
    assert len({*found.values()} - {found["layer_0"]}) <= 1
    for node in graph.nodes:
        if node.kind == "param" and node.op.startswith("layer_"):
            assert scopes(graph, node.id) == ["_".join(node.op.split("_")[:2])]
        if node.op in ("data", "mask"):
            assert scopes(graph, node.id) == [], "what the model is given is in no layer"


def test_resnet_has_blocks_in_stages(dialect):
    graph = layered(wb.samples.load("resnet18", dialect=dialect).graph)
    found = {tuple(scopes(graph, node.id)) for node in graph.ops} - {()}
    assert found == {(f"stage{s}_block{b}", f"stage {s}") for s in range(4) for b in range(2)}


@pytest.mark.parametrize("name", ["attention", "branches", "chain", "mlp", "parallel_cast"])
def test_small_samples_have_none(dialect, name):
    graph = wb.samples.load(name, dialect=dialect).graph
    assert layered(graph) is graph


@pytest.mark.parametrize("name", breadth(["bert", "resnet18"], "resnet18"))
def test_what_a_pass_leaves_stays_in_its_layer(dialect, facts, name):
    passes = f"{facts.folded}{facts.mixed},EliminateCommonSubexpr,{door(dialect).passes.fusing()}{facts.after_fusion}"
    trace = wb.trace(wb.samples.load(name, dialect=dialect), passes, opt_level=4)
    assert trace.failed is None
    for step in trace.steps:
        before, after = layered_pair(step.before, step.after, step.diff)
        computed = [(b, a) for b, a in step.diff.kept if before.inputs[b]]
        assert all(scopes(before, b) == scopes(after, a) for b, a in computed)
        assert len(held(before)) == len(held(after)) == (12 if name == "bert" else 8)
        assert len(held(layered(step.after))) == (12 if name == "bert" else 8), "seen alone too"
        for group in after.groups:
            if group.kind == "primitive" and step.name == "FuseOps":
                inside = [g.kind for g in after.ancestors(group.parent)]
                assert inside in (["scope", "function"], ["scope", "scope", "function"], ["function"])
