"""Constants and parameters of every type that TVM has go through the whole workbench."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tvm
from breadth import breadth
from tvm import relax

import workbench as wb
from workbench.dialects import arrays
from workbench.dialects.registry import dialect as door
from workbench.dialects.relax import compat

BUILT = (
    *("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"),
    *("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
)
TYPES = ("bool", "uint1", "int4", "uint4", *BUILT, "float6_e2m3fn", "float4_e2m1fn")
"TVM makes no code that compares truth values or the last two types; its code for the packed ones reads past their end"
pytestmark = pytest.mark.skipif(
    not hasattr(tvm.runtime.Tensor, "data_ptr"), reason="this TVM does not give a tensor's address"
)


def tensor(dtype: str, shape: tuple[int, ...], values: int = 0b00010001) -> tvm.runtime.Tensor:
    """Return a tensor with the same byte everywhere; a truth value has the bytes 0 and 1 only."""
    made = tvm.runtime.empty(shape, dtype)
    size = arrays.bytes_of(made).nbytes
    arrays.copy_into(made.data_ptr(), np.full(size, values & 1 if dtype == "bool" else values, np.uint8))
    return made


def workload(dtype: str, shape: tuple[int, ...], values: int = 0b00010001) -> wb.Workload:
    builder = relax.BlockBuilder()
    x = relax.Var("x", compat.tensor_type((2, 3), dtype))
    held = relax.const(tensor(dtype, shape, values))
    with builder.function("main", [x]):
        with builder.dataflow():
            parts = [builder.emit(relax.op.equal(x, held)), builder.emit(relax.op.reshape(held, (-1,)))]
            made = builder.emit_output(relax.Tuple(parts))
        builder.emit_func_output(made)
    return wb.load(builder.get())


@pytest.mark.parametrize("shape", [(2, 3), ()])
@pytest.mark.parametrize("dtype", TYPES)
def test_constant_of_every_type(dtype: str, shape: tuple[int, ...]) -> None:
    given = workload(dtype, shape)
    graph = given.graph
    assert wb.Graph.from_json(graph.to_json()) == graph
    assert wb.diff(graph, workload(dtype, shape).graph).empty
    assert not wb.diff(graph, workload(dtype, shape, 0).graph).empty
    assert len(wb.trace(given, "FuseOps").steps) == 1
    assert wb.count(given).calls >= 1


@pytest.mark.parametrize("dtype", TYPES)
def test_parameter_of_every_type_comes_back(dtype: str, tmp_path: Path) -> None:
    given = {f"p{len(shape)}": tensor(dtype, shape) for shape in [(), (5,), (0, 2)]}
    door("relax").frontend.dump(wb.Workload(workload(dtype, ()).module, given, "odd", "relax"), tmp_path)
    for name, back in door("relax").frontend.restore(tmp_path).params.items():
        assert (back.dtype, back.shape) == (given[name].dtype, given[name].shape)
        np.testing.assert_array_equal(arrays.bytes_of(back), arrays.bytes_of(given[name]))


@pytest.mark.parametrize("dtype", breadth(BUILT, *list(BUILT)[::4]))
def test_constant_is_measured(dtype: str) -> None:
    row = wb.measure(workload(dtype, (2, 3)), [0], budget=0.02).iloc[0]
    assert row.status == "ok", row.message
