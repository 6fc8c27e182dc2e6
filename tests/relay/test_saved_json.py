"""JSON of TVM's that names functions or holds compiled code is refused before TVM reads it."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
import tvm
from tvm import relay

import workbench as wb
from workbench.errors import LoadError

CANARY = "workbench.test.json_canary"


@pytest.fixture
def calls() -> list[str]:
    seen: list[str] = []
    tvm.register_func(CANARY, lambda *_: seen.append("ran") or True, override=True)
    return seen


def related() -> tvm.IRModule:
    """A module whose type inference asks a function of TVM's registry."""
    x = relay.var("x", shape=(4,))
    a, b = (tvm.ir.TypeVar(name) for name in "ab")
    asks = tvm.ir.TypeRelation(tvm.ir.EnvFunc.get(CANARY), [a, b], 1, None)
    f = relay.Var("f", tvm.ir.FuncType([a], b, [a, b], [asks]))
    return tvm.IRModule.from_expr(relay.Function([f, x], relay.Call(f, [x])))


def test_type_relation_is_refused(calls: list[str]) -> None:
    text = tvm.ir.save_json(related())
    with pytest.raises(LoadError, match=r"holds a (EnvFunc|TypeRelation), which is code"):
        wb.load(text)
    assert calls == []


def test_type_relation_would_be_called(calls: list[str]) -> None:
    loaded = tvm.ir.load_json(tvm.ir.save_json(related()))
    with pytest.raises(tvm.TVMError):  # the canary reports nothing of the types
        relay.transform.InferType()(loaded)
    assert calls


@pytest.mark.parametrize("mark", ["#[metadata]", "#[ metadata ]", "#[\tmetadata\n]"])
def test_metadata_of_a_text_is_checked(mark: str, calls: list[str]) -> None:
    text = f"def @main(%x: Tensor[(4), float32]) {{\n  add(%x, %x)\n}}\n{mark}\n{tvm.ir.save_json(related())}"
    with suppress(LoadError):  # a mark that TVM does not print is left out with a note
        wb.load(text)
    assert calls == []


@pytest.mark.parametrize("kind", ["runtime.Module", "PackedFunc", "relay.attrs.DebugAttrs", "transform.PassContext"])
def test_code_is_refused(kind: str) -> None:
    graph: dict[str, Any] = json.loads(tvm.ir.save_json(wb.samples.load("mlp").module))
    graph["nodes"].append({"type_key": kind})
    with pytest.raises(LoadError, match=f"holds a {kind}"):
        wb.load(json.dumps(graph))


MODULES = {
    "let": "fn (%x: Tensor[(4), float32]) { let %y = add(%x, %x); %y }",
    "if": "fn (%c: bool, %x: Tensor[(4), float32]) { if (%c) { %x } else { negative(%x) } }",
    "tuple": "fn (%x: (Tensor[(4), float32], Tensor[(4), float32])) { %x.0 }",
    "ref": "fn (%x: Tensor[(4), float32]) { %r = ref(%x); ref_read(%r) }",
    "any": "fn (%x: Tensor[(?, 4), float32]) { nn.relu(%x) }",
    "attributes": "fn (%x: Tensor[(1, 3, 8, 8), float32]) { nn.max_pool2d(%x, pool_size=[2, 2], padding=[0, 0, 0, 0]) }",
}


@pytest.mark.parametrize("case", MODULES)
def test_module_of_every_kind_loads(case: str) -> None:
    module = relay.transform.InferType()(wb.load(MODULES[case]).module)
    assert tvm.ir.structural_equal(wb.load(tvm.ir.save_json(module)).module, module)


@pytest.mark.parametrize("sample", wb.samples.names("relay"))
def test_every_sample_loads(sample: str) -> None:
    module = wb.samples.load(sample).module
    assert tvm.ir.structural_equal(wb.load(tvm.ir.save_json(module)).module, module)


def test_adt_and_target_load() -> None:
    module = tvm.IRModule()
    module.import_from_std("prelude.rly")
    x = relay.var("x", shape=(4,))
    module["main"] = relay.Function([x], relay.annotation.on_device(relay.exp(x), tvm.cpu()))
    typed = relay.transform.InferType()(module)
    assert wb.load(tvm.ir.save_json(typed)).graph.nodes
