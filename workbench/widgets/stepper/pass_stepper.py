"""A trace, step by step: the passes in a list, the graph before and after each, the text, and the origin of a node.

The page keeps the states it received and steps through them by itself, so a step needs no request to the kernel. It asks for
missing states, nearest first; `States` answers in its own thread. A saved page holds the same answers.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from functools import partial
from typing import Any

import traitlets

from workbench.errors import WorkbenchError
from workbench.graph.changes import GraphDiff
from workbench.graph.layers import layered
from workbench.graph.model import Graph
from workbench.measurement.overlay import Overlay
from workbench.pipeline.trace import Trace
from workbench.quoting import comment
from workbench.widgets.background import Task, sentence
from workbench.widgets.base import SAVED, View, json_trait, saved_traits
from workbench.widgets.graph.compare import MODES
from workbench.widgets.graph.ids import CollapsedSides, SideIds
from workbench.widgets.host import Host
from workbench.widgets.messages import verb
from workbench.widgets.page_types import (
    CheckState,
    Listing,
    LostMessage,
    OverlayState,
    Status,
    StepState,
    overlay_state,
    show_message,
)
from workbench.widgets.payload import encode_diff, encode_graph, packed
from workbench.widgets.stepper.saved_trace import saved_trace
from workbench.widgets.stepper.trace_states import WHOLE, States, Wish, check_outputs
from workbench.widgets.still import AGAIN, LIVE
from workbench.wording import counted


class PassStepper(View):
    """A view that steps through a trace, without TVM: `wb.PassStepper(wb.Trace.open("resnet50.wbtrace"))`.

    Every UI action has a Python equivalent: every parameter but the first is a trait.

    Parameters
    ----------
    trace
        From `wb.trace`, `wb.trace_build` or `wb.Trace.open`.
    step
        Place of the shown step in `trace.steps`; -1 shows the whole trace, its start against its end. By default the
        first step that failed or changed something.
    pinned
        At most two steps, A and B. `shows="pinned"` compares the states after them; -1 is the start of the trace.
    shows
        "step" or "pinned".
    hide_unchanged
        Whether the list leaves out the passes that changed nothing.
    selection
        Node ids of the shown graphs: `{"before": [3], "after": [2]}`.

    Raises
    ------
    WorkbenchError
        There is no such step.
    """

    _view = traitlets.Unicode("stepper").tag(**SAVED)
    selection = SideIds().tag(**SAVED)
    hovered = SideIds().tag(sync=True)
    collapsed = CollapsedSides().tag(**SAVED)
    mode = traitlets.Enum(MODES, default_value="split").tag(**SAVED)
    hops = traitlets.Int(1, min=0, help="steps around a change that `changed` mode shows").tag(**SAVED)
    overlay_state = json_trait(OverlayState)
    step = traitlets.Int(WHOLE, help="place in trace.steps; -1: the whole trace").tag(**SAVED)
    pinned = traitlets.List(traitlets.Int(), maxlen=2, help="steps A and B").tag(**SAVED)
    shows = traitlets.Enum(("step", "pinned"), default_value="step").tag(**SAVED)
    hide_unchanged = traitlets.Bool(True).tag(**SAVED)
    listing = json_trait(Listing, "the passes as the page lists them")
    checks = json_trait(
        dict[str, CheckState], "place of a step, as text -> its status in trace.check, and what differs"
    )
    status = json_trait(Status, "what is being done, and what failed", saved=False)

    def __init__(self, trace: Trace, **traits: object) -> None:
        if not isinstance(trace, Trace):
            raise WorkbenchError(
                f"PassStepper takes a trace, not {type(trace).__name__}; give a trace: wb.PassStepper(wb.trace_build(workload))"
            )
        self.trace = trace
        self._states = States(trace)
        self._host = Host(self, self, title="The check failed")
        interesting = (place for place, step in enumerate(trace.steps) if step.error or step.changed)
        first = next(interesting, WHOLE)
        failed = next((place for place, step in enumerate(trace.steps) if step.error), first)
        super().__init__(**{"height": 640, "step": failed, **traits})
        self.listing = self._listed()

    # -- the Python interface

    def compare(self, a: int, b: int) -> None:
        """Pin two steps and compare the states after them; -1 is the start of the trace."""
        with self.hold_sync():
            self.pinned = [a, b]
            self.shows = "pinned"

    def overlay(self, before: Overlay | None = None, after: Overlay | None = None, title: str = "") -> None:
        """Colour kernels by a measured value, as `CompareView.overlay`."""
        self.overlay_state = overlay_state(before, after, title)

    def show(self, nodes: Iterable[int], side: str = "after") -> None:
        """Bring nodes of one side into view, as `CompareView.show`."""
        self.send(show_message(nodes, side))

    def wait(self, timeout: float = 120) -> bool:
        """Wait until the page's requests and the checks are done; return whether that happened in time."""
        return self._host.work.wait(timeout)

    @property
    def shown(self) -> tuple[int, int]:
        """Return the numbers of the two states on the page; states are numbered in the order of the trace."""
        if self.shows == "pinned" and len(self.pinned) == 2:
            return self._states.after(self.pinned[0]), self._states.after(self.pinned[1])
        return self._states.pair(self.step)

    @traitlets.validate("step")
    def _known_step(self, proposal: dict[str, Any]) -> int:
        return self._place(proposal["value"])

    @traitlets.validate("pinned")
    def _known_steps(self, proposal: dict[str, Any]) -> list[int]:
        return [self._place(step) for step in proposal["value"]]

    def _place(self, step: int) -> int:
        if not WHOLE <= step < len(self.trace.steps):
            last = len(self.trace.steps) - 1
            raise WorkbenchError(f"there is no step {step}; the steps are {WHOLE} (the whole trace) to {last}")
        return step

    # -- messages to the page

    def _listed(self) -> Listing:
        trace = self.trace
        try:
            code = f"# The same passes with TVM alone:\n{trace.code()}"
        except WorkbenchError as error:
            code = f"# {comment(error)}"
        shown = ("name", "depth", "status", "seconds", "error", "detail")
        steps = [
            StepState(**{name: getattr(step, name) for name in shown}, before=before, after=after)
            for step, (before, after) in zip(trace.steps, self._states.of_step, strict=True)
        ]
        return {
            "title": trace.name,
            "dialect": trace.dialect,
            "opt_level": trace.opt_level,
            "steps": steps,
            "titles": [self._titles_of(place) for place in range(WHOLE, len(steps))],
            "checkable": trace.workload is not None,
            "code": code,
        }

    @verb("want")
    def _want(self, items: list[list[str | int]]) -> None:
        """Send these states, texts and differences, the first ones first; States.message lists the kinds."""
        requests = {wish: partial(self._answer, wish) for wish in map(tuple, items)}
        self._host.work.lane("states").submit_first(requests, self._lost)

    def _answer(self, wish: Wish, _: Task) -> None:
        self.send(*packed(self._states.message(wish)))

    def _lost(self, wish: Wish, error: Exception) -> None:
        lost: LostMessage = {"type": "lost", "wish": list(wish), "text": sentence(error)}
        self.send(lost)

    # -- checks

    @verb("check")
    def check(self) -> None:
        """Find the passes that changed the outputs, as `trace.check` does, in a background thread; `checks` has the result.

        Raises
        ------
        WorkbenchError
            The trace was opened from a file, so it holds no modules.
        """
        if self.trace.workload is None:
            raise WorkbenchError("this trace was opened from a file and holds no modules; run it again to check it")
        self._host.push(error=None)
        found, failed = partial(self.set_trait, "checks"), partial(self._host.fail, "The outputs cannot be checked")
        self._host.work.lane("checks").submit(partial(check_outputs, self.trace, found, failed))

    @verb("cancel")
    def _cancel(self) -> None:
        self._host.work.lane("checks").cancel()

    # -- the saved page

    def shown_graphs(self) -> tuple[Graph, Graph, GraphDiff]:
        before, after = self.shown
        return self._states.graph(before), self._states.graph(after), self._states.diff(before, after)

    def _traits_to_draw(self) -> dict[str, object]:
        before, after, changes = self.shown_graphs()
        graphs = {"before": encode_graph(layered(before)), "after": encode_graph(layered(after))}
        return {**saved_traits(self), **graphs, "diff": encode_diff(changes, before, after), "titles": self._titles()}

    def _traits_to_save(self) -> dict[str, object]:
        return {**saved_traits(self), "saved_trace": saved_trace(self._states, self.shown)}

    def _title(self) -> str:
        return f"{self.trace.name[:80] or 'trace'} - tvm-workbench"

    def _first_picture(self) -> str:
        """Return "": a picture would fetch graphs before the widget is on the screen."""
        return ""

    def _still_words(self, *, drawn: bool) -> str:
        steps = self.trace.steps
        told = [step for step in steps if step.changed or step.error]
        rows = [f"{step.name[:80]}: {step.error or f'{step.seconds * 1e3:.1f} ms'}" for step in told]
        words = f"{self.trace.name[:80]}: {counted(len(steps), 'pass')}, {sum(step.changed for step in steps):,} changed something."
        items = "".join(f"<li>{html.escape(row)}</li>" for row in rows)
        return f"<p>{html.escape(words)} {LIVE if drawn else AGAIN}</p><ul>{items}</ul>"

    def _titles(self) -> list[str]:
        if self.shows == "pinned" and len(self.pinned) == 2:
            a, b = self.pinned
            return [self._titles_of(a)[2], self._titles_of(b)[3]]
        return [*self._titles_of(self.step)[:2]]

    def _titles_of(self, step: int) -> tuple[str, str, str, str]:
        name = self.trace.steps[step].name if step >= 0 else "all passes"
        pinned = f"after {name}" if step >= 0 else "the start"
        return f"before {name}", f"after {name}", f"A: {pinned}", f"B: {pinned}"
