"""Calls that are no kernels of this build: copies between two devices, and what a library gives."""

from __future__ import annotations

import pytest

import workbench as wb

TWO_DEVICES = """
@I.ir_module
class M:
    I.module_global_infos({"vdevice": [I.vdevice({"kind": "llvm"}, 0), I.vdevice({"kind": "cuda", "arch": "sm_80"}, 0)]})

    @R.function
    def main(x: R.Tensor((4, 8), "float32", "llvm:0")):
        with R.dataflow():
            a = R.tanh(x)
            b = R.to_vdevice(a, "cuda:0")
            c = R.exp(b)
            d = R.to_vdevice(c, "llvm:0")
            R.output(d)
        return d
"""
LIBRARY = """
@R.function
def main(x: R.Tensor((4, 8), "float32")):
    with R.dataflow():
        a = R.tanh(x)
        b = R.call_dps_packed("far1", (a,), R.Tensor((4, 8), "float32"))
        c = R.exp(b)
        R.output(c)
    return c
"""


def agree(built: wb.Kernels, counted: wb.Counts) -> None:
    assert (built.calls, built.functions, built.copies) == (counted.calls, counted.functions, counted.copies)
    assert built.traffic_bytes == counted.traffic_bytes


@pytest.mark.parametrize("target", ["llvm", "cuda -arch=sm_80"])
def test_copies_between_two_devices_are_told_apart_from_kernels(target: str) -> None:
    workload = wb.load(TWO_DEVICES)
    built, counted = wb.kernels(workload, target), wb.count(workload, target)
    assert [row["kind"] for row in built.rows] == ["kernel", "copy", "kernel", "copy"]
    assert [row["launches"] for row in built.rows if row["function"] == "tir_exp_cuda"] == [1]
    assert [row["launches"] for row in built.rows if row["kind"] == "copy"] == [0, 0]
    assert (built.functions, built.copies) == (2, 2)
    assert dict(counted.handover_bytes) == {"float32": 3 * 4 * 8 * 4}
    agree(built, counted)


@pytest.mark.parametrize("target", ["llvm", "cuda -arch=sm_80"])
def test_what_a_library_gives_is_external_and_its_launches_and_flops_are_unknown(target: str) -> None:
    workload = wb.load(LIBRARY)
    workload.trusted = True  # it calls a function by name
    built = wb.kernels(workload, target)
    assert [row["kind"] for row in built.rows] == ["kernel", "external", "kernel"]
    far = built.rows[1]
    assert (far["function"], far["op"], far["launches_exact"], far["flops"]) == ("far1", "far1", False, None)
    assert built.flops is None
    assert any("another compiler" in note for note in built.notes)
    agree(built, wb.count(workload, target))
