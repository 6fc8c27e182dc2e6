"""The Relax samples compute what the Relay samples compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

import workbench as wb
from workbench.dialects import compat
from workbench.dialects.relax import build, running

SMALL: dict[str, dict[str, int]] = {
    "bert": {"layers": 2, "hidden": 32, "seq": 8, "heads": 2},
    "resnet18": {"image": 32, "width": 8},
}
# What TVM 0.17 gave for the Relay samples at opt level 0, with the inputs of `random_inputs(workload, seed=0)`: the sum of
# the absolute values, and the sum weighted with cos(0), cos(1), ..., which tells an order from another.
RELAY = {
    "attention": (17376.0, -10.90817393808345),
    "bert": (202.00950256548822, -11.664473821242055),
    "branches": (248.73529914789833, -4.207066022269512),
    "chain": (8.689268112182617, -2.596933339645261),
    "conv_bias_batch_norm": (1736.283535489929, 10.638452883362996),
    "mlp": (0.3837493706960231, 0.05728830714626703),
    "resnet18": (1.0000000223517418, 0.040313638322892656),
}


def output(name: str, inputs: dict[str, np.ndarray] | None = None, opt_level: int = 3) -> np.ndarray:
    workload = wb.samples.load(name, **SMALL.get(name, {}))
    config = {"opt_level": opt_level, "disabled": [], "required": [], "options": {}}
    built: Any = build.compiled(workload, "llvm", config)
    values = {**(inputs or running.random_inputs(workload, 0)), **{k: v.numpy() for k, v in workload.params.items()}}
    arguments = [tvm.runtime.tensor(values[compat.name_of(p)]) for p in workload.module["main"].params]
    return relax.VirtualMachine(built.executable, tvm.cpu())["main"](*arguments).numpy()


@pytest.mark.parametrize("opt_level", [0, 3])
@pytest.mark.parametrize("name", RELAY)
def test_the_numbers_are_relays(name: str, opt_level: int) -> None:
    values = output(name, opt_level=opt_level).astype("float64").ravel()
    size, order = RELAY[name]
    assert np.abs(values).sum() == pytest.approx(size, rel=1e-5)
    assert (values * np.cos(np.arange(values.size))).sum() == pytest.approx(order, rel=1e-3, abs=1e-5)


def test_parallel_cast_gives_relays_integers() -> None:
    data = (np.arange(16, dtype="float32") - 5).reshape(1, 16)
    found = output("parallel_cast", {"data": data})
    assert found.dtype == np.int8
    assert found.ravel().tolist() == [44, -9, -55, 34, 27, 9, -40, 13, 44, 27, 15, -12, -19, 25, 56, -46]


def test_parallel_cast_merges_when_asked() -> None:
    workload = wb.samples.load("parallel_cast")
    merged = wb.trace(workload, "EliminateCommonSubexpr").steps[0]
    assert [merged.before.nodes[many[0]].op for many, _ in merged.diff.merged] == ["relax.astype", "relax.nn.relu"]
    counts = [
        wb.trace(workload, pipeline).end.graph.kernels()
        for pipeline in (
            "LegalizeOps,AnnotateTIROpPattern",
            "LegalizeOps,AnnotateTIROpPattern,FuseOps",
            "EliminateCommonSubexpr,LegalizeOps,AnnotateTIROpPattern,FuseOps",
        )
    ]
    assert counts == [8, 5, 4]


def test_batch_norm_is_for_inference() -> None:
    for name in ("conv_bias_batch_norm", "resnet18"):
        found = [node for node in wb.samples.load(name).graph().ops() if node.op == "relax.nn.batch_norm"]
        assert found
        assert all(node.attrs["training"] is False for node in found)


def test_a_sample_is_the_same_each_time() -> None:
    first, second = (wb.samples.load("bert", layers=1, hidden=16, heads=2) for _ in range(2))
    assert first.graph() == second.graph()
    assert all((first.params[name].numpy() == value.numpy()).all() for name, value in second.params.items())
