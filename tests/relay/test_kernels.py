"""Real builds: what is counted is what the executor calls."""

from __future__ import annotations

import json

import pytest
import tvm
from breadth import breadth
from tvm import relay

import workbench as wb
from workbench.errors import MeasureError, UnknownName

SMALL = {
    "mlp": {"width": 8},
    "chain": {},
    "branches": {"image": 8},
    "conv_bias_batch_norm": {"image": 8},
    "parallel_cast": {},
}
SAMPLES = breadth(sorted(SMALL), "branches", "parallel_cast")


@pytest.fixture(scope="module")
def cast():
    return wb.samples.load("parallel_cast")


@pytest.mark.parametrize(("opt_level", "calls"), [(0, 8), (1, 5), (2, 5), (3, 3)])
def test_the_two_casts_at_each_opt_level(cast, opt_level, calls):
    assert wb.kernels(cast, opt_level=opt_level).calls == calls


@pytest.mark.parametrize("name", SAMPLES)
def test_counts_are_those_of_the_executors_graph(name):
    workload = wb.samples.load(name, **SMALL[name])
    found = wb.kernels(workload, "llvm", opt_level=2)
    with tvm.transform.PassContext(opt_level=2):
        library = relay.build(workload.module, target="llvm", params=workload.params)
    nodes = [node for node in json.loads(library.get_graph_json())["nodes"] if node["op"] == "tvm_op"]
    functions = [node["attrs"]["func_name"] for node in nodes]
    assert list(found.table["name"]) == [node["name"] for node in nodes]
    assert found.calls == len(nodes)
    assert found.noops == functions.count("__nop")
    assert found.functions == len(set(functions) - {"__nop"})
    assert found.launches == found.calls - found.noops


@pytest.mark.parametrize("opt_level", breadth(range(4), 3))
@pytest.mark.parametrize("name", breadth(sorted(SMALL), "parallel_cast"))
def test_the_picture_of_the_compilers_result_shows_as_many_kernels_as_are_built(name, opt_level):
    workload = wb.samples.load(name, **SMALL[name])
    picture = wb.trace_build(workload, opt_level=opt_level).end.graph.kernel_count
    assert picture == wb.kernels(workload, opt_level=opt_level).calls


def test_a_row_says_what_a_call_reads_and_writes(cast):
    found = wb.kernels(cast, opt_level=0)
    first = found.rows[0]
    assert first["inputs"] == ["(1, 16) float32"]
    assert (first["bytes_read"], first["bytes_written"]) == (64, 64)
    assert found.traffic_bytes == sum(row["bytes_read"] + row["bytes_written"] for row in found.rows)


def test_the_source_of_a_kernel_is_its_own(cast):
    found = wb.kernels(cast)
    name = found.rows[0]["function"]
    assert name in found.source(name)
    with pytest.raises(UnknownName, match="kernel"):
        found.source("nothing")


def test_a_plain_llvm_target_is_completed_and_another_is_left_alone(cast):
    assert wb.kernels(cast, "llvm").target.startswith("llvm")
    assert wb.kernels(cast, "llvm -mcpu=core-avx2").target == "llvm -mcpu=core-avx2"


def test_fuse_ops_cannot_be_switched_off_and_the_words_say_what_can_be_done(cast):
    with pytest.raises(MeasureError, match=r"FuseOps cannot be switched off.*max_depth"):
        wb.kernels(cast, disabled=["FuseOps"])


def test_a_pass_name_that_tvm_would_ignore_is_refused(cast):
    with pytest.raises(UnknownName, match="did you mean FoldConstant"):
        wb.kernels(cast, disabled=["FoldConstants"])


def test_an_unknown_config_key_offers_near_ones(cast):
    with pytest.raises(MeasureError, match=r"relay\.FuseOps\.max_depth"):
        wb.kernels(cast, config={"relay.FuseOps.maxdepth": 1})


def test_a_known_config_key_works(cast):
    assert (
        wb.kernels(cast, opt_level=2, config={"relay.FuseOps.max_depth": 1}).calls > wb.kernels(cast, opt_level=2).calls
    )


@pytest.mark.parametrize("target", ["nosuchtarget", "", "llvm -nosuchoption=1"])
def test_a_target_that_tvm_does_not_know_is_a_measure_error_of_one_line(cast, target):
    with pytest.raises(MeasureError) as caught:
        wb.kernels(cast, target)
    assert str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_dynamic_shape_is_a_measure_error(cast):
    x = relay.var("x", shape=(relay.Any(),))
    with pytest.raises(MeasureError):
        wb.kernels(wb.load(relay.Function([x], relay.exp(x))))
