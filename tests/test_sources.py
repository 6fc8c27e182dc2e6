"""Each node of a graph has the names of the ONNX nodes that it computes, after import and after a build."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.analysis.units import units
from workbench.dialects.importers.onnx_model import sources
from workbench.dialects.registry import dialect as door
from workbench.graph.model import Graph
from workbench.pipeline.lineage import sourced, sourced_kernels

sys.path.insert(0, str(Path(__file__).parent))
from compiler_models import MODELS
from onnx_models import FLOAT, Onnx, chain
from sourced_graph import fused


def layers(many: int = 2) -> Any:
    """Equal layers, whose kernels are one function; two nodes in each have the same name."""
    m = Onnx()
    x = "x"
    for layer in range(many):
        m.scope = f"/layer.{layer}"
        x = m.op("Relu", m.op("Add", m.op("MatMul", x, m.normal("weight", 8, 8)), m.normal("bias", 8)))
        x = m.op("Relu", m.op("MatMul", x, m.normal("weight", 8, 8)))
    return m.model({"x": (FLOAT, [2, 8])}, x)


LAYER = ["MatMul", "Add", "Relu", "MatMul_2", "Relu_2"]


def computed(graph: Graph) -> set[str]:
    return {name for node in graph.ops for name in node.source}


def test_every_imported_operator_has_its_node_by_a_name_that_is_unique(dialect: str):
    model = layers()
    assert list(sources(model)) == [f"layer.{layer}.{name}" for layer in (0, 1) for name in LAYER]
    assert [node.op_type for node in sources(model).values()] == [name.removesuffix("_2") for name in LAYER] * 2
    graph = wb.load(model).graph
    assert all(len(node.source) == 1 for node in graph.ops)
    assert computed(graph) == {*sources(model)}
    assert not any(node.source for node in graph.nodes if node.kind in ("param", "constant"))


def test_nodes_without_a_name_or_a_scope_have_one(dialect: str):
    model = chain(3, named=False)
    assert list(sources(model)) == ["Relu", "Relu_2", "Relu_3"]
    assert [node.source for node in wb.load(model).graph.ops] == [(name,) for name in sources(model)]


def test_names_that_print_alike_stay_apart(dialect: str):
    model = chain(4)
    for node, name in zip(model.graph.node, ("/a.b/Relu", "/a/b/Relu", "/a_b/Relu_2", "12"), strict=True):
        node.name = name
    names = list(sources(model))
    assert len({name.replace(".", "_") for name in names}) == 4
    assert [node.source for node in wb.load(model).graph.ops] == [(name,) for name in names]


def test_kernels_that_share_a_function_have_the_nodes_of_their_own_layer(dialect: str):
    workload = wb.load(layers(3))
    built = wb.kernels(workload)
    graph = sourced_kernels(wb.trace_build(workload, whole=False), built.graph)
    found = [{name for id in unit.nodes for name in graph.nodes[id].source} for unit in units(graph)]
    for layer in range(3):
        own = [names for names in found if any(name.startswith(f"layer.{layer}.") for name in names)]
        assert set[str]().union(*own) == {f"layer.{layer}.{name}" for name in LAYER}
    assert sum(f"layer.{layer}.MatMul" in names for names in found for layer in range(3)) == 3
    assert [node.op for node in graph.ops if not node.source and node.op != "layout_transform"] == []


def test_a_node_that_two_became_has_both_names(dialect: str):
    m = Onnx()
    m.scope = "/left"
    left = m.op("Exp", "x")
    m.scope = "/right"
    out = m.op("Add", m.op("Exp", "x"), left)
    trace = wb.trace(wb.load(m.model({"x": (FLOAT, [2, 8])}, out)), "EliminateCommonSubexpr")
    (merged,) = (node for node in sourced(trace).ops if node.op.endswith("exp"))
    assert set(merged.source) == {"left.Exp", "right.Exp"}


def test_a_source_is_kept_by_every_pass_of_the_dialects_fusion(dialect: str):
    trace = wb.trace(wb.load(layers()), door(dialect).passes.fusing())
    for transition in trace.transitions:
        assert computed(sourced(trace, transition.after)) == computed(trace.start.graph)


@pytest.mark.parametrize("name", ["LSTM, unrolled", pytest.param("BERT", marks=pytest.mark.long)])
def test_every_operator_of_a_build_has_a_source_or_changes_a_layout(dialect: str, name: str):
    graph = fused(wb.load(MODELS[name]()))
    assert graph.kernel_count > 30
    assert {node.op for node in graph.ops if not node.source} <= {"layout_transform"}
    assert computed(graph) <= {*sources(MODELS[name]())}
