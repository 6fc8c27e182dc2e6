"""What is counted without a build is what a build has, and each call has its place in the graph."""

from __future__ import annotations

import dataclasses
from collections import Counter

import pytest
from breadth import breadth
from small_samples import SMALL

import workbench as wb
from workbench.errors import MeasureError, UnknownName
from workbench.measurement.kernels import Kernels

TARGETS = ("llvm", "cuda -arch=sm_80")
QUICK = ("chain", "mlp", "parallel_cast")
SLOWER = ("branches", "conv_bias_batch_norm")
REST = ("attention", "bert", "resnet18")


def agree(workload: wb.Workload, target: str, opt_level: int, built: Kernels | None = None) -> None:
    built = built or wb.kernels(workload, target, opt_level)
    found = dataclasses.asdict(wb.count(workload, target, opt_level))
    between: Counter[str] = Counter()
    for row in built.handovers.itertuples():
        if row.producer >= 0 and row.consumer >= 0:
            between[row.dtype] += row.bytes
    assert found == {
        "calls": built.calls,
        "functions": built.functions,
        "noops": built.noops,
        "copies": built.copies,
        "traffic_bytes": built.traffic_bytes,
        "handover_bytes": dict(between),
        "peak_bytes": built.peak_bytes,
        "target": built.target,
        "status": "ok",
        "reason": "",
    }
    assert found["peak_bytes"] == wb.memory(workload, target, opt_level).peak_bytes > 0
    linked_both_ways(built)
    assert built.launches_exact
    assert built.launches >= built.calls - built.noops - built.copies


def linked_both_ways(built: Kernels) -> None:
    """Each call has nodes of its own that compute, and all that compute have a call."""
    graph = built.graph
    for row in built.rows:
        assert row["nodes"], row["function"]
        assert built.nodes_of(row["index"]) == row["nodes"]
        assert all(built.call_of(node) == [row["index"]] for node in row["nodes"])
        if row["group"] is not None:
            assert built.call_of(graph.groups[row["group"]]) == [row["index"]]
    computing = {node.id for node in graph.ops}
    assert computing == {node for row in built.rows for node in row["nodes"]} & computing


@pytest.mark.parametrize("opt_level", breadth(range(4), 0, 3))
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", QUICK)
def test_count_is_what_a_build_has(dialect: str, name: str, target: str, opt_level: int) -> None:
    agree(wb.samples.load(name), target, opt_level)


@pytest.mark.parametrize("name", SLOWER)
def test_count_is_what_a_build_has_with_convolutions(dialect: str, name: str) -> None:
    agree(wb.samples.load(name, **SMALL[name]), "llvm", 3)


def test_a_kernel_that_takes_a_field_of_a_tuple_reads_that_field(dialect: str) -> None:
    workload = wb.samples.load("attention", seq=8)
    built = wb.kernels(workload)
    (split,) = (row for row in built.rows if len(row["outputs"]) == 3)
    handed = built.handovers[built.handovers["producer"] == split["index"]]
    assert handed["bytes"].sum() == split["bytes_written"]
    agree(workload, "llvm", 3, built)


@pytest.mark.parametrize("opt_level", breadth(range(4)))
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", SLOWER + REST)
def test_count_is_what_a_build_has_of_every_sample(dialect: str, name: str, target: str, opt_level: int) -> None:
    agree(wb.samples.load(name, **SMALL[name]), target, opt_level)


@pytest.mark.parametrize("name", breadth(SLOWER + REST))
def test_count_is_what_a_build_has_at_full_size(dialect: str, name: str) -> None:
    agree(wb.samples.load(name), "llvm", 3)


def test_the_samples_are_all_there(dialect: str) -> None:
    assert set(wb.samples.names(dialect)) == {*QUICK, *SLOWER, *REST}


def test_a_switched_pass_counts(dialect: str) -> None:
    workload = wb.samples.load("mlp")
    depth = {f"{dialect}.FuseOps.max_depth": 1}
    assert wb.count(workload, config=depth).calls == wb.kernels(workload, config=depth).calls > wb.count(workload).calls
    with pytest.raises(UnknownName, match="FuseOps"):
        wb.count(workload, disabled=["FuzeOps"])
    with pytest.raises(MeasureError):
        wb.count(workload, "nosuchtarget")


def test_code_of_a_cpu_build(dialect: str) -> None:
    built = wb.kernels(wb.samples.load("mlp"))
    first, other = sorted({row["function"] for row in built.rows})[0], "nothing"
    assert built.forms() == ("llvm", "asm", "tir")
    assert built.source(first) == built.source(first, "llvm")
    assert built.source(first).startswith("define ")
    assert first in built.source(first, "asm")
    assert f"def {first}(" in built.source(first, "tir")
    with pytest.raises(UnknownName, match="form of code"):
        built.source(first, "cuda")
    with pytest.raises(UnknownName, match="kernel"):
        built.source(other)


def test_code_of_a_cuda_build_needs_neither_gpu_nor_nvcc(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    built = wb.kernels(wb.samples.load("branches"), "cuda -arch=sm_80")
    for function in {row["function"] for row in built.rows}:
        code = built.source(function)
        assert code.count("__global__") == built.rows[built.call_of(built.nodes_of(0)[0])[0]]["launches"] == 1
        assert f"{function}_kernel(" in code
    from workbench.dialects.compiler.cuda_code import nvrtc_here

    if nvrtc_here() is None:
        with pytest.raises(MeasureError, match=r"nvrtc.*tvm-workbench\[cuda\]"):
            built.source(function, "ptx")
    else:
        ptx = built.source(function, "ptx")
        assert ptx.startswith(f".visible .entry {function}_kernel(")


def test_flops_of_a_program_that_can_be_done_by_hand(dialect: str) -> None:
    built = wb.kernels(wb.samples.load("mlp", width=8))
    batch = 1
    # three layers: a product of 8 by 8, a bias, a maximum with zero
    assert built.flops == 3 * batch * (2 * 8 * 8 + 8 + 8)
    assert built.notes == ()
