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


# -- values of every type that TVM has, each byte of them the same

_PACKED = "uint1", "int4", "uint4"
_PLAIN = "float16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"
BUILT = {
    "relay": ("bool", *_PLAIN),
    "relax": ("bfloat16", *_PLAIN, "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"),
}
"""TVM with Relay makes no code of the others. TVM with Relax makes none that compares truth values or the last two types below; its
code for the packed ones reads past their end."""
DTYPES = {
    "relay": (*BUILT["relay"], *_PACKED, "bfloat16", "e4m3_float8", "e5m2_float8"),
    "relax": ("bool", *_PACKED, *BUILT["relax"], "float6_e2m3fn", "float4_e2m1fn"),
}


def has_addresses(dialect: str) -> bool:
    import tvm

    return dialect == "relay" or hasattr(tvm.runtime.Tensor, "data_ptr")


def filled(dtype: str, shape: tuple[int, ...], byte: int) -> Any:
    """Return a tensor with the same byte everywhere; a truth value has the bytes 0 and 1 only."""
    import tvm

    made = tvm.nd.empty(shape, dtype) if hasattr(tvm, "nd") else tvm.runtime.empty(shape, dtype)
    place = made.handle.contents.data if hasattr(tvm, "nd") else made.data_ptr()
    value = byte & 1 if dtype == "bool" else byte
    arrays.copy_into(place, np.full(arrays.bytes_of(made).nbytes, value, np.uint8))
    return made


def holding(dialect: str, dtype: str, shape: tuple[int, ...], byte: int) -> Any:
    """Return a module that compares its input with a constant, and returns the constant too."""
    held = filled(dtype, shape, byte)
    if dialect == "relay":
        import tvm
        from tvm import relay

        x, constant = relay.var("x", shape=(2, 3), dtype=dtype), relay.Constant(held)
        pair = relay.Tuple([relay.equal(x, constant), relay.copy(constant)])
        return tvm.IRModule.from_expr(relay.Function([x], pair))
    from tvm import relax

    from workbench.dialects.relax import compat

    builder, x, constant = relax.BlockBuilder(), relax.Var("x", compat.tensor_type((2, 3), dtype)), relax.const(held)
    with builder.function("main", [x]):
        with builder.dataflow():
            parts = [builder.emit(relax.op.equal(x, constant)), builder.emit(relax.op.reshape(constant, (-1,)))]
            made = builder.emit_output(relax.Tuple(parts))
        builder.emit_func_output(made)
    return builder.get()
