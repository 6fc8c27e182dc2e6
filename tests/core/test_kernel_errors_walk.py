"""`wb.kernel_errors` without TVM: the walk over two runs, with kernels in numpy, and its parts: layouts, scales, moves, the nodes of a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.analysis.units import linked
from workbench.debugging.kernel_errors.counterparts import Calls, Path, Tensors
from workbench.debugging.kernel_errors.forms import Scale, layouts, moved, moves, relaid, scales
from workbench.debugging.kernel_errors.own_errors import CallErrors, RightValues, Walk
from workbench.dialects.compiler.running import RanCall
from workbench.graph.model import GraphBuilder

Kernel = Callable[[np.ndarray], np.ndarray]
INPUT = np.linspace(-1, 1, 8, dtype="float32")


class Tensor:
    """A tensor with the methods of TVM's."""

    def __init__(self, shape: tuple[int, ...], dtype: str, device: object = None) -> None:
        self.array = np.zeros(shape, dtype)
        self.shape, self.dtype, self.device = shape, dtype, device

    def numpy(self) -> np.ndarray:
        return self.array

    def copyfrom(self, array: np.ndarray) -> None:
        self.array[:] = array


def chain(operators: Sequence[str]) -> Calls:
    """A chain of operators, each of them a call."""
    builder = GraphBuilder("chain", "relay")
    node = builder.node("param", "x", type="Tensor[(8), float32]")
    for op in operators:
        node = builder.node("op", op, (node,), type="Tensor[(8), float32]")
    builder.outputs.append(node)
    rows = [{"function": f"f{place}", "noop": False, "outputs": ["(8,) float32"]} for place in range(len(operators))]
    return Calls(Tensors(builder.build()), rows)


def run(kernels: Sequence[Kernel]) -> Iterator[RanCall]:
    tensor = Tensor((8,), "float32")
    tensor.copyfrom(INPUT)
    for place, kernel in enumerate(kernels):
        made = Tensor((8,), "float32")

        def call(source: Tensor, written: Tensor, kernel: Kernel = kernel) -> None:
            written.copyfrom(kernel(source.array))

        call(tensor, made)
        source = (place - 1, 0) if place else None
        yield RanCall(f"f{place}", call, (tensor, made), {0: source}, (1,), Tensor)
        tensor = made


def compared(
    operators: Sequence[str], ours: Sequence[Kernel], theirs: Sequence[Kernel]
) -> tuple[list[CallErrors], int]:
    build, reference = chain(operators), chain(operators)
    path = Path([build.graph, reference.graph])
    handovers = [(place, place + 1, "float32", 32) for place in range(len(operators) - 1)]
    walk = Walk(RightValues(build, reference, path, {}), handovers)
    assert list(walk.run(run(ours), run(theirs))) == list(range(len(operators)))
    return list(walk.found.values()), walk.most_kept


def wrong(rows: Sequence[CallErrors]) -> list[int]:
    return [row.index for row in rows if row.own is not None and not row.own.same]


def test_error_is_of_the_kernel_that_makes_it() -> None:
    right: list[Kernel] = [np.abs, np.sqrt, np.exp, np.sin]
    broken: list[Kernel] = [np.abs, lambda x: np.sqrt(x) + 1, np.exp, np.sin]
    rows, _ = compared(["abs", "sqrt", "exp", "sin"], broken, right)
    assert wrong(rows) == [1]
    assert [row.inherited is not None and not row.inherited.same for row in rows] == [False, False, True, True]
    assert [row.whole is not None and not row.whole.same for row in rows] == [False, True, True, True]


def test_two_wrong_kernels_are_both_named() -> None:
    right: list[Kernel] = [np.abs, np.sqrt, np.exp]
    broken: list[Kernel] = [lambda x: np.abs(x) + 1, lambda x: np.sqrt(x) + 1, np.exp]
    rows, _ = compared(["abs", "sqrt", "exp"], broken, right)
    assert wrong(rows) == [0, 1]


def test_factor_moved_past_a_kernel_is_not_its_error() -> None:
    right: list[Kernel] = [np.abs, lambda x: 2 * x, np.exp]
    moved: list[Kernel] = [lambda x: 2 * np.abs(x), lambda x: x, np.exp]
    rows, _ = compared(["abs", "multiply", "exp"], moved, right)
    assert wrong(rows) == []
    assert rows[0].own is None
    assert "a later kernel is right on this one" in rows[0].note
    assert rows[1].includes == {0}
    assert rows[1].own is not None
    assert rows[1].inherited is None


def test_moved_factor_does_not_hide_a_wrong_kernel() -> None:
    right: list[Kernel] = [np.abs, lambda x: 2 * x, np.exp]
    broken: list[Kernel] = [lambda x: 2 * np.abs(x), lambda x: x + 1, np.exp]
    rows, _ = compared(["abs", "multiply", "exp"], broken, right)
    assert 1 in wrong(rows)
    assert 2 not in wrong(rows)


def test_memory_does_not_grow_with_the_length_of_a_chain() -> None:
    (_, short), (_, long) = (compared(["abs"] * length, [np.abs] * length, [np.abs] * length) for length in (4, 60))
    assert short == long <= 3


def test_runs_advance_together() -> None:
    taken: list[str] = []

    def marked(name: str, kernels: Sequence[Kernel]) -> Iterator[RanCall]:
        for call in run(kernels):
            taken.append(name)
            yield call

    calls = chain(["abs"] * 6)
    walk = Walk(RightValues(calls, calls, Path([calls.graph, calls.graph]), {}), [])
    for _ in walk.run(marked("build", [np.abs] * 6), marked("reference", [np.abs] * 6)):
        pass
    assert taken == ["build", "reference"] * 6


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
