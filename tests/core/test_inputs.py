"""Random inputs: indices stay within what they index."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.analysis.index_limits import index_limits
from workbench.dialects.compiler.inputs import random_values
from workbench.graph.model import GraphBuilder


def test_an_index_below_a_limit_is_never_outside() -> None:
    for below in (1, 2, 3, 100):
        values = random_values("ids", (1000,), "int64", 0, below)
        assert values.min() == 0
        assert values.max() == min(5, below) - 1


def test_other_integers_are_negative_too() -> None:
    assert random_values("x", (1000,), "int32", 0).min() == -4


@pytest.mark.parametrize("dialect", ["relay", "relax"])
def test_indices_are_followed_to_the_inputs_that_they_come_from(dialect: str) -> None:
    prefix = "relax." if dialect == "relax" else ""
    b = GraphBuilder("embeddings", dialect)
    words, kinds = (
        b.node("param", name, type=f"Tensor[({size}, 8), float32]") for name, size in (("words", 100), ("kinds", 2))
    )
    ids, kind, other, x = (
        b.node("param", name, type=f"Tensor[(4), {dtype}]")
        for name, dtype in (("ids", "int64"), ("kind", "int32"), ("other", "int32"), ("x", "float32"))
    )
    moved = b.node(
        "op",
        prefix + "add",
        (ids, b.node("op", prefix + "cast", (kind,), type="Tensor[(4), int64]")),
        type="Tensor[(4), int64]",
    )
    b.node("op", prefix + "take", (words, moved), type="Tensor[(4, 8), float32]", attrs={"axis": 0})
    b.node("op", prefix + "take", (kinds, kind), type="Tensor[(4, 8), float32]", attrs={"axis": 0})
    rounded = b.node("op", prefix + "argmax", (x,), type="Tensor[(1), int64]")
    b.node("op", prefix + "take", (words, rounded), type="Tensor[(1, 8), float32]", attrs={"axis": 0})
    b.node("op", prefix + "add", (other, other), type="Tensor[(4), int32]")
    assert index_limits(b.build()) == {"ids": 100, "kind": 2}


def test_a_table_without_an_axis_counts_with_its_smallest_size() -> None:
    b = GraphBuilder("lookup", "relay")
    table = b.node("param", "table", type="Tensor[(7, 3), float32]")
    place = b.node("param", "place", type="Tensor[(1, 2), int32]")
    b.node("op", "adv_index", (b.node("tuple", "tuple", (table, place)),), type="Tensor[(1), float32]")
    assert index_limits(b.build()) == {"place": 3}
    assert np.all(random_values("place", (50,), "int32", 1, 3) < 3)


def test_indices_of_index_put_are_limited() -> None:
    b = GraphBuilder("put", "relax")
    data, values = (
        b.node("param", name, type=f"Tensor[{shape}, float32]")
        for name, shape in (("data", "(7, 3)"), ("values", "(4)"))
    )
    rows, columns = (b.node("param", name, type="Tensor[(4), int64]") for name in ("rows", "columns"))
    indices = b.node("tuple", "tuple", (rows, columns))
    b.node("op", "relax.index_put", (data, indices, values), type="Tensor[(7, 3), float32]")
    assert index_limits(b.build()) == {"rows": 3, "columns": 3}
