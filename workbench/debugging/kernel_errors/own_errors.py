"""The errors of the kernels of a run against those of a reference run, call by call.

Both runs advance together. A value of the reference is kept until the last call that needs it, so the memory is about
that of two runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.debugging.kernel_errors.build_values import Made
from workbench.debugging.kernel_errors.reference_run import ReferenceRun, aligned
from workbench.debugging.kernel_errors.right_values import Right, RightValues
from workbench.dialects.compiler.run_calls import RanCall
from workbench.pipeline.outputs import OutputDifference


@dataclass
class CallErrors:
    """The errors of one call of the build. A later call may show that it cannot be compared."""

    index: int
    "of the call, as in `wb.kernels`"
    own: OutputDifference | None = None
    "of the kernel on the reference's inputs; None if the reference does not have its value"
    inherited: OutputDifference | None = None
    "of its inputs in the run, the largest; None if the reference has none of them, or they come from outside"
    whole: OutputDifference | None = None
    "of its output in the run"
    reference: str = ""
    "the operator of the reference with the same value"
    scale: float | None = None
    "of a quantised output: its errors are then of the real numbers"
    includes: set[int] = field(default_factory=set)
    "earlier calls whose values the reference does not have, so that its own error includes theirs"
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
    """The comparison of a run of a build with a run of the reference.

    Parameters
    ----------
    handovers
        The producers and consumers of the build's values, as `jobs.build.counted` returns them.
    """

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
            self._compare(row, call, self._inputs(call, numbers), run)
            self.most_kept = max(self.most_kept, len(run.kept) + len(self.held))
            run.release(row)
            for made in [made for made in self.held if self.last_use[made[0]] <= row]:
                del self.held[made]
            yield row

    def _inputs(self, call: RanCall, numbers: Sequence[int | None]) -> dict[int, Made]:
        """Return the values that other calls made, by the place of the argument."""
        made = ((place, source) for place, source in call.sources.items() if source is not None)
        named = ((place, numbers[number], output) for place, (number, output) in made)
        values = {place: (row, output) for place, row, output in named if row is not None}
        return {place: value for place, value in values.items() if value in self.held}

    def _compare(self, row: int, call: RanCall, inputs: Mapping[int, Made], run: ReferenceRun) -> None:
        """Run a call's kernel on the reference's inputs, and if that is wrong, on the inputs without the values in doubt."""
        own = call.repeated({place: self.held[made].value for place, made in inputs.items()})
        given = call.input(next(iter(call.sources))) if list(call.sources.values()) == [None] else None
        rights = [self.rights.of((row, output), value, run, given) for output, value in enumerate(own)]
        doubted = frozenset().union(*(self.held[made].doubted for made in inputs.values()))
        others: list[np.ndarray] | None = None
        if doubted and not (_all_same(own, rights) and all(rights)):
            others = call.repeated({place: _other(self.held[made]) for place, made in inputs.items()})
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
    """Return the value of an output for the kernels that read it."""
    if right is None:
        return Held(own, None, other, doubted if other is not None else frozenset(), includes | {row})
    if right.difference(own).same:
        return Held(right.value, right)
    return Held(right.value, right, own, frozenset({row}))


def _other(held: Held) -> np.ndarray:
    return held.value if held.other is None else held.other


def _all_same(values: Sequence[np.ndarray], rights: Sequence[Right | None]) -> bool:
    return all(right is None or right.difference(value).same for value, right in zip(values, rights, strict=True))


def _worse(first: OutputDifference | None, second: OutputDifference) -> OutputDifference:
    return second if first is None or second.max_relative > first.max_relative else first
