"""Real builds: what is counted is what the executor calls; fields of tuples, copies between devices, other compilers."""

from __future__ import annotations

import json

import pytest
import tvm
from breadth import breadth
from small_samples import SMALL
from tvm import relay

import workbench as wb
from workbench.dialects.relay.compiler.kernels import tensors_read
from workbench.errors import MeasureError, UnknownName

SAMPLES = breadth(["branches", "chain", "conv_bias_batch_norm", "mlp", "parallel_cast"], "branches", "parallel_cast")


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


def test_an_unknown_config_key_offers_near_ones(cast):
    with pytest.raises(MeasureError, match=r"relay\.FuseOps\.max_depth"):
        wb.kernels(cast, config={"relay.FuseOps.maxdepth": 1})


ROW = relay.TensorType((4,), "float32")
PAIR = relay.TupleType([ROW, ROW])


def whole(pair):
    """The parts of a tuple one behind the other; relay.concatenate would take it apart first."""
    return relay.op._make.concatenate(pair, 0)


def kernel(body, *types):
    """A function of parameters of these types, as it is in a module."""
    params = [relay.Var(f"p{place}", type) for place, type in enumerate(types)]
    module = tvm.IRModule.from_expr(relay.Function(params, body(*params)))
    return relay.transform.InferType()(module)["main"]


@pytest.mark.parametrize(
    ("body", "types", "read"),
    [
        (lambda p, q: relay.add(p, q), (ROW, ROW), [1, 1]),
        (lambda p: relay.exp(relay.TupleGetItem(p, 1)), (PAIR,), [0, 1]),
        (lambda p: relay.TupleGetItem(p, 0) * relay.TupleGetItem(p, 0), (PAIR,), [1, 0]),
        (lambda p: relay.TupleGetItem(p, 0) * relay.TupleGetItem(p, 1), (PAIR,), [1, 1]),
        (lambda p: whole(p), (PAIR,), [1, 1]),
        (lambda p: whole(p) + relay.concatenate([relay.TupleGetItem(p, 0)] * 2, 0), (PAIR,), [1, 1]),
        (lambda p: p, (PAIR,), [1, 1]),
        (lambda q, p, r: q + relay.TupleGetItem(p, 1) + r, (ROW, PAIR, ROW), [1, 0, 1, 1]),
        (lambda p: whole(relay.TupleGetItem(p, 1)), (relay.TupleType([ROW, PAIR]),), [0, 1, 1]),
        (lambda p, q: relay.TupleGetItem(p, 0) + relay.TupleGetItem(q, 1), (PAIR, PAIR), [1, 0, 0, 1]),
    ],
)
def test_a_kernel_reads_the_fields_it_takes(body, types, read):
    assert tensors_read(kernel(body, *types)) == tuple(map(bool, read))


@pytest.mark.parametrize("opt_level", [0, 3])
def test_fields_of_a_split_are_handed_over_each_to_its_reader(opt_level):
    x = relay.var("x", shape=(3, 8))
    low, middle, high = relay.split(relay.exp(x), 3)
    # one that computes, one that only reshapes and is read by another, one that is read twice
    parts = [relay.sqrt(low), relay.nn.softmax(relay.reshape(middle, (2, 4))), relay.tanh(high) * high]
    workload = wb.load(relay.Function([x], relay.Tuple(parts)))
    built = wb.kernels(workload, opt_level=opt_level)
    counted = wb.count(workload, opt_level=opt_level)
    assert built.answer["counts"]["handover_bytes"] == counted.handover_bytes
    assert built.traffic_bytes == counted.traffic_bytes
    (split,) = (row for row in built.rows if len(row["outputs"]) == 3)
    handed = built.handovers[built.handovers["producer"] == split["index"]]
    # at level 0 the product is a kernel of its own, which reads the last field once more
    assert list(handed["bytes"]) == [32] * (4 if opt_level == 0 else 3)


def test_parallel_cast_has_the_kernels_of_its_description():
    w = wb.samples.load("parallel_cast")
    assert [wb.count(w, opt_level=level).calls for level in range(4)] == [8, 5, 5, 3]
