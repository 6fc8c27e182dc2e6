"""Modules that place values on devices: what cannot be counted or built is an error of one sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tvm
from tvm import relay

import workbench as wb
from workbench.errors import MeasureError

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
