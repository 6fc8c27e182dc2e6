"""Parameters and large constants go to another process as raw numbers, and come back as they went."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from constant_modules import SHAPE, deep, module_of, tensor

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
def test_a_deep_module_with_a_large_constant_comes_back(dialect: str, length: int, tmp_path: Path) -> None:
    given = wb.load(deep(dialect, length), name="deep")
    assert door(dialect).frontend.same(handed_over(given, tmp_path).module, given.module)
    assert (tmp_path / "constants" / "params.raw").stat().st_size


DTYPES = ("float32", "float64", "float16", "int8", "int32", "int64", "uint8", "bool")


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_and_shape_comes_back(dialect: str, dtype: str, tmp_path: Path) -> None:
    given = wb.samples.load("mlp", layers=1, width=4)
    shapes = [(), (1,), (3, 5), (2, 3, 4), (0,)]
    values = {
        f"p{place}": (np.arange(np.prod(shape)) % 2).reshape(shape).astype(dtype) for place, shape in enumerate(shapes)
    }
    door(dialect).frontend.dump(wb.Workload(given.module, values, "other", dialect), tmp_path)
    back = door(dialect).frontend.restore(tmp_path).params
    assert list(back) == list(values)
    for name, value in values.items():
        assert str(back[name].dtype) == dtype
        np.testing.assert_array_equal(back[name].numpy(), value)


def test_a_tensor_of_tvm_is_written_from_where_it_lies(dialect: str, tmp_path: Path) -> None:
    given = wb.samples.load("mlp", layers=1, width=4)
    door(dialect).frontend.dump(given, tmp_path)
    back = door(dialect).frontend.restore(tmp_path).params
    # and once more, from tensors that `restore` made
    arrays.write(tmp_path, back)
    again = door(dialect).frontend.restore(tmp_path).params
    assert list(again) == list(given.params)
    for name, value in given.params.items():
        np.testing.assert_array_equal(again[name].numpy(), value.numpy())


def test_what_is_read_is_a_view_of_the_file(tmp_path: Path) -> None:
    arrays.write(tmp_path, {"a": np.arange(5, dtype="int8"), "b": np.ones((2, 2), "float32")})
    found = arrays.read(tmp_path, lambda numbers, shape, dtype: (numbers, shape, dtype))
    for numbers, _, _ in found.values():
        assert isinstance(numbers.base, np.memmap)
        assert not numbers.flags.writeable
    assert found["b"][1:] == ([2, 2], "float32")
    np.testing.assert_array_equal(found["b"][0].view("float32"), [1, 1, 1, 1])
    assert found["b"][0].ctypes.data % arrays.ALIGNED == 0


def test_no_parameters_are_an_empty_file(tmp_path: Path) -> None:
    arrays.write(tmp_path, {})
    assert arrays.read(tmp_path, lambda *given: given) == {}
