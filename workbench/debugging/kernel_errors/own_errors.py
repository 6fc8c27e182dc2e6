"""The errors of the kernels of a run against those of a reference run, call by call.

Both runs advance together. A value of the reference is kept until the last call that needs it, so the memory is about
that of two runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from workbench.debugging.kernel_errors.counterparts import Calls, Field, Made, Path
from workbench.debugging.kernel_errors.forms import Scale, moved, moves, relaid
from workbench.dialects.compiler.running import RanCall
from workbench.pipeline.outputs import OutputDifference, difference


def aligned(rows: Sequence[Mapping[str, Any]], calls: Iterable[RanCall]) -> Iterator[tuple[int | None, RanCall]]:
    """Yield the calls of a run with their rows, which are in the same order; None for a call without a row."""
    place = 0
    for call in calls:
        wanted = (i for i in range(place, len(rows)) if rows[i]["function"] == call.function and not rows[i]["noop"])
        row = next(wanted, None)
        place = place if row is None else row + 1
        yield row, call


class ReferenceRun:
    """The values of the reference, computed when they are asked for and dropped after their last use.

    `needs` has for each call of the build the values that it may be compared with.
    """

    def __init__(self, calls: Iterator[tuple[int | None, RanCall]], needs: Mapping[int, Iterable[Made]]) -> None:
        self.calls = calls
        self.needs = {call: set(values) for call, values in needs.items()}
        self.users: dict[Made, set[int]] = {}
        for call, values in self.needs.items():
            for made in values:
                self.users.setdefault(made, set()).add(call)
        self.kept: dict[Made, np.ndarray] = {}
        self.reached = -1
        "the newest call"

    def value(self, made: Made) -> np.ndarray | None:
        """Return a value; None if the run does not make it."""
        while self.reached < made[0] and self._advance():
            pass
        return self.kept.get(made)

    def _advance(self) -> bool:
        row, call = next(self.calls, (None, None))
        if call is None:
            return False
        if row is not None:
            self.reached = row
            for place, written in enumerate(call.written):
                if self.users.get((row, place)):
                    self.kept[row, place] = call.input(written)
        return True

    def release(self, call: int) -> None:
        """Drop the values that only this call of the build needs."""
        for made in self.needs.get(call, ()):
            self.users[made].discard(call)
            if not self.users[made]:
                self.kept.pop(made, None)


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
    """The candidates for each value of a build, and the choice among them; `path` goes from the build to the reference."""

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
        """Return the right value: of the candidates with as few moves as possible, the nearest to the kernel's output, `like`.

        `given` is the input of a kernel that only reads an input of the program.
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
                graph, node = (
                    (self.build.graph, each.here) if each.there is None else (self.reference.graph, each.there)
                )
                scale = None if each.there is None else self.scales.get(each.there)
                found.append(Right(value, graph.nodes[node.node].op, scale))
        return min(found, key=lambda right: right.difference(like).max_absolute, default=None)

    def why_unknown(self, made: Made, like: np.ndarray) -> str:
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


@dataclass
class CallErrors:
    """The errors of one call of the build, as in a KernelError. A later call may show that it cannot be compared."""

    index: int
    own: OutputDifference | None = None
    inherited: OutputDifference | None = None
    whole: OutputDifference | None = None
    reference: str = ""
    scale: float | None = None
    includes: set[int] = field(default_factory=set)
    note: str = ""


@dataclass(frozen=True)
class Held:
    """A value for the kernels that read it."""

    value: np.ndarray
    "the reference's; if it has none, the kernel's output on the reference's inputs"
    right: Right | None
    other: np.ndarray | None = None
    "the value if the counterparts of the calls in doubt are not theirs"
    doubted: frozenset[int] = frozenset()
    "calls with an error of their own, which is none if the kernels after them are right on their outputs"
    includes: frozenset[int] = frozenset()
    "as in CallErrors"


class Walk:
    """The comparison of a run of a build with a run of the reference; `handovers` are those of `jobs.build.counted`."""

    def __init__(self, rights: RightValues, handovers: Iterable[Sequence[Any]]) -> None:
        self.rights = rights
        self.rows = rights.build.rows
        self.last_use = {call: call for call in range(len(self.rows))}
        for producer, consumer, *_ in handovers:
            self.last_use[producer] = max(self.last_use.get(producer, -1), consumer)
        self.held: dict[Made, Held] = {}
        self.found: dict[int, CallErrors] = {}
        self.most_kept = 0
        "the most tensors that were kept at once"

    def run(self, build: Iterable[RanCall], reference: Iterable[RanCall]) -> Iterator[int]:
        """Compare call by call and yield the index of each; `found` has the errors, which are final after the last one."""
        run = ReferenceRun(aligned(self.rights.reference.rows, reference), self.rights.needs())
        numbers: list[int | None] = []
        for row, call in aligned(self.rows, build):
            numbers.append(row)
            if row is None:
                continue
            self.found[row] = CallErrors(row)
            # the values that other calls made, by the place of the argument
            made = ((place, source) for place, source in call.sources.items() if source is not None)
            named = ((place, numbers[number], output) for place, (number, output) in made)
            inputs = {
                place: (at, output) for place, at, output in named if at is not None and (at, output) in self.held
            }
            self._compare(row, call, inputs, run)
            self.most_kept = max(self.most_kept, len(run.kept) + len(self.held))
            run.release(row)
            for made in [made for made in self.held if self.last_use[made[0]] <= row]:
                del self.held[made]
            yield row

    def _compare(self, row: int, call: RanCall, inputs: Mapping[int, Made], run: ReferenceRun) -> None:
        """Run a call's kernel on the reference's inputs, and if that is wrong, on the inputs without the values in doubt."""
        own = call.repeated({place: self.held[made].value for place, made in inputs.items()})
        given = call.input(next(iter(call.sources))) if list(call.sources.values()) == [None] else None
        rights = [self.rights.of((row, output), value, run, given) for output, value in enumerate(own)]
        doubted = frozenset().union(*(self.held[made].doubted for made in inputs.values()))
        others: list[np.ndarray] | None = None
        if doubted and not (_all_same(own, rights) and all(rights)):
            doubtful = ((place, self.held[made]) for place, made in inputs.items())
            others = call.repeated({at: each.value if each.other is None else each.other for at, each in doubtful})
            again = [self.rights.of((row, output), value, run) for output, value in enumerate(others)]
            if not _all_same(own, rights) and any(again) and _all_same(others, again):
                self._reject(doubted)
                own, rights, others, doubted = others, again, None, frozenset()
        self._record(row, call, inputs, own, rights)
        includes = frozenset(self.found[row].includes)
        for output, (value, right) in enumerate(zip(own, rights, strict=True)):
            other = None if others is None else others[output]
            self.held[row, output] = _held(row, value, right, other, doubted, includes)

    def _record(
        self,
        row: int,
        call: RanCall,
        inputs: Mapping[int, Made],
        own: Sequence[np.ndarray],
        rights: Sequence[Right | None],
    ) -> None:
        found = self.found[row]
        for place, made in inputs.items():
            held = self.held[made]
            found.includes |= held.includes
            if held.right is not None:
                found.inherited = _worse(found.inherited, held.right.difference(call.input(place)))
        for output, (alone, real, right) in enumerate(zip(own, call.outputs(), rights, strict=True)):
            if right is None:
                found.note = found.note or self.rights.why_unknown((row, output), alone)
                continue
            found.own = _worse(found.own, right.difference(alone))
            found.whole = _worse(found.whole, right.difference(real))
            found.reference = found.reference or right.operator
            found.scale = right.scale.scale if right.scale else found.scale

    def _reject(self, calls: Iterable[int]) -> None:
        """Record that the values of these calls are not those that they were compared with: a later kernel needs theirs."""
        for row in calls:
            old = self.found[row]
            note = f"the reference does not have its value: {old.reference} computes another one there, and a later kernel is right on this one"
            self.found[row] = CallErrors(row, inherited=old.inherited, includes=old.includes, note=note)
        for made, held in self.held.items():
            if held.doubted & set(calls) and held.other is not None:
                includes = held.includes | {made[0]} | frozenset(self.found[made[0]].includes)
                self.held[made] = Held(held.other, None, includes=includes)


def _held(
    row: int,
    own: np.ndarray,
    right: Right | None,
    other: np.ndarray | None,
    doubted: frozenset[int],
    includes: frozenset[int],
) -> Held:
    if right is None:
        return Held(own, None, other, doubted if other is not None else frozenset(), includes | {row})
    if right.difference(own).same:
        return Held(right.value, right)
    return Held(right.value, right, own, frozenset({row}))


def _all_same(values: Sequence[np.ndarray], rights: Sequence[Right | None]) -> bool:
    return all(right is None or right.difference(value).same for value, right in zip(values, rights, strict=True))


def _worse(first: OutputDifference | None, second: OutputDifference) -> OutputDifference:
    return second if first is None or second.max_relative > first.max_relative else first
