"""Large constants go to another process as raw numbers, and the module that comes back is the one that went."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.dialects import arrays
from workbench.dialects.registry import dialect as door

SHAPE = (4, arrays.LARGE)
TYPES = ("float32", "float16", "float64", "int8", "int64", "uint8", "bool", "bfloat16", "int4")
SMALL_JSON = 40_000


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

    from workbench.dialects import compat

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


@pytest.mark.parametrize("dtype", TYPES)
def test_a_module_with_large_constants_comes_back(dialect: str, dtype: str, tmp_path: Path) -> None:
    given = wb.load(module_of(dialect, dtype), name="given")
    back = handed_over(given, tmp_path)
    assert door(dialect).same(back.module, given.module)
    assert back.graph().nodes == given.graph().nodes
    assert back.text() == given.text()
    assert given.text() == wb.load(module_of(dialect, dtype), name="given").text()


def handed_over(workload: wb.Workload, folder: Path) -> wb.Workload:
    door(workload.dialect).dump(workload, folder)
    return door(workload.dialect).restore(folder)


def test_no_large_constant_is_in_the_json(dialect: str, tmp_path: Path) -> None:
    given = wb.load(module_of(dialect), name="given")
    handed_over(given, tmp_path)
    assert (tmp_path / "module.json").stat().st_size < SMALL_JSON
    # that of two constants; the one used twice is written once
    assert (tmp_path / "constants" / "params.raw").stat().st_size == 2 * 4 * np.prod(SHAPE)


def test_a_small_constant_stays_in_the_json(dialect: str, tmp_path: Path) -> None:
    given = wb.load(module_of(dialect, "int8", (arrays.LARGE - 1,)), name="given")
    assert door(dialect).same(handed_over(given, tmp_path).module, given.module)
    assert arrays.read(tmp_path / "constants", lambda *read: read) == {}


def test_a_module_comes_back_twice(dialect: str, tmp_path: Path) -> None:
    given = wb.load(module_of(dialect), name="given")
    once = handed_over(given, tmp_path)
    assert door(dialect).same(handed_over(once, tmp_path).module, given.module)


def test_a_constant_used_twice_stays_one(dialect: str, tmp_path: Path) -> None:
    back = handed_over(wb.load(module_of(dialect), name="given"), tmp_path)
    again = tmp_path / "again"
    again.mkdir()
    door(dialect).dump(back, again)
    written = (tmp_path / "constants" / "params.raw").stat().st_size
    assert (again / "constants" / "params.raw").stat().st_size == written


def test_packed_parameters_come_back_or_are_refused(dialect: str, tmp_path: Path) -> None:
    packed = tensor("int4", (4, 4))
    given = wb.Workload(wb.load(module_of(dialect)).module, {"p": packed}, "given", dialect)
    if not hasattr(packed, "data_ptr"):
        with pytest.raises(wb.errors.WorkbenchError, match="p is of type int4"):
            handed_over(given, tmp_path)
    else:
        back = handed_over(given, tmp_path).params["p"]
        assert str(back.dtype) == "int4"
        assert arrays.bytes_of(back).tolist() == arrays.bytes_of(packed).tolist()


@pytest.mark.parametrize("length", [200, 6000])
def test_a_deep_module_with_a_large_constant_comes_back(dialect: str, length: int, tmp_path: Path) -> None:
    given = wb.load(deep(dialect, length), name="deep")
    assert door(dialect).same(handed_over(given, tmp_path).module, given.module)
    # Relay's stays text where rewriting could end the process
    assert ((tmp_path / "constants" / "params.raw").stat().st_size > 0) == (dialect == "relax" or length == 200)


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

    from workbench.dialects import compat

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
