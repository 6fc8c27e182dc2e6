"""Large constants go to another process as raw numbers, and the module that comes back is the one that went."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from constant_modules import SHAPE, deep, module_of, tensor
from dialect_facts import Facts

import workbench as wb
from workbench.dialects import arrays
from workbench.dialects.base import SAFE_DEPTH
from workbench.dialects.registry import dialect as door

TYPES = ("float32", "float16", "float64", "int8", "int64", "uint8", "bool", "bfloat16", "int4")
SMALL_JSON = 40_000


@pytest.mark.parametrize("dtype", TYPES)
def test_a_module_with_large_constants_comes_back(dialect: str, dtype: str, tmp_path: Path) -> None:
    given = wb.load(module_of(dialect, dtype), name="given")
    back = handed_over(given, tmp_path)
    assert door(dialect).frontend.same(back.module, given.module)
    assert back.graph.nodes == given.graph.nodes
    assert back.text() == given.text()
    assert given.text() == wb.load(module_of(dialect, dtype), name="given").text()


def handed_over(workload: wb.Workload, folder: Path) -> wb.Workload:
    door(workload.dialect).frontend.dump(workload, folder)
    return door(workload.dialect).frontend.restore(folder)


def test_no_large_constant_is_in_the_json(dialect: str, tmp_path: Path) -> None:
    given = wb.load(module_of(dialect), name="given")
    handed_over(given, tmp_path)
    assert (tmp_path / "module.json").stat().st_size < SMALL_JSON
    # that of two constants; the one used twice is written once
    assert (tmp_path / "constants" / "params.raw").stat().st_size == 2 * 4 * np.prod(SHAPE)


def test_a_small_constant_stays_in_the_json(dialect: str, tmp_path: Path) -> None:
    given = wb.load(module_of(dialect, "int8", (arrays.LARGE - 1,)), name="given")
    assert door(dialect).frontend.same(handed_over(given, tmp_path).module, given.module)
    assert arrays.read(tmp_path / "constants", lambda *read: read) == {}


def test_a_module_comes_back_twice(dialect: str, tmp_path: Path) -> None:
    given = wb.load(module_of(dialect), name="given")
    once = handed_over(given, tmp_path)
    assert door(dialect).frontend.same(handed_over(once, tmp_path).module, given.module)


def test_a_constant_used_twice_stays_one(dialect: str, tmp_path: Path) -> None:
    back = handed_over(wb.load(module_of(dialect), name="given"), tmp_path)
    again = tmp_path / "again"
    again.mkdir()
    door(dialect).frontend.dump(back, again)
    written = (tmp_path / "constants" / "params.raw").stat().st_size
    assert (again / "constants" / "params.raw").stat().st_size == written


def test_packed_parameters_come_back(dialect: str, tmp_path: Path) -> None:
    packed = tensor("int4", (4, 4))
    given = wb.Workload(wb.load(module_of(dialect)).module, {"p": packed}, "given", dialect)
    back = handed_over(given, tmp_path).params["p"]
    assert str(back.dtype) == "int4"
    assert arrays.bytes_of(back).tolist() == arrays.bytes_of(packed).tolist()


@pytest.mark.parametrize("length", [200, SAFE_DEPTH + 1])
def test_a_deep_module_with_a_large_constant_comes_back(
    dialect: str, facts: Facts, length: int, tmp_path: Path
) -> None:
    given = wb.load(deep(dialect, length), name="deep")
    assert door(dialect).frontend.same(handed_over(given, tmp_path).module, given.module)
    written = (tmp_path / "constants" / "params.raw").stat().st_size
    assert (written > 0) == (length < SAFE_DEPTH or facts.deep_constants)
