"""The walk of `wb.kernel_errors` over two runs, with kernels in numpy: whose error it is, and what is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from workbench.debugging.kernel_errors.counterparts import Calls, Path, Tensors
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
