"""Parameters go to another process as raw numbers, and come out as they went in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench.dialects import arrays
from workbench.dialects.registry import dialect as door

TYPES = ("float32", "float64", "float16", "int8", "int32", "int64", "uint8", "bool")


@pytest.mark.parametrize("dtype", TYPES)
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
