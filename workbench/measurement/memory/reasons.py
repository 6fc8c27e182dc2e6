"""The reason why two tensors of a MemoryPlan share a storage or do not, in one sentence.

The rules are those of TVM's planners. Relay: `GraphPlanMemory` in src/relay/backend/graph_plan_memory.cc of TVM 0.17. Relax:
`StaticPlanBlockMemory` in src/relax/transform/static_plan_block_memory.cc. Both take the smallest free storage that is
large enough, otherwise the largest of the smaller ones and enlarge it, both within a factor of 16.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.errors import MeasureError, UnknownName

if TYPE_CHECKING:
    from workbench.measurement.memory.plan import MemoryPlan, PlannedTensor, Storage

RANGE = 16
"a storage is reused for a tensor that is at most so many times larger or smaller"
_KEPT = {
    "input": "the caller keeps it",
    "parameter": "the caller keeps it",
    "constant": "the build contains it",
}


def why(plan: MemoryPlan, first: str | int, second: str | int) -> str:
    """Return one sentence: the reason why two tensors share a storage or do not."""
    places = sorted((_place(plan, first), _place(plan, second)), key=lambda place: (plan.tensors[place].born, place))
    a, b = (plan.tensors[place] for place in places)
    if a is b:
        return f"both are the tensor {a.name}"
    if lone := next((each for each in (a, b) if each.storage is None), None):
        kept = _KEPT.get(lone.role, "the executor has no plan for it")
        return f"{lone.name} has no storage in the plan: it is {_with_article(lone.role)}, and {kept}"
    pair = _Pair(plan, a, b, _storage(plan, a), _storage(plan, b))
    return next(sentence for rule in _RULES if (sentence := rule(pair)))


@dataclass(frozen=True)
class _Pair:
    """Two tensors with storages, the older one first."""

    plan: MemoryPlan
    a: PlannedTensor
    b: PlannedTensor
    old: Storage
    "of a"
    new: Storage
    "of b"


def _shared(pair: _Pair) -> str:
    a, b = pair.a, pair.b
    if pair.old is not pair.new:
        return ""
    if b.born <= a.dies:
        return f"{b.name} and {a.name} are the same memory: step {b.born} passes it on without a copy"
    return (
        f"they share storage {pair.old.id}: {a.name} is last needed at step {a.dies}, and step {b.born} writes {b.name}"
    )


def _overlapping(pair: _Pair) -> str:
    a, b = pair.a, pair.b
    if a.dies < b.born:
        return ""
    if a.role == "input":
        return f"{a.name} is an input, and the executor keeps its storage for the next run"
    if a.role == "output":
        return f"{a.name} is an output, so it is still needed when step {b.born} writes {b.name}"
    return f"both are live at step {b.born}, which writes {b.name}: {a.name} is needed until step {a.dies}"


def _unplanned(pair: _Pair) -> str:
    left_out = next((t for t, s in ((pair.a, pair.old), (pair.b, pair.new)) if not s.planned), None)
    if left_out is None:
        return ""
    if left_out.role == "output":
        return f"{left_out.name} is an output, and TVM's planner plans none: it has an allocation of its own"
    return f"TVM's planner leaves {left_out.name} out: it plans only tensors that kernels of one block write and read"


def _elsewhere(pair: _Pair) -> str:
    for name in ("device", "scope"):
        old, new = getattr(pair.old, name), getattr(pair.new, name)
        if old != new:
            return f"{pair.a.name} is on the {name} {old} and {pair.b.name} on the {name} {new}"
    return ""


def _of_another_type(pair: _Pair) -> str:
    if pair.plan.graph.dialect != "relax" or pair.a.dtype == pair.b.dtype:
        return ""
    return f"{pair.a.name} is {pair.a.dtype} and {pair.b.name} is {pair.b.dtype}, and TVM reuses a storage for one type only"


def _busy(pair: _Pair) -> str:
    b = pair.b
    holders = (pair.plan.tensors[place] for place in pair.old.tensors)
    holder = next((each for each in holders if each.born <= b.born <= each.dies), None)
    return "" if holder is None else f"storage {pair.old.id} of {pair.a.name} holds {holder.name} at step {b.born}"


def _of_open_size(pair: _Pair) -> str:
    old, new = pair.old.expression, pair.b.expression
    if old == new:
        return ""
    return f"storage {pair.old.id} of {pair.a.name} takes {old or pair.old.bytes} bytes and {pair.b.name} {new or pair.b.bytes}, and TVM cannot prove that these are equal"


def _of_another_size(pair: _Pair) -> str:
    size, needed = _size_at(pair.plan, pair.old, pair.b.born), pair.b.bytes
    if needed // RANGE <= size <= needed * RANGE:
        return ""
    return f"storage {pair.old.id} of {pair.a.name} has {size} bytes and {pair.b.name} needs {needed}: TVM reuses a storage only within a factor of {RANGE}"


def _unread(pair: _Pair) -> str:
    if pair.b.readers or pair.b.role == "output":
        return ""
    return f"no kernel reads {pair.b.name}, and TVM reuses no storage for such a tensor"


def _other_choice(pair: _Pair) -> str:
    free, taken = _size_at(pair.plan, pair.old, pair.b.born), _size_at(pair.plan, pair.new, pair.b.born)
    if not taken:
        return f"storage {pair.old.id} of {pair.a.name} was free, and TVM made a new one for {pair.b.name}"
    return f"storage {pair.old.id} of {pair.a.name}, of {free} bytes, was free, and TVM chose storage {pair.new.id} of {taken} bytes for {pair.b.name}"


_RULES: tuple[Callable[[_Pair], str], ...] = (
    _shared,
    _overlapping,
    _unplanned,
    _elsewhere,
    _of_another_type,
    _busy,
    _of_open_size,
    _of_another_size,
    _unread,
    _other_choice,
)
"the first that returns a sentence decides; the last always does"


def _size_at(plan: MemoryPlan, storage: Storage, step: int) -> int:
    """Return the bytes of a storage before a step; 0 if it did not exist. TVM enlarges it for later tensors."""
    held = (plan.tensors[place] for place in storage.tensors)
    return max((each.bytes for each in held if each.born < step), default=0)


def _storage(plan: MemoryPlan, tensor: PlannedTensor) -> Storage:
    return next(each for each in plan.storages if each.id == tensor.storage)


def _place(plan: MemoryPlan, given: str | int) -> int:
    names = [tensor.name for tensor in plan.tensors]
    if isinstance(given, str):
        if given not in names:
            raise UnknownName("tensor of the plan", given, names)
        return names.index(given)
    if not 0 <= given < len(names):
        raise MeasureError(f"the plan has no tensor {given}: its {len(names)} tensors are numbered from 0")
    return given


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
