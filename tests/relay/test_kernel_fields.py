"""What a kernel reads of a tuple: the fields that it takes, not all that the executor hands it."""

from __future__ import annotations

import pytest
import tvm
from tvm import relay

import workbench as wb
from workbench.dialects.relay.compiler.kernels import tensors_read

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
