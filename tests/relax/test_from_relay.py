"""`wb.to_relax`: what Relay's TVM computed, Relax computes; what has no translation is named, all of it at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tvm
from breadth import breadth
from relax.relays_numbers import OPERATORS, SAMPLES, SMALL
from tvm import relax

import workbench as wb
from workbench.dialects.importers.names import with_sources
from workbench.dialects.relax import compat
from workbench.errors import LoadError
from workbench.graph.model import GraphBuilder


def run(workload: wb.Workload, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
    (only,) = run_all(workload, inputs)
    return only


def run_all(workload: wb.Workload, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    module = relax.transform.DecomposeOpsForInference()(workload.module)
    machine = relax.VirtualMachine(tvm.compile(module, "llvm"), tvm.cpu())
    known = {**inputs, **{name: value.numpy() for name, value in workload.params.items()}}
    arguments = [tvm.runtime.tensor(known[compat.name_of(p)]) for p in workload.module["main"].params]
    result = machine["main"](*arguments)
    return [result.numpy()] if hasattr(result, "numpy") else [field.numpy() for field in result]


@pytest.mark.parametrize("name", breadth(OPERATORS.texts, *list(OPERATORS.texts)[::3]))
def test_an_operator_computes_what_relays_does(name: str) -> None:
    found = run(wb.to_relax(wb.load(OPERATORS.texts[name])), OPERATORS.inputs(name))
    expected = OPERATORS.output(name)
    assert found.dtype == expected.dtype
    # TVM's fast_exp and its like are approximations
    np.testing.assert_allclose(found, expected, rtol=2e-3 if name.startswith("fast_") else 2e-5, atol=1e-5)


@pytest.mark.parametrize("name", breadth(wb.samples.names("relax"), "attention", "branches", "mlp"))
def test_a_sample_computes_what_relays_does(name: str) -> None:
    params = wb.samples.load(name, **SMALL.get(name, {})).params
    translated = wb.to_relax(wb.load(SAMPLES.texts[name]), params)
    np.testing.assert_allclose(run(translated, SAMPLES.inputs(name)), SAMPLES.output(name), rtol=1e-4, atol=1e-5)
    assert translated.notes == []


def relay_graph(*ops: str, **attrs: Any) -> Any:
    b = GraphBuilder("made", "relay")
    at = b.node("param", "x", name="x", type="Tensor[(1, 4), float32]")
    for op in ops:
        at = b.node("op", op, (at,), type="Tensor[(1, 4), float32]", attrs=attrs)
    b.outputs = [at]
    return b.build()


def test_all_that_has_no_translation_is_named_at_once() -> None:
    with pytest.raises(
        LoadError, match=r"no translation to Relax for 2: vision\.nms \(%1 and 1 more\), qnn\.add \(%3\)"
    ):
        wb.to_relax(relay_graph("vision.nms", "nn.relu", "qnn.add", "vision.nms"))


def test_a_constant_without_its_value_is_a_parameter_and_is_told() -> None:
    b = GraphBuilder("made", "relay")
    x = b.node("param", "x", name="x", type="Tensor[(4), float32]")
    c = b.node("constant", "meta[relay.Constant][0]", type="Tensor[(4), float32]", attrs={"digest": "0"})
    b.outputs = [b.node("op", "add", (x, c), type="Tensor[(4), float32]")]
    made = wb.to_relax(b.build())
    assert [compat.name_of(p) for p in made.module["main"].params] == ["x", "constant_1"]
    assert made.notes == ["the value of meta[relay.Constant][0] is not known, so it is a parameter, constant_1"]
    known = wb.to_relax(b.build(), {"meta[relay.Constant][0]": np.arange(4, dtype="float32")})
    assert known.notes == []
    assert run(known, {"x": np.ones(4, "float32")}).tolist() == [1, 2, 3, 4]


def test_kernels_are_taken_apart_and_relax_makes_its_own() -> None:
    b = GraphBuilder("made", "relay")
    function = b.group("function", "main", None)
    kernel = b.group("primitive", "fused", function)
    x = b.node("param", "x", name="x", type="Tensor[(4), float32]", group=function)
    y = b.node("op", "exp", (x,), type="Tensor[(4), float32]", group=kernel)
    b.outputs = [b.node("op", "tanh", (y,), type="Tensor[(4), float32]", group=kernel)]
    made = wb.to_relax(b.build())
    assert [node.op for node in made.graph.ops] == ["relax.exp", "relax.tanh"]
    assert "taken apart" in made.notes[0]


def test_what_cannot_be_translated_is_a_sentence() -> None:
    dynamic = GraphBuilder("made", "relay")
    x = dynamic.node("param", "x", name="x", type="Tensor[(?, 4), float32]")
    dynamic.outputs = [dynamic.node("op", "exp", (x,), type="Tensor[(?, 4), float32]")]
    with pytest.raises(LoadError, match=r"the parameter x has type .*; only tensors of known shape"):
        wb.to_relax(dynamic.build())
    with pytest.raises(LoadError, match="is relax already"):
        wb.to_relax(wb.samples.load("chain"))
    wrong = relay_graph("transpose", axes=[0, 1, 2, 3])
    with pytest.raises(LoadError, match=r"transpose \(%1\) could not be translated: "):
        wb.to_relax(wrong)


def test_metadata_that_is_damaged_is_a_sentence() -> None:
    whole = OPERATORS.texts["gather"]
    with pytest.raises(LoadError, match="metadata"):
        wb.to_relax(wb.load(whole.replace("AAAA", "A!", 1)))


def test_variables_have_the_names_of_the_nodes_they_compute() -> None:
    text = """
def @main(%x: Tensor[(2, 4), float32]) -> (Tensor[(2, 2), float32], Tensor[(2, 2), float32]) {
  %0 = nn.relu(%x) /* ty=Tensor[(2, 4), float32] */;
  %1 = split(%0, indices_or_sections=2, axis=1) /* ty=(Tensor[(2, 2), float32], Tensor[(2, 2), float32]) */;
  %2 = %1.0 /* ty=Tensor[(2, 2), float32] */;
  %3 = %1.1 /* ty=Tensor[(2, 2), float32] */;
  (%2, %3) /* ty=(Tensor[(2, 2), float32], Tensor[(2, 2), float32]) */
}"""
    graph = wb.load(text).graph
    plain = wb.to_relax(graph).graph
    assert {node.source for node in plain.nodes} == {()}
    named = replace(graph.nodes[1], source=("layer.0.Relu",))
    graph = with_sources(replace(graph, nodes=(graph.nodes[0], named, *graph.nodes[2:])))
    found = wb.to_relax(graph).graph
    sources = {node.op: node.source for node in found.nodes if node.source}
    assert sources == {
        "relax.nn.relu": ("layer.0.Relu",),
        "relax.split": ("split#2",),
        ".0": ("split#2",),
        ".1": ("split#2",),
    }
    assert {node.scope for node in found.nodes if node.source == ("split#2",)} == {""}
    assert {node.scope for node in found.nodes if node.source == ("layer.0.Relu",)} == {"layer.0"}
