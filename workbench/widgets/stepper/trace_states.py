"""The distinct states of a trace, numbered, and the messages that send them to a page: a state, a text, a difference."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator

from workbench.errors import WorkbenchError
from workbench.graph.changes import GraphDiff, quiet_counts
from workbench.graph.diff import diff
from workbench.graph.layers import layered
from workbench.graph.model import Graph
from workbench.pipeline.checks import StepCheck
from workbench.pipeline.lineage import lineage
from workbench.pipeline.step import SURE, State
from workbench.pipeline.trace import Trace
from workbench.quoting import comment
from workbench.widgets.background import Task
from workbench.widgets.page_types import (
    CheckState,
    Facts,
    LineageMessage,
    LoopRow,
    MarkCounts,
    Place,
    Printed,
    ToPage,
)
from workbench.widgets.payload import encode_diff, encode_graph

Checked = dict[str, CheckState]
"results of `trace.check` by the place of the step, as text"
Wish = tuple[str | int, ...]
"an item of a `want` message"
WHOLE = -1
"the step number of the whole trace: its start against its end"
_STEPPER = "stepper = wb.PassStepper(t)"
_BINDING = re.compile(r"\s*([A-Za-z_]\w*)(?:: .+?)? = ")
"a line of TVMScript that gives a value its name"
_FUNCTION = re.compile(r"\s*def (\w+)\(")


class States:
    """The states of a trace, in order. A pass that changed nothing makes no state."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._states: list[State] = []
        self._numbers: dict[int, int] = {}

        def number(state: State) -> int:
            if id(state) not in self._numbers:
                self._numbers[id(state)] = len(self._states)
                self._states.append(state)
            return self._numbers[id(state)]

        number(trace.start)
        for transition in trace.transitions:
            # neighbours in this order are the input and the result of one pass, nested ones included
            number(transition.after)
        self.visited = [0, *(number(transition.after) for transition in trace.transitions)]
        "numbers of the states in the order of the trace; one that comes again is there twice"
        self.of_step = [(number(step.state_before), number(step.state_after)) for step in trace.steps]
        "numbers of the states before and after each step"

    def __len__(self) -> int:
        return len(self._states)

    def pair(self, step: int) -> tuple[int, int]:
        """Return the states before and after a step; -1 is the whole trace."""
        if step >= 0:
            return self.of_step[step]
        return 0, self.after(len(self.of_step) - 1)

    def after(self, step: int) -> int:
        """Return the state after a step; -1 is the trace's start."""
        return self.of_step[step][1] if step >= 0 else 0

    def graph(self, state: int) -> Graph:
        return self._states[state].graph

    def diff(self, before: int, after: int) -> GraphDiff:
        return diff(self.graph(before), self.graph(after))

    # -- messages to the page

    def message(self, wish: Wish) -> ToPage:
        """Return the answer to a request of the page.

        A request is ("state", n), ("facts", n), ("text", n), ("diff", a, b), ("counts", a, b), ("lineage", n, node),
        ("code", step) or ("code", step, step).
        """
        known, steps = range(len(self)), range(WHOLE, len(self.of_step))
        match wish:
            case ("facts", int(n)) if n in known:
                return {"type": "facts", **self._sizes(n)}
            case ("state", int(n)) if n in known:
                return {"type": "state", **self._sizes(n), "graph": encode_graph(layered(self.graph(n)))}
            case ("text", int(n)) if n in known:
                state = self._states[n]
                loops = [LoopRow(**vars(row)) for row in state.loops]
                return {"type": "text", "state": n, "loops": loops, **printed(state)}
            case ("counts", int(a), int(b)) if a in known and b in known:
                return {"type": "counts", "before": a, "after": b, "counts": self._marks(a, b)}
            case ("diff", int(a), int(b)) if a in known and b in known:
                encoded = encode_diff(self.diff(a, b), self.graph(a), self.graph(b))
                return {"type": "diff", "before": a, "after": b, "counts": self._marks(a, b), "diff": encoded}
            case ("lineage", int(n), int(node)):
                return self.lineage(n, node)
            case ("code", int(a)) if a in steps:
                return {"type": "code", "steps": [a], "text": self._code(a)}
            case ("code", int(a), int(b)) if a in steps and b in steps:
                graphs = ["t.start.graph" if step == WHOLE else f"t.steps[{step}].after" for step in (a, b)]
                lines = [_STEPPER, f"stepper.compare({a}, {b})", f"wb.diff({', '.join(graphs)})"]
                return {"type": "code", "steps": [a, b], "text": "\n".join(lines)}
            case _:
                raise WorkbenchError(
                    f"the page asked for {list(wish)!r}; this trace has the states 0 to {len(self) - 1}"
                )

    def _sizes(self, state: int) -> Facts:
        graph = self.graph(state)
        return {"state": state, "nodes": len(graph.nodes), "ops": len(graph.ops), "kernels": graph.kernel_count}

    def _marks(self, before: int, after: int) -> MarkCounts:
        return MarkCounts(**quiet_counts(self.diff(before, after), self.graph(before), self.graph(after)))

    def _code(self, step: int) -> str:
        if step == WHOLE:
            return f"{_STEPPER}\nstepper.step = -1\nt.diff"
        at = f"t.steps[{step}]"
        return (
            f"{_STEPPER}\nstepper.step = {step}\n{at}.diff    # {comment(self.trace.steps[step].name)}\n{at}.text_after"
        )

    def lineage(self, state: int, node: int) -> LineageMessage:
        """Return one node's path through the trace: the states in order, its nodes in each, and the certainty of the link."""
        if not 0 <= state < len(self):
            raise WorkbenchError(f"there is no state {state}; this trace has the states 0 to {len(self) - 1}")
        found = lineage(self.trace, self._states[state], node)
        rows = [self._place(at, ids) for at, ids in zip(found.states, found.places, strict=True)]
        for link in found.links:
            row = rows[link.transition + 1]
            row["sure"] = max(row["sure"], link.sure, key=("", *SURE).index)
        for row, transition in zip(rows[1:], self.trace.transitions, strict=True):
            row["step"] = transition.step
        return {"type": "lineage", "state": state, "node": node, "places": rows}

    def _place(self, state: State, ids: tuple[int, ...]) -> Place:
        """Return the nodes of a node in one state; `step` made the state, and `sure` is the least sure link into it."""
        graph = state.graph
        groups = dict.fromkeys(graph.kernel_of(id) for id in ids)
        return {
            "state": self._numbers[id(state)],
            "step": WHOLE,
            "ids": list(ids),
            "ops": list(dict.fromkeys(graph.nodes[id].op for id in ids)),
            "kernels": [graph.groups[group].name for group in groups if group is not None],
            "sure": "",
        }


def printed(state: State) -> Printed:
    """Return a state's module as text, and for each node of its graph the line that binds it."""
    return {"text": state.text, "lines": array("I", lines(state.graph, state.text)).tobytes()}


def lines(graph: Graph, text: str) -> Iterator[int]:
    """Iterate over the line of the text that binds each node, from 1; 0 if unknown.

    If a graph was not read from text, it is the line that gives a value that name, in the function of the node's group; outside
    of any such group, in the only function that has a line for it.
    """
    if any(node.line for node in graph.nodes):
        yield from (node.line for node in graph.nodes)
        return
    functions = _bindings(text)
    homes = [functions.get(group.name) for group in graph.groups]
    elsewhere = [bound for name, bound in functions.items() if all(group.name != name for group in graph.groups)]
    for node in graph.nodes:
        inside = [home for group in graph.ancestors(node.group) if (home := homes[group.id]) is not None]
        found = [bound[node.name] for bound in inside[:1] or elsewhere if node.name in bound]
        yield found[0] if node.name and len(found) == 1 else 0


def _bindings(text: str) -> dict[str, dict[str, int]]:
    """Return for each function of a module in TVMScript the lines that give a value a name."""
    functions: dict[str, dict[str, int]] = {}
    bound: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if head := _FUNCTION.match(line):
            bound = functions.setdefault(head[1], {})
        elif found := _BINDING.match(line):
            bound.setdefault(found[1], number)
    return functions


def check_outputs(trace: Trace, found: Callable[[Checked], None], failed: Callable[[str], None], task: Task) -> None:
    """Run `trace.check` on the steps that changed something; call `found` with all results so far, `failed` with a sentence."""
    places = [place for place, step in enumerate(trace.steps) if step.changed]
    checked: Checked = {}

    def add(row: StepCheck) -> None:
        done = places.index(row.step) + 1
        first = None if row.first is None else (row.first.before, row.first.after)
        checked[str(row.step)] = {"status": row.status, "text": row.message, "first": first}
        if task.wanted:
            found(dict(checked))
            task.report(f"Checking outputs: {row.name} ({done} of {len(places)})", done / len(places), at_once=True)

    found({})
    task.report("Checking outputs", 0.0, at_once=True)
    try:
        trace.check(places, progress=add, cancelled=lambda: not task.wanted)
    except WorkbenchError as error:
        if task.wanted:
            failed(str(error))
