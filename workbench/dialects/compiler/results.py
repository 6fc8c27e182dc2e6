"""The answers of a compiler about a program, in the same terms for every dialect: calls, counts, a memory plan, kernels with a fallback."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import accumulate
from typing import Any, Literal, get_args, get_type_hints

from workbench.analysis.tensors import Tensor
from workbench.graph.model import Graph

OK, FAILED, OPEN, NOT_BUILT = "ok", "failed", "lower bound", "not built"
"""status of counts: TVM builds the program; it does not; it does, and tensors with open dimensions count no bytes; only a build shows
whether it does, and the workbench makes none"""
GIVE_SIZES = "give the open dimensions values with shapes=, or load the model with inputs="
OUTSIDE = -1
"in place of a call: an input of the program, or its result"


@dataclass(frozen=True)
class Call:
    """One entry of the executor."""

    name: str
    function: str
    "the compiled function; calls of one name run the same code"
    kind: str
    "`kernel`, `noop` (the same memory under another shape), `copy` (between devices), `external` (an offloaded region)"
    inputs: tuple[Tensor, ...]
    "tensors that it reads: of a tuple, the fields that it uses"
    sources: tuple[int, ...]
    "for each input the call that produces it, or OUTSIDE"
    outputs: tuple[Tensor, ...]

    def row(self, index: int, launches: int, exact: bool) -> dict[str, Any]:
        """Return the call as a row of `wb.kernels`."""
        return {
            "index": index,
            "name": self.name,
            "function": self.function,
            "kind": self.kind,
            "noop": self.kind == "noop",
            "launches": launches,
            "launches_exact": exact,
            "bytes_read": sum(tensor.nbytes for tensor in self.inputs),
            "bytes_written": sum(tensor.nbytes for tensor in self.outputs),
            "inputs": [text(tensor) for tensor in self.inputs],
            "outputs": [text(tensor) for tensor in self.outputs],
        }


@dataclass(frozen=True)
class Program:
    """The calls of one run, in order, and its results."""

    calls: tuple[Call, ...]
    results: tuple[tuple[int, Tensor], ...]
    "the call that produces each result, or OUTSIDE, and its type"
    failing: str = ""
    "the reason why no build of it runs"
    unbuilt: str = ""
    "the reason why no build was made, where only a build shows whether one runs"

    def rows(self, launches: Mapping[str, tuple[int, bool]] | None) -> list[dict[str, Any]]:
        """Return the calls as rows of `wb.kernels`.

        `launches`: function -> the number of device kernels that a call of it launches, and whether that is exact.
        None without a separate device: then each kernel is one launch.
        """
        return [call.row(place, *_launched(call, launches)) for place, call in enumerate(self.calls)]

    def handovers(self) -> list[tuple[int, int, str, int]]:
        """Return the producer, consumer, data type and bytes of every tensor that a call reads or the program returns.

        A no-op passes its input on, so it is neither producer nor consumer. A value that is read twice is listed twice.
        """
        read = [
            (self._writer(source), place, tensor)
            for place, call in enumerate(self.calls)
            if call.kind != "noop"
            for source, tensor in zip(call.sources, call.inputs, strict=True)
        ]
        given = [(self._writer(source), OUTSIDE, tensor) for source, tensor in self.results]
        return [(producer, consumer, tensor.dtype, tensor.nbytes) for producer, consumer, tensor in read + given]

    def counts(self) -> dict[str, Any]:
        """Return the integer counts that need no generated code, as `wb.count` returns them."""
        kinds = Counter(call.kind for call in self.calls)
        between: Counter[str] = Counter()
        for producer, consumer, dtype, size in self.handovers():
            if OUTSIDE not in (producer, consumer):
                between[dtype] += size
        working = [call for call in self.calls if call.kind != "noop"]
        return {
            "calls": len(self.calls),
            "functions": len({call.function for call in self.calls if call.kind in ("kernel", "external")}),
            "noops": kinds["noop"],
            "copies": kinds["copy"],
            "traffic_bytes": sum(t.nbytes for call in working for t in (*call.inputs, *call.outputs)),
            "handover_bytes": dict(sorted(between.items())),
            **self._status([t for call in working for t in (*call.inputs, *call.outputs)]),
        }

    def _status(self, tensors: Sequence[Tensor]) -> dict[str, str]:
        open = sorted({text(tensor) for tensor in tensors if not tensor.known})
        if self.failing:
            return {"status": FAILED, "reason": self.failing}
        if self.unbuilt:
            return {"status": NOT_BUILT, "reason": self.unbuilt}
        if open:
            return {"status": OPEN, "reason": f"{', '.join(open[:3])} count as no bytes; {GIVE_SIZES}"}
        return {"status": OK, "reason": ""}

    def _writer(self, source: int) -> int:
        while source != OUTSIDE and self.calls[source].kind == "noop":
            source = _first(self.calls[source].sources)
        return source


def _launched(call: Call, launches: Mapping[str, tuple[int, bool]] | None) -> tuple[int, bool]:
    if call.kind in ("noop", "copy"):
        return 0, True
    if call.kind == "external":
        # the launches of another compiler's code are unknown
        return 1, False
    return (1, True) if launches is None else launches.get(call.function, (1, False))


def _first(sources: Sequence[int]) -> int:
    return sources[0] if sources else OUTSIDE


def text(tensor: Tensor) -> str:
    """Return a tensor's text in a row.

    >>> text(Tensor((64,), "int8")), text(Tensor(("n", 4), "float32"))
    ('(64,) int8', '(n, 4) float32')
    """
    tail = "," if len(tensor.shape) == 1 else ""
    return f"({', '.join(map(str, tensor.shape))}{tail}) {tensor.dtype}"


LASTING = ("input", "output", "parameter", "constant")
"roles of tensors that are needed until the end of the run"


@dataclass
class Value:
    """A tensor of a run."""

    tensor: Tensor
    role: str
    "as in PlannedTensor"
    name: str = ""
    "empty: that of the kernel that makes it"
    born: int = OUTSIDE
    "the call that makes it"
    storage: int | None = None
    bytes: int | None = None
    "with an upper bound if open, 0 if it has none; None: those of `tensor`"
    expression: str = ""
    "of an open size"
    readers: list[int] = field(default_factory=list)
    "calls, in order"


@dataclass(frozen=True)
class Block:
    """A storage."""

    id: int
    bytes: int
    device: str
    expression: str = ""
    scope: str = "global"
    planned: bool = True


@dataclass(frozen=True)
class Planned:
    """The calls of a run, its tensors, and the blocks of memory that the executor allocates for them."""

    program: Program
    steps: int
    "the number of calls that are planned, the first ones of the program"
    module: Any
    "with a function of operators for each kernel, to be drawn"
    values: list[Value]
    blocks: list[Block]
    allocated_first: bool
    "whether the executor allocates all blocks before the first step"
    freed: bool
    "whether it frees a block after the last use of its tensors"
    notes: tuple[str, ...] = ()
    unproven: frozenset[str] = frozenset()
    "keys of kernels, or of the whole program, for which only a build shows that TVM compiles them"

    def failed(self, reason: str, ours: bool = False) -> Planned:
        """Return the plan of a program that no build takes; with `ours` of one that the workbench does not build."""
        program = replace(self.program, **{"unbuilt" if ours else "failing": reason})
        return replace(self, program=program, notes=(reason, *self.notes))

    def dies(self, value: Value) -> int:
        """Return the last step that needs a tensor."""
        return self.steps - 1 if value.role in LASTING else max(value.readers, default=value.born)

    @cached_property
    def held_bytes(self) -> list[int]:
        """For each step the bytes of the blocks that the executor holds."""
        spans: dict[int, tuple[int, int]] = {}
        for value in self.values:
            if value.storage is not None:
                born, dies = spans.get(value.storage, (self.steps, OUTSIDE))
                spans[value.storage] = min(born, value.born), max(dies, self.dies(value))
        change = [0] * (self.steps + 1)
        for block in (each for each in self.blocks if each.id in spans):
            born, dies = spans[block.id]
            change[0 if self.allocated_first else max(born, 0)] += block.bytes
            change[dies + 1 if self.freed else self.steps] -= block.bytes
        return list(accumulate(change[:-1]))

    @property
    def peak_bytes(self) -> int | None:
        """The largest of `held_bytes`; None if the plan is not exact."""
        return None if self.notes else max(self.held_bytes, default=0)

    def counts(self) -> dict[str, Any]:
        """Return the counts of `wb.count`."""
        return {**self.program.counts(), "peak_bytes": self.peak_bytes}


Cause = Literal["untuned", "warned", "unscheduled", "rule"]
"""`untuned`: an AutoTVM template with its default configuration; `warned`: TVM logs that the implementation is not optimized; `unscheduled`: no
pass gave the kernel a schedule; `rule`: the fallback rule of a GPU's default schedules did"""
Mismatch = Literal["operator", "arguments", "target", "failed", "invalid"]
"the reason why a build does not use records"


@dataclass(frozen=True)
class FallbackKernel:
    """Nodes that TVM compiles with a fallback."""

    cause: Cause
    name: str
    "of the implementation, or of the kernel"
    nodes: tuple[int, ...]
    said: str = ""
    "TVM's own words"


@dataclass(frozen=True)
class UnusedRecords:
    """Records of one task that a build does not use."""

    cause: Mismatch
    task: str
    places: tuple[int, ...]
    "in the log"
    target: str = ""
    "that they were measured for"
    theirs: str = ""
    ours: str = ""
    "the values that differ: of the records, and of the build"


@dataclass(frozen=True)
class Fallbacks:
    """The kernels with a fallback, and the records without a use."""

    graph: Graph
    "of the kernels"
    kernels: tuple[FallbackKernel, ...]
    unused: tuple[UnusedRecords, ...] = ()


@dataclass(frozen=True)
class Place:
    """A place in a rule for schedules."""

    function: str
    file: str
    line: int
    text: str
    "the test there, as the source has it"
    values: Mapping[str, str]
    "of what the test reads"


@dataclass(frozen=True)
class Attempt:
    """A rule, applied to a kernel."""

    rule: str
    outcome: Literal["took", "declined", "raised"]
    places: tuple[Place, ...] = ()
    "where the rule gave up, then where the helper did whose answer it read; or where it raised"
    error: str = ""
    "TVM's own"
    trace: str = ""
    "of the schedule: the primitives as Python"


@dataclass(frozen=True)
class KernelSchedule:
    """The origin of a kernel's schedule, or the reason why it has none."""

    name: str
    nodes: tuple[int, ...]
    "of the graph that comes with it"
    calls: int
    reduces: bool
    recorded: bool
    "whether a record of a database scheduled it, before any rule"
    record: str
    "the target that its record was tuned for, if it is another; or the kernel of the closest record; empty without either"
    attempts: tuple[Attempt, ...]

    @property
    def rule(self) -> str:
        """The rule that schedules the kernel; empty if none does, or if one raises first: TVM's build ends there."""
        return "" if self.raised else self.taken

    @property
    def raised(self) -> str:
        """The rule that raises, if one does."""
        return next((each.rule for each in self.attempts if each.outcome == "raised"), "")

    @property
    def taken(self) -> str:
        """The rule that takes the kernel if errors are passed over; empty if none does."""
        return next((each.rule for each in self.attempts if each.outcome == "took"), "")


@dataclass(frozen=True)
class Decision:
    """The decision of a primitive: the factors of a split or of a tile, a choice among values, or a place."""

    value: tuple[int | None, ...]
    "None for a factor that TVM computes"
    options: tuple[tuple[int | None, ...], ...]
    "others that are legal, those nearest to the value"


@dataclass(frozen=True)
class ScheduleStep:
    """One primitive of a schedule."""

    text: str
    "as Python"
    state: int
    "the number of the state after it"
    pure: bool
    "whether it only looks something up"
    error: str = ""
    "TVM's own; or why it was not run"
    decision: Decision | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    "names of its variables -> those of the loops and blocks that they are: `l4` -> `ax0`"


@dataclass(frozen=True)
class LoopRow:
    """A loop, a block or a buffer of a kernel."""

    depth: int
    kind: Literal["loop", "block", "buffer"]
    name: str
    extent: str
    "of a loop; what a block reads and writes; the type and shape of a buffer"
    bound: str = ""
    "how a loop runs, with its annotations; the scope of a buffer"
    bytes: int | None = None
    "of a buffer, or read and written in one run of a loop; None if it is symbolic"


@dataclass(frozen=True)
class ScheduleState:
    """A kernel between two steps of its schedule."""

    script: str
    rows: tuple[LoopRow, ...]
    facts: Mapping[str, str]
    flops: float | None = None
    "of one run, as TVM estimates them; None if a size is symbolic"
    bytes: int | None = None
    "of the arguments: what a run reads and writes at least"


@dataclass(frozen=True)
class KernelCode:
    """Generated code of a scheduled kernel, and the loops and blocks that its lines come from."""

    text: str
    rows: tuple[int | None, ...]
    "for each line the row of the innermost loop or block of the last state, None for none; empty if that is not known"
    unlinked: str
    "the reason why it is not known"


@dataclass(frozen=True)
class CheckedSchedule:
    """The scheduled kernel against the unscheduled one, on this CPU."""

    different: str
    "how the values differ, by more than the tolerance of `wb.compare_outputs`; empty if they do not"
    plain: tuple[float, ...]
    "seconds of a run without the schedule"
    scheduled: tuple[float, ...]


@dataclass(frozen=True)
class ScheduleCheck:
    """The comparison of a scheduled kernel with the kernel without a schedule."""

    kernel: str
    verdict: Literal["equal", "different", "race", "outside", "not checked"]
    "`outside`: it reads or writes memory outside of a buffer"
    because: str = ""
    "one sentence without a full stop: what was found first, or the reason why it was not checked"
    step: int | None = None
    "the first step of the schedule after which it is found; None if that is not known"
    primitive: str = ""
    "that step, as Python; empty if the kernel is so without any step, or only after all of them"
    runs: int = 0
    "runs that were compared: sizes times inputs"
    sizes: str = ""
    "of its symbolic sizes"
    share: float = 1.0
    "the smallest part of its thread blocks that was run for a size"

    def __bool__(self) -> bool:
        return self.verdict == "equal"


def restored(kind: Any, data: Any, **more: object) -> Any:
    """Return a value of a type of this module from JSON of `dataclasses.asdict`; `more`: fields that are not in it.

    >>> restored(Decision, {"value": [None, 8], "options": [[8, 8]]})
    Decision(value=(None, 8), options=((8, 8),))
    """
    if not isinstance(data, (list, dict)):
        return data
    inner = get_args(kind)
    if inner[1:] == (type(None),):
        return restored(inner[0], data)
    if isinstance(data, list):
        return tuple(restored(inner[0], each) for each in data)
    if not hasattr(kind, "__dataclass_fields__"):
        return data
    types = _types(kind)
    return kind(**{name: restored(types[name], value) for name, value in data.items()}, **more)


_types = cache(get_type_hints)
