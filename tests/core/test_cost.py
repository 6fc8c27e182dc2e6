"""Operations of operators, against numbers done by hand."""

from __future__ import annotations

import pytest

from workbench.analysis import cost
from workbench.analysis.units import linked, units
from workbench.graph.model import Graph, GraphBuilder


def relay(*shape: int) -> str:
    return f"Tensor[({', '.join(map(str, shape))}), float32]"


def relax(*shape: int) -> str:
    return f'R.Tensor(({", ".join(map(str, shape))}), dtype="float32")'


def one(op: str, inputs: list[str], output: str, **attrs: object) -> Graph:
    b = GraphBuilder("one", "relay")
    sources = [b.node("param", f"p{i}", type=type) for i, type in enumerate(inputs)]
    b.outputs = [b.node("op", op, sources, type=output, attrs=attrs)]
    return b.build()


def flops(op: str, inputs: list[str], output: str, **attrs: object) -> int | None:
    graph = one(op, inputs, output, **attrs)
    return cost.flops(graph, [graph.outputs[0]])


@pytest.mark.parametrize(
    ("op", "inputs", "output", "attrs", "expected"),
    [
        ("add", [relay(4, 8), relay(8)], relay(4, 8), {}, 32),
        ("reshape", [relay(4, 8)], relay(32), {}, 0),
        ("sum", [relay(4, 8)], relay(4), {}, 32),
        ("mean", [relay(4, 8)], relay(4), {}, 36),
        ("nn.softmax", [relay(4, 8)], relay(4, 8), {}, 160),
        ("nn.dense", [relay(4, 8), relay(16, 8)], relay(4, 16), {}, 2 * 4 * 16 * 8),
        ("nn.contrib_dense_pack", [relay(4, 8), relay(2, 8, 8)], relay(4, 16), {}, 2 * 4 * 16 * 8),
        ("nn.batch_matmul", [relay(2, 8, 4), relay(2, 5, 8)], relay(2, 4, 5), {"transpose_a": True}, 2 * 40 * 8),
        ("nn.conv2d", [relay(1, 8, 5, 5), relay(16, 8, 3, 3)], relay(1, 16, 3, 3), {"strides": 1}, 2 * 144 * 72),
        # two groups: each result looks at half of the channels
        (
            "nn.conv2d",
            [relay(1, 8, 5, 5), relay(16, 4, 3, 3)],
            relay(1, 16, 3, 3),
            {"groups": 2, "strides": 1},
            2 * 144 * 36,
        ),
        (
            "nn.contrib_conv2d_NCHWc",
            [relay(1, 2, 5, 5, 4), relay(2, 2, 3, 3, 4, 8)],
            relay(1, 2, 3, 3, 8),
            {"data_layout": "NCHW4c", "kernel_layout": "OIHW4i8o", "strides": 1},
            2 * 144 * 72,
        ),
        ("nn.max_pool2d", [relay(1, 8, 4, 4)], relay(1, 8, 2, 2), {"pool_size": [2, 2]}, 32 * 4),
        ("matmul12", [relax(4, 8), relax(8, 16)], relax(4, 16), {}, 2 * 64 * 8),
        ("conv2d1", [relax(1, 8, 5, 5), relax(16, 8, 3, 3)], relax(1, 16, 3, 3), {}, 2 * 144 * 72),
        ("tir_exp", [relax(4)], relax(4), {}, 4),
    ],
)
def test_by_hand(op: str, inputs: list[str], output: str, attrs: dict[str, object], expected: int) -> None:
    assert flops(op, inputs, output, **attrs) == expected


@pytest.mark.parametrize(
    ("op", "inputs", "output"),
    [
        ("argsort", [relay(4, 8)], relay(4, 8)),
        (
            "nn.contrib_conv2d_winograd_without_weight_transform",
            [relay(1, 8, 5, 5), relay(6, 6, 8, 8)],
            relay(1, 8, 5, 5),
        ),
        ("nosuch", [relay(4)], relay(4)),
        ("add", ["Tensor[(?, 8), float32]", relay(8)], "Tensor[(?, 8), float32]"),
        ("nn.max_pool2d", [relay(1, 8, 4, 4)], relay(1, 8, 2, 2)),
        # channels last, which nothing says: the weight does not fit the layout that is the default
        ("conv2d", [relax(1, 5, 5, 8), relax(3, 3, 8, 16)], relax(1, 3, 3, 16)),
    ],
)
def test_what_is_not_known_is_none_and_makes_the_sum_none(op: str, inputs: list[str], output: str) -> None:
    graph = one(op, inputs, output)
    assert cost.flops(graph, range(len(graph.nodes))) is None


def kernels() -> Graph:
    b = GraphBuilder("k", "relay")
    x = b.node("param", "x", type=relay(4))
    fused = b.group("primitive", "fused", None)
    a = b.node("op", "add", [x, x], type=relay(4), group=fused)
    r = b.node("op", "nn.relu", [a], type=relay(4), group=fused)
    b.returns(fused, r)
    s = b.node("op", "sum", [r], type=relay())
    dead = b.node("op", "reshape", [x], type=relay(2, 2))
    b.outputs = [b.node("op", "sqrt", [s], type=relay()), dead]
    return b.build()


def test_units_stand_in_the_order_of_their_calls() -> None:
    graph = kernels()
    assert [unit.name(graph) for unit in units(graph)] == ["fused", "sum", "reshape", "sqrt"]
    assert units(graph)[0].nodes == (1, 2)
    assert units(graph)[0].op(graph) == "nn.relu"


def test_a_unit_that_no_call_fits_is_passed_over_and_a_call_that_fits_none_has_none() -> None:
    graph = kernels()
    rows = [{"outputs": [text]} for text in ("(4,) float32", "() float32", "() float32", "(9,) float32")]
    found = linked(graph, rows)
    assert [unit and unit.name(graph) for unit in found] == ["fused", "sum", "sqrt", None]
