"""Constants and parameters of every type that TVM has go through the whole workbench."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tvm
from tvm import relay

import workbench as wb
from workbench.dialects import arrays
from workbench.dialects.registry import dialect as door

TYPES = (
    *("bool", "uint1", "float16", "bfloat16", "float32", "float64", "e4m3_float8", "e5m2_float8"),
    *("int4", "uint4", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
)


def tensor(dtype: str, shape: tuple[int, ...], values: int = 0b01000001) -> tvm.nd.NDArray:
    """Return a tensor with the same byte everywhere; a truth value has the bytes 0 and 1 only."""
    made = tvm.nd.empty(shape, dtype)
    size = arrays.bytes_of(made).nbytes
    byte = values & 1 if made.dtype == "bool" else values
    arrays.copy_into(made.handle.contents.data, np.full(size, byte, np.uint8))
    return made


def workload(dtype: str, shape: tuple[int, ...], values: int = 0b01000001) -> wb.Workload:
    x = relay.var("x", shape=(2, 3), dtype=dtype)
    held = relay.Constant(tensor(dtype, shape, values))
    return wb.load(tvm.IRModule.from_expr(relay.Function([x], relay.Tuple([relay.equal(x, held), relay.copy(held)]))))


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
    door("relay").frontend.dump(wb.Workload(workload(dtype, ()).module, given, "odd", "relay"), tmp_path)
    for name, back in door("relay").frontend.restore(tmp_path).params.items():
        assert (back.dtype, back.shape) == (given[name].dtype, given[name].shape)
        np.testing.assert_array_equal(arrays.bytes_of(back), arrays.bytes_of(given[name]))


@pytest.mark.parametrize("dtype", ["bool", "float16", "uint64"])
def test_constant_is_measured(dtype: str) -> None:
    row = wb.measure(workload(dtype, (2, 3)), [3], budget=0.02).iloc[0]
    assert row.status == "ok", row.message
