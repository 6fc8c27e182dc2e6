"""A MemoryPlan: the storages that TVM plans for the tensors of a build as plain values, and the reason why two tensors share one or not.

The rules are those of TVM's planners. Relay: `GraphPlanMemory` in src/relay/backend/graph_plan_memory.cc of TVM 0.17. Relax:
`StaticPlanBlockMemory` in src/relax/transform/static_plan_block_memory.cc. Both take the smallest free storage that is
large enough, otherwise the largest of the smaller ones and enlarge it, both within a factor of 16.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from workbench.errors import MeasureError, UnknownName
from workbench.graph.model import Graph
from workbench.pipeline.config import Config
from workbench.terminal import html_table, visible
from workbench.wording import counted, size

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class PlannedTensor:
    """A tensor of a build, with the steps at which it is live."""

    name: str
    "unique in its plan, printable"
    role: str
    "`input`, `output`, `parameter`, `constant`, `intermediate` or `workspace`"
    shape: str
    "such as `(1, 64)`"
    dtype: str
    bytes: int
    "an upper bound if a dimension is open; 0 if it has no bound"
    expression: str
    "its bytes as text, such as `4*n*768`, if a dimension is open; otherwise empty"
    born: int
    "the step that writes it; -1: it exists before the first step"
    dies: int
    "the last step that needs it, inclusive"
    storage: int | None
    "the id of its storage; None: the executor plans none, as for parameters, constants and the inputs of Relax"
    producer: int | None
    "the step that writes it"
    readers: tuple[int, ...]
    "the steps that read it, in order"
    nodes: tuple[int, ...]
    "ids of the nodes of `MemoryPlan.graph` that it is the value of"


@dataclass(frozen=True)
class Storage:
    """A block of memory that tensors use one after another."""

    id: int
    "TVM's own number for Relay; for Relax the place among the allocations of a run"
    bytes: int
    "an upper bound if its size is open; 0 if it has no bound"
    expression: str
    "its bytes as text if they are open; otherwise empty"
    device: str
    scope: str
    tensors: tuple[int, ...]
    "places in `MemoryPlan.tensors`, by birth"
    planned: bool = True
    "False: TVM's planner leaves its one tensor out, and the executor allocates it by itself"


@dataclass(frozen=True)
class Step:
    """One call of the executor, in the order of `wb.count` and `wb.kernels`."""

    name: str
    "the kernel's name in the graph"
    nodes: tuple[int, ...]
    "ids of the nodes of `MemoryPlan.graph` that it computes"
    group: int | None
    "the group of `MemoryPlan.graph` that is drawn around them"
    live_bytes: int
    "bytes of the storages that the executor holds during the step, without workspace"
    workspace_bytes: int | None
    "bytes that the kernel allocates for itself; None: unknown"


@dataclass(frozen=True)
class MemoryPlan:
    """The memory that an executor of TVM allocates for one run.

    Relay's graph executor allocates all storages before the first run, copies of the inputs included, and keeps them. Relax's
    virtual machine allocates a storage before the first tensor in it and frees it after the last one.
    """

    tensors: tuple[PlannedTensor, ...] = field(repr=False)
    storages: tuple[Storage, ...] = field(repr=False)
    steps: tuple[Step, ...] = field(repr=False)
    target: str
    config: Config
    notes: tuple[str, ...]
    "a sentence for each thing that is unknown or not exact"
    graph: Graph = field(repr=False)
    "the module that goes to code generation: a kernel is a group around the operators it computes"

    @property
    def planned_bytes(self) -> int:
        """Bytes of all storages."""
        return sum(storage.bytes for storage in self.storages)

    @property
    def peak_bytes(self) -> int:
        """The most bytes of storages that the executor holds during one step."""
        return max((step.live_bytes for step in self.steps), default=0)

    @property
    def peak_step(self) -> int | None:
        """The step at which the executor holds `peak_bytes`, of several that with the most live bytes; None without steps."""
        places = range(len(self.steps))
        return max(places, key=lambda place: (self.steps[place].live_bytes, self.needed_bytes[place]), default=None)

    @cached_property
    def needed_bytes(self) -> tuple[int, ...]:
        """For each step the bytes of the live tensors that have a storage; tensors that share memory count once."""
        change = [0] * (len(self.steps) + 1)
        for storage in self.storages:
            for born, dies, most in _spans(self.tensors[place] for place in storage.tensors):
                change[max(born, 0)] += most
                change[dies + 1] -= most
        return tuple(accumulate(change[:-1]))

    @property
    def lower_bound_bytes(self) -> int:
        """The largest value of `needed_bytes`: no plan for this order of steps takes less."""
        return max(self.needed_bytes, default=0)

    @property
    def parameter_bytes(self) -> int:
        """Bytes of the parameters that the caller passes to each run."""
        return self._bytes_of("parameter")

    @property
    def constant_bytes(self) -> int:
        """Bytes of the constants that the build contains."""
        return self._bytes_of("constant")

    def _bytes_of(self, role: str) -> int:
        return sum(tensor.bytes for tensor in self.tensors if tensor.role == role)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row for each tensor: the fields of PlannedTensor."""
        import pandas as pd

        table = pd.DataFrame(
            [vars(tensor) for tensor in self.tensors], columns=list(PlannedTensor.__dataclass_fields__)
        )
        return table.astype(dict.fromkeys(("storage", "producer"), "Int64"))

    def live(self, step: int) -> tuple[PlannedTensor, ...]:
        """Return the tensors with a storage that are live at a step.

        Raises
        ------
        MeasureError
            The plan has no such step.
        """
        if not 0 <= step < len(self.steps):
            raise MeasureError(
                f"the plan has no step {step}: its {counted(len(self.steps), 'step')} are numbered from 0"
            )
        return tuple(each for each in self.tensors if each.storage is not None and each.born <= step <= each.dies)

    def why(self, first: str | int, second: str | int) -> str:
        """Return one sentence: the reason why two tensors share a storage or do not.

        Parameters
        ----------
        first, second
            Tensors, by name or by their places in `tensors`.

        Raises
        ------
        UnknownName, MeasureError
            The plan has no such tensor.
        """
        places = sorted((self._place(first), self._place(second)), key=lambda place: (self.tensors[place].born, place))
        a, b = (self.tensors[place] for place in places)
        if a is b:
            return f"both are the tensor {a.name}"
        lone = next((each for each in (a, b) if each.storage is None), None)
        if lone is not None:
            article = "an" if lone.role[0] in "aeiou" else "a"
            kept = _KEPT.get(lone.role, "the executor has no plan for it")
            return f"{lone.name} has no storage in the plan: it is {article} {lone.role}, and {kept}"
        return next(_reasons(self, a, b))

    def _place(self, given: str | int) -> int:
        names = [tensor.name for tensor in self.tensors]
        if isinstance(given, str):
            if given not in names:
                raise UnknownName("tensor of the plan", given, names)
            return names.index(given)
        if not 0 <= given < len(names):
            raise MeasureError(f"the plan has no tensor {given}: its {len(names)} tensors are numbered from 0")
        return given

    def to_data(self) -> dict[str, object]:
        """Return the plan as plain lists and dicts, for JSON; `MemoryPlan.from_data` reads them."""
        rows = {name: [vars(each) for each in getattr(self, name)] for name in ("tensors", "storages", "steps")}
        whole = {"target": self.target, "notes": list(self.notes), "config": self.config.to_data()}
        return {**rows, **whole, "graph": self.graph.to_data()}

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> MemoryPlan:
        return MemoryPlan(
            tuple(PlannedTensor(**_tuples(row)) for row in data["tensors"]),
            tuple(Storage(**_tuples(row)) for row in data["storages"]),
            tuple(Step(**_tuples(row)) for row in data["steps"]),
            data["target"],
            Config.of(data["config"]),
            tuple(data["notes"]),
            Graph.from_data(data["graph"]),
        )

    def __repr__(self) -> str:
        noted = f", {len(self.notes)} in .notes" if self.notes else ""
        return f"MemoryPlan({self._title}{noted})"

    def __str__(self) -> str:
        return visible(". ".join((self._title, *self.notes)))

    @property
    def _title(self) -> str:
        sizes = (
            f"{self.peak_bytes:,} bytes at the peak, {self.planned_bytes:,} planned, {self.lower_bound_bytes:,} needed"
        )
        return f"{counted(len(self.tensors), 'tensor')} in {counted(len(self.storages), 'storage')} for {self.target}: {sizes}"

    def _repr_html_(self) -> str:
        names = ("name", "role", "shape", "dtype", "bytes", "born", "dies", "storage")
        rows = ({name: getattr(tensor, name) for name in names} for tensor in self.tensors)
        return html_table(". ".join((self._title, *self.notes)), rows)


def _spans(tensors: Iterable[PlannedTensor]) -> list[tuple[int, int, int]]:
    """Return birth, death and bytes of the tensors of one storage, by birth; those that share memory as one."""
    spans: list[tuple[int, int, int]] = []
    for tensor in tensors:
        if spans and tensor.born <= spans[-1][1]:
            born, dies, size = spans.pop()
            spans.append((born, max(dies, tensor.dies), max(size, tensor.bytes)))
        else:
            spans.append((tensor.born, tensor.dies, tensor.bytes))
    return spans


def _tuples(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a dataclass: JSON has no tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}


RANGE = 16
"a storage is reused for a tensor that is at most so many times larger or smaller"
_KEPT = {
    "input": "the caller keeps it",
    "parameter": "the caller keeps it",
    "constant": "the build contains it",
}


def _reasons(plan: MemoryPlan, a: PlannedTensor, b: PlannedTensor) -> Iterator[str]:
    """Yield the reasons why two tensors share a storage or do not, the older tensor first; the first one decides."""
    old, new = (next(each for each in plan.storages if each.id == tensor.storage) for tensor in (a, b))
    if old is new:
        if b.born <= a.dies:
            yield f"{b.name} and {a.name} are the same memory: step {b.born} passes it on without a copy"
        yield f"they share storage {old.id}: {a.name} is last needed at step {a.dies}, and step {b.born} writes {b.name}"
    if b.born <= a.dies:
        if a.role == "input":
            yield f"{a.name} is an input, and the executor keeps its storage for the next run"
        if a.role == "output":
            yield f"{a.name} is an output, so it is still needed when step {b.born} writes {b.name}"
        yield f"both are live at step {b.born}, which writes {b.name}: {a.name} is needed until step {a.dies}"
    for tensor in (each for each, storage in ((a, old), (b, new)) if not storage.planned):
        if tensor.role == "output":
            yield f"{tensor.name} is an output, and TVM's planner plans none: it has an allocation of its own"
        yield f"TVM's planner leaves {tensor.name} out: it plans only tensors that kernels of one block write and read"
    for name in ("device", "scope"):
        if getattr(old, name) != getattr(new, name):
            yield f"{a.name} is on the {name} {getattr(old, name)} and {b.name} on the {name} {getattr(new, name)}"
    if plan.graph.dialect == "relax" and a.dtype != b.dtype:
        yield f"{a.name} is {a.dtype} and {b.name} is {b.dtype}, and TVM reuses a storage for one type only"
    free = f"storage {old.id} of {a.name}"
    for holder in (plan.tensors[place] for place in old.tensors):
        if holder.born <= b.born <= holder.dies:
            yield f"{free} holds {holder.name} at step {b.born}"
    if old.expression != b.expression:
        sizes = f"takes {old.expression or old.bytes} bytes and {b.name} {b.expression or b.bytes}"
        yield f"{free} {sizes}, and TVM cannot prove that these are equal"
    size, taken = _size_at(plan, old, b.born), _size_at(plan, new, b.born)
    if not b.bytes // RANGE <= size <= b.bytes * RANGE:
        yield f"{free} has {size} bytes and {b.name} needs {b.bytes}: TVM reuses a storage only within a factor of {RANGE}"
    if not b.readers and b.role != "output":
        yield f"no kernel reads {b.name}, and TVM reuses no storage for such a tensor"
    if not taken:
        yield f"{free} was free, and TVM made a new one for {b.name}"
    yield f"{free}, of {size} bytes, was free, and TVM chose storage {new.id} of {taken} bytes for {b.name}"


def _size_at(plan: MemoryPlan, storage: Storage, step: int) -> int:
    """Return the bytes of a storage before a step; 0 if it did not exist. TVM enlarges it for later tensors."""
    held = (plan.tensors[place] for place in storage.tensors)
    return max((each.bytes for each in held if each.born < step), default=0)


OUTSIDE = "outside of the plan"
"the label of a row of tensors without a storage"
CALLERS = ("input", "parameter", "constant")
"roles of tensors whose memory the caller or the build holds, unless the plan has a storage for them"


@dataclass(frozen=True)
class Row:
    """Tensors that are drawn in one row."""

    label: str
    bytes: int
    tensors: tuple[int, ...]
    "places in `MemoryPlan.tensors`"


def rows_of(plan: MemoryPlan) -> list[Row]:
    """Return the rows of a plan: its storages, then the tensors outside of them in as few rows as their lives allow."""
    storages = sorted(plan.storages, key=lambda storage: (-storage.bytes, storage.id))
    planned = [Row(_label(storage), storage.bytes, storage.tensors) for storage in storages]
    outside = [i for i, each in enumerate(plan.tensors) if each.storage is None and each.role not in CALLERS]
    lanes = _lanes([(i, plan.tensors[i]) for i in outside])
    sizes = [max(plan.tensors[i].bytes for i in lane) for lane in lanes]
    return [*planned, *(Row(OUTSIDE, size, lane) for size, lane in zip(sizes, lanes, strict=True))]


def _label(storage: Storage) -> str:
    own = "" if storage.planned else "allocated by itself"
    return ", ".join(filter(None, (f"storage {storage.id}", storage.expression, storage.scope, storage.device, own)))


def _lanes(tensors: Iterable[tuple[int, PlannedTensor]]) -> list[tuple[int, ...]]:
    """Return tensors in rows: each goes to the first row whose last tensor is dead at its birth."""
    lanes: list[list[int]] = []
    ends: list[int] = []
    for place, tensor in sorted(tensors, key=lambda item: (item[1].born, item[0])):
        free = next((n for n, end in enumerate(ends) if end < tensor.born), len(lanes))
        if free == len(lanes):
            lanes.append([])
            ends.append(tensor.dies)
        lanes[free].append(place)
        ends[free] = tensor.dies
    return [tuple(lane) for lane in lanes]


def fullest(plan: MemoryPlan) -> int | None:
    """Return the first step with the most live bytes; None without steps."""
    needed = plan.needed_bytes
    return max(range(len(needed)), key=needed.__getitem__, default=None)


def finding(plan: MemoryPlan) -> str:
    """Return the sizes of a plan in one sentence; a row of the picture that is not a storage is named."""
    step = fullest(plan)
    if step is None:
        return "The plan has no kernels."
    others = sum(row.label == OUTSIDE for row in rows_of(plan))
    outside = f" and {counted(others, 'row')} of tensors {OUTSIDE}" if others else ""
    return (
        f"{size(plan.peak_bytes)} held at the peak, {size(plan.planned_bytes)} planned in "
        f"{counted(len(plan.storages), 'storage')}{outside}; at most {size(plan.lower_bound_bytes)} live, in kernel {step} "
        f"({plan.steps[step].name})."
    )


def compared(plans: Sequence[MemoryPlan], titles: Sequence[str]) -> str:
    """Return the peaks and the planned bytes of plans in one sentence each."""

    def each(sizes: Sequence[int]) -> str:
        return ", ".join(f"{size(count)} {title}" for count, title in zip(sizes, titles, strict=True))

    peaks, planned = [plan.peak_bytes for plan in plans], [plan.planned_bytes for plan in plans]
    return f"Held at the peak: {each(peaks)}. Planned: {each(planned)}."
