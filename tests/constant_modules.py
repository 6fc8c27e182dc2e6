"""Modules with large constants, in each dialect."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.dialects import arrays

SHAPE = (4, arrays.LARGE)


def module_of(dialect: str, dtype: str = "float32", shape: tuple[int, ...] = SHAPE) -> Any:
    """One constant used twice, one with the same values, and a small one."""
    return (_relay if dialect == "relay" else _relax)(dtype, shape)


def tensor(dtype: str, shape: tuple[int, ...]) -> Any:
    import tvm

    values = np.random.default_rng(0).integers(0, 2, shape)
    if dtype in ("bfloat16", "int4"):
        return tvm.nd.empty(shape, dtype) if hasattr(tvm, "nd") else tvm.runtime.empty(shape, dtype)
    return (tvm.nd.array if hasattr(tvm, "nd") else tvm.runtime.tensor)(values.astype(dtype))


def _relay(dtype: str, shape: tuple[int, ...]) -> Any:
    import tvm
    from tvm import relay

    twice, equal = relay.Constant(tensor(dtype, shape)), relay.Constant(tensor(dtype, shape))
    x = relay.var("0", shape=shape, dtype=dtype)
    inner = relay.var("y", shape=shape, dtype=dtype)
    kernel = relay.Function([inner], relay.where(small := relay.const(True), inner, twice))
    pair = relay.Tuple([relay.where(small, x, twice), relay.where(small, kernel(x), equal), relay.const([1, 2])])
    module = tvm.IRModule.from_expr(relay.Function([x], pair))
    module["other"] = relay.Function([x], twice)
    return module


def _relax(dtype: str, shape: tuple[int, ...]) -> Any:
    from tvm import relax

    from workbench.dialects.relax import compat

    twice, equal = relax.const(tensor(dtype, shape)), relax.const(tensor(dtype, shape))
    kind = compat.tensor_type(shape, dtype)
    builder = relax.BlockBuilder()
    x, y = relax.Var("x", kind), relax.Var("y", kind)
    with builder.function("main", [x]):
        with builder.dataflow():
            out = builder.emit_output(relax.Tuple([relax.op.concat([x, twice]), equal, twice, relax.const([1, 2])]))
        builder.emit_func_output(out)
    with builder.function("other", [y]):
        builder.emit_func_output(builder.emit(relax.op.concat([y, twice])))
    return builder.get()


def deep(dialect: str, length: int) -> Any:
    import tvm

    shape = (arrays.LARGE,)
    if dialect == "relay":
        from tvm import relay

        value = x = relay.var("x", shape=shape, dtype="int8")
        constant = relay.Constant(tensor("int8", shape))
        for _ in range(length):
            value = relay.add(value, constant)
        return tvm.IRModule.from_expr(relay.Function([x], value))
    from tvm import relax

    from workbench.dialects.relax import compat

    value, constant, builder = (
        relax.Var("x", compat.tensor_type(shape, "int8")),
        relax.const(tensor("int8", shape)),
        relax.BlockBuilder(),
    )
    with builder.function("main", [value]):
        for _ in range(length):
            value = builder.emit(relax.op.add(value, constant))
        builder.emit_func_output(value)
    return builder.get()
