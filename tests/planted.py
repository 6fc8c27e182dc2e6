"""Known faults of TVM 0.17, each planted in the middle of a model of many operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import tvm
from tvm import relay

import workbench as wb
from workbench.samples._relay import RelayBuilder

SIDE = 16
"rows and columns of every value between two blocks"
BLOCK = 5
"operators of a block"


@dataclass(frozen=True)
class Fault:
    """A fault of one pass, the program that shows it, and a configuration under which the compiler runs the pass."""

    program: Callable[[RelayBuilder, relay.Expr], relay.Expr]
    "from a matrix of SIDE by SIDE to another"
    guilty: str
    "the pass"
    config: Callable[[], object] = lambda: 4
    "makes it: a Pass object is of one process"


def planted(name: str, operators: int = 300) -> wb.Workload:
    """Return a model of about this many operators with the fault of that name in its middle."""
    fault = {**MISCOMPILES, **CRASHES}[name]
    builder = RelayBuilder()
    x = builder.input("x", (SIDE, SIDE))
    value: relay.Expr = x
    blocks = max(2, operators // BLOCK)
    for place in range(blocks):
        value = _block(builder, value, place)
        if place == blocks // 2:
            value = relay.add(value, fault.program(builder, value))
    return _loaded(builder, value, name)


def alone(name: str) -> wb.Workload:
    """Return the program of a fault without a model around it."""
    builder = RelayBuilder()
    fault = {**MISCOMPILES, **CRASHES}[name]
    return _loaded(builder, fault.program(builder, builder.input("x", (SIDE, SIDE))), name)


def _loaded(builder: RelayBuilder, value: relay.Expr, name: str) -> wb.Workload:
    # weights are inputs: TVM would compile a kernel for each weight to fold it, a second each
    module, _ = builder.finish(value)
    return wb.load(module, name=name)


def _block(builder: RelayBuilder, x: relay.Expr, place: int) -> relay.Expr:
    """Return a layer that keeps the size of its values, so that a difference in its input reaches its output."""
    inner = builder.dense(x, f"block{place}", SIDE, SIDE)
    scaled = relay.multiply(relay.nn.relu(inner), relay.const(0.01))
    return (relay.subtract if place % 2 else relay.add)(x, scaled)


def _signs(_: RelayBuilder, x: relay.Expr) -> relay.Expr:
    small = relay.cast(relay.multiply(x, relay.const(4.0)), "int8")
    # SimplifyExpr takes casts in pairs from the last one, so another cast must not follow
    wide = relay.add(relay.cast(relay.cast(small, "uint8"), "int32"), relay.const(1))
    return relay.multiply(relay.cast(wide, "float32"), relay.const(1 / 4))


def _rounding(_: RelayBuilder, x: relay.Expr) -> relay.Expr:
    clipped = relay.clip(relay.multiply(x, relay.const(2.0)), -128, 127)
    return relay.multiply(relay.cast(relay.cast(clipped, "int8"), "float32"), relay.const(0.5))


def _scalars(builder: RelayBuilder, x: relay.Expr) -> relay.Expr:
    branches = [relay.add(each, relay.const(float(place))) for place, each in _products(builder, x, units=3)]
    joined = relay.concatenate(branches, axis=-1)
    return relay.nn.dense(joined, builder.weight("join", SIDE, 9, scale=0.5))


def _third_rank(builder: RelayBuilder, x: relay.Expr) -> relay.Expr:
    added = [
        relay.add(each, builder.weight(f"added{place}", 3, SIDE, SIDE, scale=1.0))
        for place, each in _products(builder, x, SIDE)
    ]
    # a sum of the three would be right: each product is added to another branch, and none is lost
    return relay.sum(relay.add(relay.subtract(added[0], added[1]), added[2]), axis=0)


def _vectors(builder: RelayBuilder, x: relay.Expr) -> relay.Expr:
    columns = SIDE * SIDE // 2
    rows = relay.reshape(x, (2, columns))
    added = [relay.add(rows, builder.weight(f"added{place}", columns, scale=1.0)) for place in range(2)]
    return relay.reshape(relay.multiply(relay.nn.relu(added[0]), added[1]), (SIDE, SIDE))


def _siblings(builder: RelayBuilder, x: relay.Expr) -> relay.Expr:
    first = relay.nn.dense(x, builder.weight("first", SIDE, SIDE))
    second = relay.nn.dense(x, builder.weight("second", SIDE, SIDE))
    third = relay.nn.dense(x, relay.negative(relay.nn.relu(first)))
    return relay.add(relay.add(first, second), third)


def _scaled_products(builder: RelayBuilder, x: relay.Expr) -> relay.Expr:
    batch = relay.reshape(x, (4, 4, SIDE))
    products = [
        relay.multiply(relay.nn.batch_matmul(batch, builder.weight(f"right{place}", 4, SIDE, SIDE)), relay.const(0.5))
        for place in range(3)
    ]
    return relay.reshape(relay.add(relay.add(*products[:2]), products[2]), (SIDE, SIDE))


def _biased(builder: RelayBuilder, x: relay.Expr) -> relay.Expr:
    branches = [
        relay.nn.bias_add(each, builder.weight(f"bias{place}", SIDE)) for place, each in _products(builder, x, SIDE)
    ]
    return relay.add(relay.add(*branches[:2]), branches[2])


def _products(builder: RelayBuilder, x: relay.Expr, units: int) -> Iterator[tuple[int, relay.Expr]]:
    for place in range(3):
        yield place, relay.nn.dense(x, builder.weight(f"branch{place}", units, SIDE, scale=0.2))


def op_batch() -> tvm.transform.Pass:
    """Return CombineParallelOpBatch for two additions: TVM has no constructor of it, and the build does not run it."""
    return tvm.get_global_func("relay._transform.CombineParallelOpBatch")("add", "add", 2)


OP_BATCH = "CombineParallelOpBatch"
MISCOMPILES = {
    "a cast from int8 to uint8 to int32": Fault(_signs, "SimplifyExpr", lambda: 3),
    "a float clipped and cast to int8": Fault(_rounding, "SimplifyExpr", lambda: 3),
    "a scalar per branch": Fault(_scalars, "CombineParallelDense"),
    "an addend of rank 3": Fault(_third_rank, "CombineParallelDense"),
    "a vector per branch": Fault(_vectors, OP_BATCH, lambda: {"pipeline": wb.Pipeline([op_batch()]), "opt_level": 4}),
}
CRASHES = {
    "a branch that needs the result of another": Fault(_siblings, "CombineParallelDense"),
    "a scalar after each batch_matmul": Fault(_scaled_products, "CombineParallelBatchMatmul"),
    "a bias_add after each dense": Fault(_biased, "CombineParallelDense"),
}
"the first ends the process, the others raise"
