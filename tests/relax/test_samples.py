"""The Relax samples compute what the Relay samples compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from relax.relays_numbers import SAMPLES, SMALL
from tvm import relax

import workbench as wb
from workbench.dialects.relax import compat
from workbench.dialects.relax.compiler import build

LARGE = ("bert", "conv_bias_batch_norm", "resnet18")


def output(name: str, inputs: dict[str, np.ndarray], opt_level: int) -> np.ndarray:
    workload = wb.samples.load(name, **SMALL.get(name, {}))
    config = {"opt_level": opt_level, "disabled": [], "required": [], "options": {}}
    built: Any = build.COMPILER.compiled(workload, "llvm", config)
    values = {**inputs, **{k: v.numpy() for k, v in workload.params.items()}}
    arguments = [tvm.runtime.tensor(values[compat.name_of(p)]) for p in workload.module["main"].params]
    return relax.VirtualMachine(built.library, tvm.cpu())["main"](*arguments).numpy()


@pytest.mark.parametrize(
    ("name", "opt_level"),
    [
        # folding compiles each constant expression, so that convolutions with normalisations take long
        pytest.param(name, level, marks=[pytest.mark.long] if name in LARGE or level == 0 else [])
        for name in wb.samples.names("relax")
        for level in (0, 3)
    ],
)
def test_the_numbers_are_relays(name: str, opt_level: int) -> None:
    found, expected = output(name, SAMPLES.inputs(name), opt_level), SAMPLES.output(name)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_parallel_cast_merges_when_asked() -> None:
    workload = wb.samples.load("parallel_cast")
    merged = wb.trace(workload, "EliminateCommonSubexpr").steps[0]
    assert [merged.before.nodes[many[0]].op for many, _ in merged.diff.merged] == ["relax.astype", "relax.nn.relu"]
    counts = [
        wb.trace(workload, pipeline).end.graph.kernel_count
        for pipeline in (
            "LegalizeOps,AnnotateTIROpPattern",
            "LegalizeOps,AnnotateTIROpPattern,FuseOps",
            "EliminateCommonSubexpr,LegalizeOps,AnnotateTIROpPattern,FuseOps",
        )
    ]
    assert counts == [8, 5, 4]


def test_batch_norm_is_for_inference() -> None:
    for name in ("conv_bias_batch_norm", "resnet18"):
        found = [node for node in wb.samples.load(name).graph.ops if node.op == "relax.nn.batch_norm"]
        assert found
        assert all(node.attrs["training"] is False for node in found)


def test_a_sample_is_the_same_each_time() -> None:
    first, second = (wb.samples.load("bert", layers=1, hidden=16, heads=2) for _ in range(2))
    assert first.graph == second.graph
    assert all((first.params[name].numpy() == value.numpy()).all() for name, value in second.params.items())
