"""The right value of a kernel's output: the value of the reference that corresponds to it, in the form that the build gives it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from workbench.debugging.kernel_errors.build_values import Calls, Field, Made
from workbench.debugging.kernel_errors.counterparts import Path
from workbench.debugging.kernel_errors.layouts import relaid
from workbench.debugging.kernel_errors.moves import moved, moves
from workbench.debugging.kernel_errors.reference_run import ReferenceRun
from workbench.debugging.kernel_errors.scales import Scale
from workbench.pipeline.outputs import OutputDifference, difference


@dataclass(frozen=True)
class Right:
    """A value of the reference, in the form of the build's."""

    value: np.ndarray
    operator: str
    "of the reference"
    scale: Scale | None = None

    def difference(self, ours: np.ndarray) -> OutputDifference:
        """Compare a value with it; quantised values as real numbers, and they are the same if they are at most a step apart."""
        value = self.value.reshape(ours.shape)
        found = difference([ours], [value])
        if self.scale is None:
            return found
        real = difference([self.scale.real(ours)], [self.scale.real(value)])
        # TVM rounds a requantisation in several ways, by target
        return replace(real, same=found.max_absolute <= 1, differing=found.differing)


@dataclass(frozen=True)
class Candidate:
    """A tensor of the reference that may be an output of a kernel."""

    there: Field | None
    "None: the tensor within the build is an input of the program"
    here: Field
    "the tensor of the build that it corresponds to: the output, or a tensor within the kernel"
    moves: tuple[int, ...] = ()
    "the operators of the kernel that move its elements afterwards, in order"


class RightValues:
    """The candidates for each value of a build, and the choice among them.

    Parameters
    ----------
    path
        From the graph of the build to that of the reference.
    scales
        Of the quantised tensors of the reference, where they are known.
    """

    def __init__(self, build: Calls, reference: Calls, path: Path, scales: Mapping[Field, Scale]) -> None:
        self.build, self.reference, self.scales = build, reference, scales
        self.path = path
        self.candidates = {made: list(self._candidates(field)) for field, made in build.made.items()}

    def needs(self) -> dict[int, set[Made]]:
        """Return for each call of the build the values of the reference that it may be compared with."""
        found: dict[int, set[Made]] = {}
        for (call, _), candidates in self.candidates.items():
            fields = [each.there for each in candidates if each.there is not None]
            found.setdefault(call, set()).update(self._made(field) for field in fields)
        return found

    def of(self, made: Made, like: np.ndarray, run: ReferenceRun, given: np.ndarray | None = None) -> Right | None:
        """Return the right value: of the candidates with as few moves as possible, the nearest to the kernel's output.

        Parameters
        ----------
        like
            The kernel's output on the reference's inputs.
        given
            The input of a kernel that only reads an input of the program.
        """
        found: list[Right] = []
        level = 0
        for each in self.candidates.get(made, ()):
            if found and len(each.moves) > level:
                break
            value = given if each.there is None else self._of_reference(each, each.there, run)
            value = None if value is None else self._moved(value, each, like)
            if value is not None:
                level = len(each.moves)
                found.append(self._right(value, each))
        return min(found, key=lambda right: right.difference(like).max_absolute, default=None)

    def why_unknown(self, made: Made, like: np.ndarray) -> str:
        """Return the reason why an output has no right value."""
        fields = [each.there for each in self.candidates.get(made, []) if each.there is not None]
        if not fields:
            return "the reference does not have its value: no operator of the reference corresponds to its last one"
        there = self.reference.graph.nodes[fields[0].node]
        form = f"{like.shape} {like.dtype}"
        return f"the reference does not have its value: {there.op} makes {there.type} there, and this kernel {form}"

    def _candidates(self, field: Field) -> Iterator[Candidate]:
        """Yield the candidates, those of the output first, then those of the tensors that are moved to become it."""
        graph, here, after = self.build.graph, field, ()
        kernel = graph.kernel_of(field.node)
        while True:
            for there in self.path.of(here):
                if self.reference.value(there) is not None:
                    yield Candidate(there, here, after)
            if graph.nodes[here.node].kind == "param":
                yield Candidate(None, here, after)
            if not moves(graph, here.node) or graph.kernel_of(here.node) != kernel:
                return
            after = (here.node, *after)
            sources = self.build.tensors.fields(graph.inputs[here.node][0])
            if len(sources) != 1:
                return
            here = sources[0]

    def _right(self, value: np.ndarray, candidate: Candidate) -> Right:
        if candidate.there is None:
            return Right(value, self.build.graph.nodes[candidate.here.node].op)
        return Right(value, self.reference.graph.nodes[candidate.there.node].op, self.scales.get(candidate.there))

    def _of_reference(self, candidate: Candidate, there: Field, run: ReferenceRun) -> np.ndarray | None:
        """Return a value of the reference in the layout of the build's; None if it is unknown."""
        value = run.value(self._made(there))
        shape = [extent for extent in self.reference.tensors.shape(there) if isinstance(extent, int)]
        if value is None or int(np.prod(shape)) != value.size:
            return None
        ours = self.build.tensors.layouts.get(candidate.here.node)
        theirs = self.reference.tensors.layouts.get(there.node)
        value = value.reshape(shape)
        return value if ours is None or theirs is None or ours == theirs else relaid(value, theirs, ours)

    def _moved(self, value: np.ndarray, candidate: Candidate, like: np.ndarray) -> np.ndarray | None:
        """Return a value in the form of an output; None if it has another shape or kind of numbers."""
        if value.dtype != like.dtype and not (_is_float(value) and _is_float(like)):
            return None
        found: np.ndarray | None = value
        for node in candidate.moves:
            found = None if found is None else moved(self.build.graph, node, found)
        return found.astype(like.dtype, copy=False) if found is not None and found.shape == like.shape else None

    def _made(self, field: Field) -> Made:
        made = self.reference.value(field)
        assert made is not None, "candidates have a value"
        return made


def _is_float(array: np.ndarray) -> bool:
    # numpy has no kind for bfloat16
    return array.dtype.kind in "fV"
