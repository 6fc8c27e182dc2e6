"""The steps of a trace, the states before and after them, and the nodes of one state that became those of the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect_of
from workbench.errors import UnknownName, WorkbenchError
from workbench.graph.changes import GraphDiff
from workbench.graph.diff import diff
from workbench.graph.model import Graph
from workbench.graph.nodes import reached
from workbench.terminal import visible

if TYPE_CHECKING:
    from tvm.ir import IRModule

    from workbench.dialects.compiler.results import LoopRow

EXACT, STRUCTURAL, SPAN, PLACE = SURE = ("exact", "structural", "span", "place")
"certainty of a link, the surest first"


@dataclass(eq=False, repr=False)
class State:
    """A module at one point of a trace. Its graph and text are made once, on first use."""

    module: IRModule | None
    "None where the module is in another process or was not saved"
    make_graph: Callable[[], Graph]
    make_text: Callable[[], str]
    kept: tuple[str, int] | None = None
    "the module in the child process: a trace's number, and the place in it"
    workload: Workload | None = None
    "the program, for passes and builds that begin here"
    made_from: State | None = field(default=None, init=False)
    "the state before the pass that made this one; its Trace sets it"
    diffs: dict[State, GraphDiff] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, workload: Workload, graph: Callable[[], Graph] | None = None) -> State:
        """Return the state of a workload's module, with the workload's graph or another one."""
        return cls(workload.module, graph or (lambda: workload.graph), workload.text, workload=workload)

    @cached_property
    def graph(self) -> Graph:
        graph, before = self.make_graph(), self.made_from
        if before is not None:
            graph.follow(lambda: before.graph)
        # the diffs and layers of a trace know its graphs by identity, so a second thread gets the same graph
        return self.__dict__.setdefault("graph", graph)

    @cached_property
    def text(self) -> str:
        return self.make_text()

    @cached_property
    def flaw(self) -> str:
        """The reason why TVM's own check finds the module not well-formed; "" if it is, or the module is not here."""
        return "" if self.workload is None else dialect_of(self.workload).frontend.flaw(self.module)

    @property
    def loops(self) -> Sequence[LoopRow]:
        """The loops, blocks and buffers of a program that only calls PrimFuncs, a few; empty for others."""
        return () if self.workload is None else dialect_of(self.workload).frontend.loops(self.module)

    def diff(self, after: State) -> GraphDiff:
        """Return the changes from this state to another, made once: a short file can have many steps between two states."""
        if after not in self.diffs:
            self.diffs[after] = diff(self.graph, after.graph)
        return self.diffs[after]


@dataclass(frozen=True, eq=False)
class Step:
    """One pass of a trace and its result."""

    name: str
    "the pass with its options, as in the pipeline's text"
    state_before: State
    state_after: State
    status: str
    "changed, same, error, skipped (TVM does not run it at this opt_level, or its kernels are not trusted) or off"
    seconds: float = 0.0
    error: str = ""
    "one sentence, if the pass failed; the state after it is then the last good one"
    detail: str = ""
    "TVM's whole message, or why it was skipped or folded nothing"
    depth: int = 0
    "number of enclosing passes that are steps too"
    run: object = None
    "the Pass object or function itself, if the user gave one"
    busy: float = 0.0
    "seconds of a processor, which other work on the machine does not change; a saved trace does not keep them"

    @property
    def changed(self) -> bool:
        return self.status == "changed"

    @property
    def flaw(self) -> str:
        """The reason why the pass's result is not well-formed, where its input was."""
        return "" if not self.changed or self.state_before.flaw else self.state_after.flaw

    @property
    def before(self) -> Graph:
        return self.state_before.graph

    @property
    def after(self) -> Graph:
        return self.state_after.graph

    @property
    def text_before(self) -> str:
        return self.state_before.text

    @property
    def text_after(self) -> str:
        return self.state_after.text

    @property
    def diff(self) -> GraphDiff:
        """The pass's changes to the graph; those of the passes that it ran, one after the other."""
        return self.state_before.diff(self.state_after)

    def __repr__(self) -> str:
        wrong = f", not well-formed: {self.flaw}" if self.flaw else ""
        return visible(f"Step({self.name}: {self.error or self.status}{wrong}, {self.seconds * 1e3:.1f} ms)")


class Images:
    """A map from the nodes of one graph to the nodes of the other that are the same or replace them."""

    def __init__(self, ours: Graph, theirs: Graph, between: GraphDiff) -> None:
        self.ours = ours
        self.theirs = theirs
        self.mapping = between.mapping
        self.kept = {before for before, _ in between.kept}
        self.new = frozenset(between.added)
        self.memory: dict[int, tuple[tuple[int, str], ...]] = {}
        self.by_span: dict[str, list[int]] = {}
        for id in between.added:
            if theirs.nodes[id].span:
                self.by_span.setdefault(theirs.nodes[id].span, []).append(id)

    def of(self, id: int) -> tuple[tuple[int, str], ...]:
        """Return the nodes on the other side, each with its certainty."""
        if id not in self.memory:
            self.memory[id] = tuple(self._candidates(id))
        return self.memory[id]

    def _candidates(self, id: int) -> Iterable[tuple[int, str]]:
        if id in self.mapping:
            return ((other, EXACT if id in self.kept else STRUCTURAL) for other in self.mapping[id])
        same_source = self.by_span.get(self.ours.nodes[id].span, [])
        if same_source:
            return ((other, SPAN) for other in same_source)
        return ((other, PLACE) for other in sorted(self._region(id)))

    @cached_property
    def _heads(self) -> dict[int, frozenset[int]]:
        """For each node without a partner, the nodes that its users read instead. Users come later, so they are done first."""
        found: dict[int, frozenset[int]] = {}
        for id in reversed(range(len(self.ours.nodes))):
            if id in self.mapping:
                continue
            heads: set[int] = set()
            for user, position in self.ours.consumers[id]:
                if user in self.mapping:
                    readers = (self.theirs.inputs[image] for image in self.mapping[user])
                    heads.update(inputs[position] for inputs in readers if position < len(inputs))
                # skip a user that was removed too, within one kernel: beyond it, any node could be downstream
                elif self.ours.kernel_of(user) == self.ours.kernel_of(id):
                    heads.update(self._within(head, user, position) for head in found[user])
            if id in self.ours.outputs and len(self.ours.outputs) == len(self.theirs.outputs):
                heads.add(self.theirs.outputs[self.ours.outputs.index(id)])
            found[id] = frozenset(heads)
        return found

    def _within(self, head: int, user: int, position: int) -> int:
        """Return the node in the user's place, or, if it is an operator of the user's form, its argument at that position."""
        inputs = self.theirs.inputs[head]
        if len(inputs) == len(self.ours.inputs[user]) and inputs[position] in self.new:
            return inputs[position]
        return head

    def _region(self, id: int) -> set[int]:
        """Return the heads and the new nodes upstream of them, up to the images of the node's own inputs."""
        mapped = {other for source in self.ours.inputs[id] for other in self.mapping.get(source, ())}
        looked_past = {other for source in self.ours.inputs[id] for other in self._heads.get(source, ())}

        def upstream(node: int) -> Iterable[int]:
            computed = (i for i in self.theirs.inputs[node] if self.theirs.nodes[i].kind not in ("param", "constant"))
            return (i for i in computed if i in self.new and i not in looked_past)

        found = self._heads[id] | reached(self._heads[id] & self.new, upstream)
        # a removed node is not the value that it read, though its users now read that value
        found -= mapped
        return set(found - looked_past or found)


@dataclass(frozen=True)
class Transition:
    """Two neighbouring states of a trace."""

    step: int
    "place in `trace.steps` of the innermost step that made the second from the first"
    before: State
    after: State

    @property
    def diff(self) -> GraphDiff:
        """The changes."""
        return self.before.diff(self.after)

    @cached_property
    def forward(self) -> Images:
        return Images(self.before.graph, self.after.graph, self.diff)

    @cached_property
    def backward(self) -> Images:
        return Images(self.after.graph, self.before.graph, self.diff.inverse())


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of a pipeline on a workload: a Trace without its views."""

    name: str
    dialect: str
    steps: tuple[Step, ...]
    start: State
    opt_level: int
    build: Mapping[str, Any] = field(default_factory=dict)
    "target and Config fields of the compiler's call, if the steps are its own; empty for a pipeline's steps"
    workload: Workload | None = None
    "the trace's start; None in a trace that was opened from a file"

    def __post_init__(self) -> None:
        known = {self.start}
        for transition in self.transitions:
            # a state that comes again was made the first time; one of another trace was made there
            if transition.after not in known and transition.after.made_from is None:
                transition.after.made_from = transition.before
            known.add(transition.after)

    @property
    def end(self) -> State:
        # a pass ends after the passes that it runs
        last = min(reversed(self.steps), key=lambda step: step.depth, default=None)
        return self.start if last is None else last.state_after

    @property
    def failed(self) -> Step | None:
        """The first step that failed, if one did."""
        return next((step for step in self.steps if step.error), None)

    @cached_property
    def transitions(self) -> tuple[Transition, ...]:
        """The distinct states of the trace in order, from each to the next, with the step that made it."""
        found: list[Transition] = []
        state = self.start
        for place in _as_they_ended(self.steps):
            after = self.steps[place].state_after
            if after is not state:
                found.append(Transition(place, state, after))
                state = after
        return tuple(found)

    @property
    def states(self) -> tuple[State, ...]:
        """The distinct states of the trace in order: its start, and those after its transitions."""
        return (self.start, *(transition.after for transition in self.transitions))

    def step(self, step: int | str | Step) -> Step:
        """Return a step by its place, a negative one from the end, or the first one of a pass by its name.

        Raises
        ------
        WorkbenchError
            There is no such step.
        """
        if isinstance(step, Step):
            return step
        if isinstance(step, str):
            found = next((each for each in self.steps if each.name == step), None)
            if found is None:
                raise UnknownName("pass in this trace", step, dict.fromkeys(each.name for each in self.steps))
            return found
        if not -len(self.steps) <= step < len(self.steps):
            raise WorkbenchError(f"there is no step {step}; this trace has {len(self.steps)}")
        return self.steps[step]


def _as_they_ended(steps: Sequence[Step]) -> Iterable[int]:
    """Return the places of the steps in the order in which they ended: a pass ends after the passes that it runs."""
    open: list[int] = []
    for place, step in enumerate(steps):
        while open and steps[open[-1]].depth >= step.depth:
            yield open.pop()
        open.append(place)
    yield from reversed(open)
