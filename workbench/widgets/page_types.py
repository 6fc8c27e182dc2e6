"""The JSON that Python sends to a page: the values of traits, and messages.

js/model/messages.ts is generated from this and from messages.py by `make messages`. A trait of JSON begins as {}, so that its fields
may be missing: those of a class with `total=False`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Literal, TypedDict

from workbench.errors import WorkbenchError
from workbench.measurement.overlay import Overlay
from workbench.widgets.background import Busy
from workbench.widgets.blocks import Block
from workbench.widgets.payload import DiffPayload, GraphPayload

# -- every widget

SIDES = ("before", "after")
"of a comparison"


class Viewport(TypedDict, total=False):
    """The part of a graph that a view shows: the centre, and the scale; {} lets the view choose."""

    x: float
    y: float
    scale: float


class StepWindow(TypedDict, total=False):
    """The part of a memory plan that a view shows: {} for all of it."""

    start: float
    end: float
    "the steps between which the view shows"
    top: float
    "the pixels above the first row that it leaves out"


class Sides(TypedDict, total=False):
    """Ids of nodes or groups of the two graphs of a comparison."""

    before: list[int]
    after: list[int]


class Failure(TypedDict):
    """An error that the page shows until it is closed."""

    title: str
    text: str
    at: float
    "when, in seconds since 1970: the same error again is another one"


def failure(title: str, text: str) -> Failure:
    """Return an error of this moment."""
    return {"title": title, "text": text, "at": time.time()}


class Status(TypedDict, total=False):
    """The work under way, and what failed."""

    busy: Busy | None
    error: Failure | None


class Panels(TypedDict, total=False):
    """The blocks of an inspector's page: the line above the graph, the card beside it, the open tab."""

    head: list[Block]
    card: list[Block]
    tab: list[Block]


class LoopRow(TypedDict):
    """A loop, a block or a buffer of a kernel: LoopRow of dialects/compiler/results.py."""

    depth: int
    kind: Literal["loop", "block", "buffer"]
    name: str
    extent: str
    bound: str
    bytes: int | None


class ScheduleState(TypedDict):
    """A kernel between two steps of its schedule."""

    script: str
    rows: list[LoopRow]
    facts: list[str]


class StepParts(TypedDict, total=False):
    """Parts that a step of a schedule may have."""

    entry: Block
    "the field of its decision"


class ScheduleStepState(StepParts):
    """A step of a schedule; `state` is the number of the state after it, and `pure` that it only looks something up."""

    text: str
    names: dict[str, str]
    "the loops and blocks that its variables stand for"
    state: int
    pure: bool
    error: str


class ScheduleList(TypedDict, total=False):
    """A schedule; the first state is that before all steps."""

    steps: list[ScheduleStepState]
    states: list[ScheduleState]


class ScheduleSource(TypedDict, total=False):
    """Generated code of a kernel after its last step; none without a text."""

    form: str
    text: str
    rows: list[int | None]
    "for each line the row of the last state that it comes from; empty if that is not known"
    note: str


Sign = tuple[int, str, str, bool]
"a node, its sign, the sign's colour, whether the outline is dotted"


class EdgeValues(TypedDict):
    """Values of edges, drawn as colours."""

    title: str
    unit: str
    edges: list[tuple[int, int, float]]
    "source, target, value"


class Marks(TypedDict, total=False):
    """Marks on the graph's nodes and edges."""

    wash: list[int]
    "nodes that are shaded"
    entry: int
    exit: int
    "the two ends of a region, between braces; -1 for none"
    done: list[int]
    "nodes that have been merged, or matched"
    signs: list[Sign]
    edges: EdgeValues
    at: list[int]
    "nodes to bring into view"


class SideValues(TypedDict, total=False):
    """Values by node, and by group with a node that is in it."""

    values: dict[str, float]
    groups: dict[str, tuple[float, int]]


class OverlayState(SideValues, total=False):
    """Measured values as colours; `after` are those of the graph after."""

    title: str
    unit: str
    after: SideValues


def overlay_state(before: Overlay | None, after: Overlay | None, title: str = "") -> OverlayState:
    """Return the colours of a comparison; raises WorkbenchError if the two are in different units."""
    given = [side for side in (before, after) if side is not None and (side.nodes or side.groups)]
    if len({side.unit for side in given}) > 1:
        raise WorkbenchError(f"one scale cannot show {given[0].unit} on one side and {given[1].unit} on the other")
    if not given:
        return {}
    first, last = (SideValues(**(side or Overlay("", "")).data()) for side in (before, after))
    return {"title": title or given[0].title, "unit": given[0].unit, **first, "after": last}


class Answer(TypedDict, total=False):
    """The state of a Predict, and the words of its answer."""

    stage: Literal["asked", "busy", "shown", "failed"]
    said: str
    right: bool
    because: str


# -- the steps of a trace


class StepState(TypedDict):
    """A pass of a trace; `before` and `after` are numbers of states."""

    name: str
    depth: int
    status: str
    seconds: float
    error: str
    detail: str
    before: int
    after: int


class Listing(TypedDict, total=False):
    """The passes of a trace."""

    title: str
    dialect: str
    opt_level: int
    steps: list[StepState]
    titles: list[tuple[str, str, str, str]]
    "for each place from -1, the whole trace: of the graphs before and after it, and of the state after it as pinned A and B"
    checkable: bool
    code: str
    "the same passes with TVM alone"


class CheckState(TypedDict):
    """The result of checking a step: whether it changed the outputs, and the first node that differs, before and after it."""

    status: str
    text: str
    first: tuple[int, int] | None


class Facts(TypedDict):
    """The sizes of a state."""

    state: int
    nodes: int
    ops: int
    kernels: int


class FactsMessage(Facts):
    """Sizes alone."""

    type: Literal["facts"]


class StateMessage(Facts):
    """A state with its graph."""

    type: Literal["state"]
    graph: GraphPayload


class Printed(TypedDict):
    """A module as text, and for each node the line that binds it, from 1."""

    text: str
    lines: bytes


class TextMessage(Printed):
    """A state as text."""

    type: Literal["text"]
    state: int
    loops: list[LoopRow]
    "of a program that only calls PrimFuncs"


class SidesMessage(TypedDict):
    """The text of both modules in the Workbench's picture."""

    type: Literal["texts"]
    seq: int
    sides: list[Printed]


class CodeMessage(TypedDict):
    """The Python that shows a step, or compares the states after two."""

    type: Literal["code"]
    steps: list[int]
    text: str


class CountsMessage(TypedDict):
    """The number of nodes with each mark, from one state to another."""

    type: Literal["counts"]
    before: int
    after: int
    counts: MarkCounts


class DiffMessage(TypedDict):
    """The difference between two states."""

    type: Literal["diff"]
    before: int
    after: int
    counts: MarkCounts
    diff: DiffPayload


class Place(TypedDict):
    """The nodes that a followed node is in one state; `sure` is the least sure link into it."""

    state: int
    step: int
    ids: list[int]
    ops: list[str]
    kernels: list[str]
    sure: str


class LineageMessage(TypedDict):
    """One node through the whole trace."""

    type: Literal["lineage"]
    state: int
    node: int
    places: list[Place]


class LostMessage(TypedDict):
    """The reason why a wish could not be answered."""

    type: Literal["lost"]
    wish: list[str | int]
    text: str


class SavedTrace(TypedDict):
    """The answers to the requests of a saved stepper, packed in chunks: stepper/saved_trace.py."""

    chunks: list[str]
    "base64 of gzip of JSON: objects from a request, as `diff,0,1`, to its answer"
    places: dict[str, int]
    "request -> its chunk"
    absent: dict[str, str]
    "kind of request -> the reason why the page does not have it"


class ShowMessage(TypedDict):
    """Bring nodes into view."""

    type: Literal["show"]
    ids: list[int]


class ShowSideMessage(TypedDict):
    """Bring nodes of one side into view."""

    type: Literal["show_side"]
    ids: list[int]
    side: Literal["before", "after"]


def show_message(nodes: Iterable[int], side: str) -> ShowSideMessage:
    """Return the message that brings nodes of a side into view; raises WorkbenchError if there is no such side."""
    if side not in SIDES:
        raise WorkbenchError(f"a comparison has the sides 'before' and 'after', not {side!r}")
    return {"type": "show_side", "side": side, "ids": list(nodes)}


# -- the Workbench


class FieldSpec(TypedDict):
    """An option of a pass or a key of PassContext's config, with its default as typed."""

    name: str
    type: str
    kind: str
    default: str
    required: bool


class PassChoice(TypedDict):
    """A pass that can be added."""

    name: str
    doc: str
    opt_level: int | None
    locked: str
    reason: str
    ours: bool
    options: list[FieldSpec]


class Catalog(TypedDict, total=False):
    """Everything that can be chosen."""

    passes: list[PassChoice]
    settings: list[FieldSpec]


class PassOfList(TypedDict):
    """A pass with a switch."""

    name: str
    enabled: bool
    locked: bool
    reason: str
    doc: str


class MarkCounts(TypedDict, total=False):
    """The number of nodes with each mark."""

    kept: int
    changed: int
    removed: int
    added: int
    merged: int
    split: int
    lowered: int
    "operators that became calls of functions, which are no change"


class PassState(PassOfList, MarkCounts, total=False):
    """A pass of our own pipeline, or of the compiler's."""

    opt_level: int | None
    "the least one at which the compiler runs it"
    text: str
    options: dict[str, str]
    "as typed"
    status: str
    message: str
    seconds: float
    nodes: int
    kernels: int


class ContextState(TypedDict, total=False):
    """The PassContext."""

    opt_level: int
    disabled: list[str]
    required: list[str]
    options: dict[str, str]
    toggles: list[PassState]


class PresetState(TypedDict):
    """A preset; `own` is one of the user's."""

    name: str
    doc: str
    own: bool
    active: bool
    "whether the present choice is this preset's"
    opt_level: int


class Refused(TypedDict):
    """A text that was typed into a field and not taken, and the reason."""

    form: str
    field: str
    text: str


class StateCounts(MarkCounts, total=False):
    """Kernels and nodes of both sides, and the number of nodes with each mark."""

    before_kernels: int
    after_kernels: int | None
    before_nodes: int
    after_nodes: int | None


class FailedRow(TypedDict):
    """The measured row of the present configuration, if it failed."""

    config: str
    status: str
    message: str


class BuildState(TypedDict, total=False):
    """The compiler's own build at this opt level; `why` are sentences, once they were asked for."""

    kernels: int
    failed: str
    opt_level: int
    why: list[str]
    listing: bool


class State(Status, total=False):
    """The state of the Workbench."""

    title: str
    notes: list[str]
    "repairs and assumptions of the loading"
    dialect: str
    entries: list[str]
    entry: str
    tvm: str
    target: str
    mode: Literal["pipeline", "context"]
    passes: list[PassState]
    context: ContextState
    presets: list[PresetState]
    refused: Refused | None
    preview: str | None
    "the pass whose effect is shown although it is not chosen"
    step: int
    counts: StateCounts
    peak: str
    "the bytes held at the peak of the current configuration; empty while it is not planned"
    failed_row: FailedRow | None
    build: BuildState
    code: str
    pipeline_text: str


class SavedValues(TypedDict, total=False):
    """The values in the file of a saved page that are not traits."""

    saved: bool
    saved_trace: SavedTrace
    texts: list[Printed]
    "of both sides of a saved Workbench"


ToPage = (
    FactsMessage
    | StateMessage
    | TextMessage
    | SidesMessage
    | CodeMessage
    | CountsMessage
    | DiffMessage
    | LineageMessage
    | LostMessage
    | ShowMessage
    | ShowSideMessage
)
