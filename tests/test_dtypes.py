"""Constants and parameters of every type that TVM has go through the whole workbench."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from breadth import breadth
from constant_modules import BUILT, DTYPES, filled, has_addresses, holding
from dialect_facts import installed_dialect

import workbench as wb
from workbench.dialects import arrays
from workbench.dialects.registry import dialect as door

BYTE = 0b00010001
TYPES, MEASURED = (types.get(installed_dialect(), ()) for types in (DTYPES, BUILT))


@pytest.fixture(autouse=True)
def _addresses(dialect: str) -> None:
    if not has_addresses(dialect):
        pytest.skip("this TVM does not give a tensor's address")


@pytest.mark.parametrize("shape", [(2, 3), ()])
@pytest.mark.parametrize("dtype", TYPES)
def test_constant_of_every_type(dialect: str, dtype: str, shape: tuple[int, ...]) -> None:
    given = wb.load(holding(dialect, dtype, shape, BYTE))
    graph = given.graph
    assert wb.Graph.from_json(graph.to_json()) == graph
    assert wb.diff(graph, wb.load(holding(dialect, dtype, shape, BYTE)).graph).empty
    assert not wb.diff(graph, wb.load(holding(dialect, dtype, shape, 0)).graph).empty
    assert len(wb.trace(given, "FuseOps").steps) == 1
    assert wb.count(given).calls >= 1


@pytest.mark.parametrize("dtype", TYPES)
def test_parameter_of_every_type_comes_back(dialect: str, dtype: str, tmp_path: Path) -> None:
    given = {f"p{len(shape)}": filled(dtype, shape, BYTE) for shape in [(), (5,), (0, 2)]}
    door(dialect).frontend.dump(wb.Workload(holding(dialect, dtype, (), BYTE), given, "odd", dialect), tmp_path)
    for name, back in door(dialect).frontend.restore(tmp_path).params.items():
        assert (back.dtype, back.shape) == (given[name].dtype, given[name].shape)
        np.testing.assert_array_equal(arrays.bytes_of(back), arrays.bytes_of(given[name]))


@pytest.mark.parametrize("dtype", breadth(MEASURED, *MEASURED[::4]))
def test_constant_is_measured(dialect: str, dtype: str) -> None:
    row = wb.measure(wb.load(holding(dialect, dtype, (2, 3), BYTE)), [0], budget=0.02).iloc[0]
    assert row.status == "ok", row.message
