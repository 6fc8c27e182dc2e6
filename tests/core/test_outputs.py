"""Outputs of two programs compared: a NaN equals a NaN, floats are nearly equal, integers equal."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.pipeline.outputs import difference


def test_a_nan_is_the_same_as_a_nan_and_as_nothing_else() -> None:
    a, b = np.array([np.nan, 1.0], "float32"), np.array([2.0, 1.0], "float32")
    assert difference([a], [a]).same
    assert not difference([a], [b]).same


def test_floats_must_be_nearly_equal() -> None:
    near = np.float32(1 + 1e-6)
    assert difference([np.ones(2, "float32")], [np.array([1, near], "float32")]).same


@pytest.mark.parametrize(
    ("dtype", "first", "second", "gap"),
    [
        ("bool", False, True, 1),
        ("int8", -128, 127, 255),
        ("int32", 1000, 1001, 1),
        ("int64", 2**53, 2**53 + 1, 1),
        ("int64", -(2**63), 2**63 - 1, 2**64 - 1),
        ("uint64", 2**64 - 1, 2**64 - 2, 1),
    ],
)
def test_integers_must_be_equal(dtype: str, first: int, second: int, gap: int) -> None:
    a, b = np.array([7, first], dtype), np.array([7, second], dtype)
    found = difference([a], [b])
    assert (found.same, found.max_absolute, found.differing) == (False, float(gap), 1)
    assert difference([b], [b]).same
    assert difference([np.empty(0, dtype)], [np.empty(0, dtype)]).same
