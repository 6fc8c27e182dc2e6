"""Parts of `wb.kernel_errors` that need no TVM: layouts, scales, moves, the nodes of a call."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.analysis.units import linked
from workbench.debugging.kernel_errors.forms import Scale, layouts, moved, moves, relaid, scales
from workbench.graph.model import GraphBuilder


@given(
    st.tuples(*[st.integers(1, 3)] * 4),
    st.sampled_from(["NCHW", "NHWC", "NCHW4c", "NCHW2c", "HWNC4n", "NHWC2c"]),
    st.sampled_from(["NCHW", "NHWC", "CHWN", "NCHW4c"]),
)
def test_layouts_are_undone_by_the_layout_before(extents: tuple[int, ...], middle: str, last: str) -> None:
    n, c, h, w = (4 * extent for extent in extents)
    image = np.arange(n * c * h * w).reshape(n, c, h, w)
    there = relaid(image, "NCHW", middle)
    assert there is not None
    beyond = relaid(there, middle, last)
    assert beyond is not None
    back = relaid(beyond, last, "NCHW")
    assert back is not None
    np.testing.assert_array_equal(back, image)


def test_elementwise_operator_keeps_the_layout() -> None:
    b = GraphBuilder("one", "relay")
    packed = "Tensor[(1, 2, 4, 4, 8), float32]"
    x = b.node("param", "x", type="Tensor[(1, 16, 4, 4), float32]")
    y = b.node("op", "layout_transform", (x,), attrs={"dst_layout": "NCHW8c"}, type=packed)
    z = b.node("op", "nn.relu", (y,), pattern=0, type=packed)
    b.outputs.append(b.node("op", "sum", (z,), pattern=3, type="float32"))
    assert layouts(b.build()) == {y: "NCHW8c", z: "NCHW8c"}


def test_packed_layout_is_that_of_tvm() -> None:
    image = np.arange(2 * 8 * 3 * 3).reshape(2, 8, 3, 3)
    packed = relaid(image, "NCHW", "NCHW4c")
    assert packed is not None
    # layout_transform: out[n, co, h, w, ci] = in[n, 4 * co + ci, h, w]
    assert packed[1, 1, 2, 0, 3] == image[1, 7, 2, 0]


@pytest.mark.parametrize(
    ("before", "after"), [("NCHW", "NCHW3c"), ("NCHW", "NCW"), ("NCHW", "NCHW2c2c"), ("NCH", "NCHW"), ("OIHW", "NCHW")]
)
def test_layouts_that_do_not_fit_are_refused(before: str, after: str) -> None:
    assert relaid(np.zeros((1, 8, 2, 2)), before, after) is None


def test_kernel_that_returns_a_scalar_has_its_nodes() -> None:
    b = GraphBuilder("sums", "relay")
    x = b.node("param", "x", type="Tensor[(8), float32]")
    y = b.node("op", "sum", (x,), type="float32")
    b.outputs.append(b.node("op", "exp", (y,), type="float32"))
    units = linked(b.build(), [{"outputs": ["() float32"]}, {"outputs": ["() float32"]}])
    assert [unit and unit.output for unit in units] == [1, 2]


def test_scales_of_quantised_values() -> None:
    b = GraphBuilder("int8", "relay")
    x = b.node("param", "x", type="Tensor[(1, 4, 2, 2), float32]")
    half, three = b.node("constant", "0.5f"), b.node("constant", "3")
    q = b.node("op", "qnn.quantize", (x, half, three), type="Tensor[(1, 4, 2, 2), int8]")
    relu = b.node("op", "nn.relu", (q,), type="Tensor[(1, 4, 2, 2), int8]")
    product = b.node("op", "qnn.dense", (q, q, three, three, half, half), type="Tensor[(1, 4), int32]")
    floats = b.node("op", "nn.relu", (x,), type="Tensor[(1, 4, 2, 2), float32]")
    found = scales(b.build())
    assert found == {q: Scale(0.5, 3), relu: Scale(0.5, 3), product: Scale(0.25, 0)}
    assert floats not in found
    assert list(found[q].real(np.array([3, 5], "int8"))) == [0.0, 1.0]


def test_padding_is_repeated_with_its_filler() -> None:
    b = GraphBuilder("padded", "relay")
    x = b.node("param", "x", type="Tensor[(2, 2), uint8]")
    filler = b.node("constant", "7")
    wide = {"pad_width": [[0, 0], [1, 0]]}
    pad = b.node("op", "nn.pad", (x, filler), attrs=wide, type="Tensor[(2, 3), uint8]")
    edge = b.node("op", "nn.pad", (x, filler), attrs={**wide, "pad_mode": "edge"}, type="Tensor[(2, 3), uint8]")
    graph = b.build()
    assert moves(graph, pad)
    assert not moves(graph, x)
    found = moved(graph, pad, np.array([[1, 2], [3, 4]], "uint8"))
    assert found is not None
    assert found.tolist() == [[7, 1, 2], [7, 3, 4]]
    assert moved(graph, edge, np.zeros((2, 2), "uint8")) is None
