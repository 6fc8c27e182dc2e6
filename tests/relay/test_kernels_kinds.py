"""Calls that are no kernels of this build, and modules that place values on devices."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import tvm
from tvm import relay

import workbench as wb
from workbench.dialects.compiler.cuda_code import compiled_where_it_runs
from workbench.dialects.relay.compiler.kernels import Walk, Watch, external_functions, program_of_json, typed
from workbench.errors import MeasureError

TWO = {"cpu": "llvm", "cuda": "cuda -arch=sm_80"}
ROW = 4 * 8 * 4
"bytes of the tensors here"


def there_and_back() -> relay.Function:
    """`sqrt` on the GPU between `exp` and `log` on the CPU."""
    x = relay.var("x", shape=(4, 8))
    a = relay.annotation.on_device(relay.exp(x), tvm.cpu(0))
    b = relay.annotation.on_device(relay.sqrt(a), tvm.cuda(0))
    return relay.Function([x], relay.annotation.on_device(relay.log(b), tvm.cpu(0)))


def offloaded() -> tvm.IRModule:
    """`add` and `multiply` in a function for TVM's example of another compiler, between two operators of ours."""
    a, b, x, y = (relay.var(name, shape=(4, 8)) for name in "abxy")
    function = relay.Function([a, b], relay.multiply(relay.add(a, b), b), relay.TensorType((4, 8)))
    for name, value in (("Primitive", tvm.tir.IntImm("int32", 1)), ("Compiler", "ccompiler"), ("global_symbol", "far")):
        function = function.with_attr(name, value)
    far = relay.GlobalVar("far")
    module = relay.transform.InferType()(tvm.IRModule({far: function}))
    module["main"] = relay.Function([x, y], relay.exp(relay.Call(far, [relay.tanh(x), y])))
    return relay.transform.InferType()(module)


def inlined(module: tvm.IRModule) -> tvm.IRModule:
    """The same to be inlined."""
    far = module["far"].with_attr("Inline", tvm.tir.IntImm("int32", 1))
    return tvm.IRModule({**module.functions, module.get_global_var("far"): far})


@pytest.mark.parametrize("opt_level", [0, 3])
def test_copies_between_two_devices_are_told_apart_from_kernels(opt_level: int) -> None:
    watch = Watch()
    with compiled_where_it_runs(TWO["cuda"]), tvm.transform.PassContext(opt_level=opt_level, instruments=[watch]):
        library = relay.build(tvm.IRModule.from_expr(there_and_back()), target=TWO)
    built = program_of_json(json.loads(library.get_graph_json()))
    assert [call.kind for call in built.calls] == ["kernel", "copy", "kernel", "copy", "kernel"]
    assert [row["launches"] for row in built.rows(None)] == [1, 0, 1, 0, 1]
    counts = built.counts()
    assert (counts["calls"], counts["functions"], counts["copies"]) == (5, 3, 2)
    assert counts["traffic_bytes"] == 10 * ROW
    assert counts["handover_bytes"] == {"float32": 4 * ROW}
    assert watch.fused is not None
    assert Walk(typed(watch.fused), False).program().counts() == counts


@pytest.mark.parametrize("target", ["llvm", "cuda -arch=sm_80"])
def test_what_another_compiler_made_is_external_and_its_launches_and_flops_are_unknown(target: str) -> None:
    workload = wb.load(offloaded())
    found = wb.kernels(workload, target)
    assert [row["kind"] for row in found.rows] == ["kernel", "external", "kernel"]
    assert (found.calls, found.functions, found.copies) == (3, 3, 0)
    far = found.rows[1]
    assert (far["function"], far["launches_exact"], far["flops"]) == ("far", False, None)
    assert found.flops is None
    assert not found.launches_exact
    assert found.graph.nodes[far["nodes"][0]].op == "@far"
    counted = wb.count(workload, target)
    assert (counted.calls, counted.functions, counted.traffic_bytes) == (3, 3, found.traffic_bytes)


def test_a_function_is_external_whether_it_is_called_by_name_or_stands_where_it_is_called() -> None:
    module = offloaded()
    assert external_functions(module) == ["far"]
    here = relay.transform.Inline()(inlined(module))
    assert [name.name_hint for name in here.get_global_vars()] == ["main"]
    assert external_functions(here) == ["far"]


X = relay.var("x", shape=(4, 4))
CPU, CUDA = tvm.device("cpu"), tvm.device("cuda")


def loaded(body: relay.Expr) -> wb.Workload:
    return wb.load(relay.Function([X], body))


@pytest.mark.parametrize("act", [wb.count, wb.kernels, wb.trace_build])
def test_module_with_let_from_json(act: Callable[[wb.Workload], Any]) -> None:
    y = relay.var("y")
    made = loaded(relay.Let(y, relay.nn.relu(X), relay.add(y, y))).module
    assert act(wb.load(tvm.ir.load_json(tvm.ir.save_json(made))))


@pytest.mark.parametrize(
    "body",
    [
        relay.exp(relay.annotation.on_device(relay.add(X, X), CUDA)),
        relay.exp(relay.device_copy(relay.add(X, X), CPU, CUDA)),
    ],
)
def test_device_without_a_target(body: relay.Expr) -> None:
    workload = loaded(body)
    with pytest.raises(MeasureError, match="on the device cuda, for which this target has no code"):
        wb.kernels(workload)
    assert wb.trace_build(workload)


def test_contradicting_devices() -> None:
    moved = relay.device_copy(relay.device_copy(X, CPU, CUDA), CPU, CUDA)
    with pytest.raises(MeasureError, match="TVM cannot place the module on devices"):
        wb.kernels(loaded(moved))


def test_functions_in_a_tuple_are_not_counted() -> None:
    a, function, pair = relay.var("a", shape=(4, 4)), relay.var("function"), relay.var("pair")
    body = relay.Call(relay.TupleGetItem(pair, 0), [relay.TupleGetItem(pair, 1)])
    body = relay.Let(pair, relay.Tuple([function, X]), body)
    with pytest.raises(MeasureError, match="holds functions"):
        wb.count(loaded(relay.Let(function, relay.Function([a], relay.exp(a)), body)))
