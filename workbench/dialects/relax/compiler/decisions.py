"""The decisions of a schedule: factors of splits and tiles, choices among values, places. They are read, and replaced."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tvm.s_tir.schedule import Instruction, Trace

from workbench.dialects.compiler.results import Decision
from workbench.errors import MeasureError

Edits = Mapping[int, Sequence["int | None"]]
"place of a primitive -> what it decides instead"
Factors = tuple["int | None", ...]
MOST = 200
"choices of a decision: those nearest to the one it has"
_WIDTH = re.compile(r"T\.u?int(?:32|64)\((-?\d+)\)")


def edited(trace: Any, edits: Edits) -> Any:
    """Return the trace with other decisions, and other factors of splits."""
    instructions, decisions = list(trace.insts), dict(trace.decisions.items())
    for place, value in edits.items():
        if not 0 <= place < len(instructions):
            raise MeasureError(f"there is no step {place}; the steps are 0 to {len(instructions) - 1}")
        old = instructions[place]
        kind = old.kind.name
        if kind == "Split":
            inputs = [old.inputs[0], *value]
            instructions[place] = Instruction(old.kind, inputs, list(old.attrs), list(old.outputs))
        elif kind == "SampleCategorical":
            known = [whole(each) for each in old.attrs[0]]
            if value[0] not in known:
                raise MeasureError(f"step {place} chooses among {', '.join(map(str, known))}, not {value[0]}")
            decisions[old] = known.index(value[0])
        elif kind in ("SamplePerfectTile", "SamplePartitionedTile"):
            before = [whole(each) for each in decisions[old]]
            if len(value) != len(before) or _product(value) != _product(before):
                raise MeasureError(f"step {place} takes {len(before)} factors of {_product(before)}")
            if kind == "SamplePerfectTile" and 0 < whole(old.attrs[1]) < (value[-1] or 1):
                raise MeasureError(f"the last factor of step {place} is at most {whole(old.attrs[1])}")
            decisions[old] = list(value)
        elif kind == "SampleComputeLocation":
            decisions[old] = value[0]
        else:
            raise MeasureError(f"step {place} decides nothing: {kind}")
    return Trace(instructions, decisions)


def decision_of(schedule: Any, instruction: Any, inputs: Any, attributes: Any, decision: Any) -> Decision | None:
    """Return what an instruction decides, and the other choices that it has."""
    kind = instruction.kind.name
    if kind == "Split":
        factors = [None if each is None else whole(each) for each in inputs[1:]]
        if all(each is None or isinstance(each, int) for each in factors):
            return _choices(factors, _factors(factors, whole(schedule.get(inputs[0]).extent)))
    elif kind in ("SamplePerfectTile", "SamplePartitionedTile") and decision is not None:
        factors = [whole(each) for each in decision]
        innermost = whole(attributes[1]) if kind == "SamplePerfectTile" else 0
        each = (tile for tile in _tiles(math.prod(factors), len(factors)) if not 0 < innermost < tile[-1])
        return _choices(factors, each)
    elif kind == "SampleCategorical" and decision is not None:
        known = [whole(each) for each in attributes[0]]
        return _choices([known[whole(decision)]], [(each,) for each in known])
    elif kind == "SampleComputeLocation" and decision is not None:
        return _choices([whole(decision)], [(each,) for each in range(-2, max(whole(decision), 6) + 1)])
    return None


def _choices(now: Sequence[int | None], others: Iterable[Factors]) -> Decision:
    def far(choice: Factors) -> float:
        pairs = zip(choice, now, strict=True)
        return sum(abs(math.log2(abs(a or 1)) - math.log2(abs(b or 1))) for a, b in pairs)

    found = sorted({tuple(now), *others}, key=far)
    return Decision(tuple(now), tuple(sorted(found[:MOST], key=lambda each: [part or 0 for part in each])))


def _factors(now: Sequence[int | None], extent: Any) -> Iterator[Factors]:
    """Yield factors of a split: those that divide the loop; for one that is left open also powers of two, which need a test."""
    free = [place for place, each in enumerate(now) if each is not None]
    if not isinstance(extent, int):
        extent = 1024
    if len(free) == len(now):
        yield from _tiles(extent, len(now))
        return
    for tile in _tiles(extent, len(free) + 1):
        found = list(now)
        for place, factor in zip(free, tile[1:], strict=True):
            found[place] = factor
        yield tuple(found)
    for power in range(extent.bit_length()) if len(free) == 1 else ():
        yield tuple(1 << power if each is not None else None for each in now)


def _tiles(extent: int, count: int) -> Iterator[tuple[int, ...]]:
    """Yield the lists of factors of a number."""
    if count == 1:
        yield (extent,)
        return
    for factor in (
        range(1, extent + 1) if extent < 4096 else itertools.accumulate(range(13), lambda a, _: 2 * a, initial=1)
    ):
        if extent % factor == 0:
            for rest in _tiles(extent // factor, count - 1):
                yield (*rest, factor)


def _product(factors: Iterable[int | None]) -> int:
    return math.prod(each or 1 for each in factors)


def whole(value: Any) -> Any:
    """Return a number of TVM's as an int; anything else as its text."""
    if isinstance(value, int):
        return value
    number = getattr(value, "value", None)
    return int(number) if isinstance(number, int) else _WIDTH.sub(r"\1", str(value))
