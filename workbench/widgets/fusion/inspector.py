"""The FusionInspector: the graph before fusion with its future kernels as boxes, and the effect of edits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import partial
from typing import Any

import traitlets

from workbench.analysis.branches import BranchGroup
from workbench.analysis.chains import ConstantChain
from workbench.analysis.fusion.reasons import Decision
from workbench.analysis.fusion.report import FusionReport
from workbench.analysis.fusion.what_if import Why
from workbench.dialects.base import Workload
from workbench.errors import WorkbenchError
from workbench.graph.layers import layered
from workbench.measurement.boundaries.costs import BoundaryCosts, costs_of
from workbench.measurement.boundaries.trial import Limits
from workbench.pipeline import fusion_edits
from workbench.pipeline.fusion_edits import force_step, outline_step
from workbench.plots.rows import Row
from workbench.widgets.background import Task
from workbench.widgets.base import SAVE_SECONDS, SAVED, Shown, View, json_trait
from workbench.widgets.blocks import Block, linked, sendable, words
from workbench.widgets.fusion import costs, tabs
from workbench.widgets.fusion.card import card, cut_step
from workbench.widgets.fusion.program import Edit, Fused, Measured, Settings, Source, followed, measure
from workbench.widgets.fusion.tabs import Filter, PageState, unmeasurable
from workbench.widgets.graph.ids import CollapsedGroups, NodeIds, known
from workbench.widgets.history import History
from workbench.widgets.host import Host
from workbench.widgets.messages import act, field, number, verb
from workbench.widgets.page_types import Marks, Panels, Status
from workbench.widgets.payload import GraphPayload, encode_graph

LISTS = {"branches": "parallel branches", "chains": "chains of constants"}
PATIENCE = 30.0
"seconds to ask TVM for the outcomes of a list; a click asks for one more"
TABS = ("", "edits", "costs", "branches", "chains", "player", "code")
State = tuple[str, tuple[str, ...], tuple[tuple[str, int | str | None], ...]]
"before, edits, settings: the state that undo and redo restore"


class FusionInspector(View):
    """A view of the reasons why a graph becomes these kernels, and of the effect of moving their boundaries.

    Every UI action has a Python equivalent: every parameter but the first is a trait.

    Parameters
    ----------
    source
        A Workload or anything `wb.load` takes, or a Graph, which can be explained but not changed.
    before
        Passes to run first, as a Pipeline's text, such as `SimplifyInference` for some models of Relay. A program of Relax
        opens after those that TVM's default pipeline runs before FuseOps; `before=""` gives the program itself, and so do
        `edits`, `selection` and `region` without `before`, because their ids are of the program as given.
    edits
        Cuts, forces and outlines, each as a Pipeline's text; `edited` shows which were applied.
    settings
        `opt_level`, `max_depth`, `max_function_args`, `target`: those of `wb.explain_fusion`.
    selection
        Ids of nodes. Two nodes: the reason why they are two kernels. One, or those of one kernel: the reason for its size.
    region, outward
        The node whose region is shaded, -1 for none, and the number of steps outward to an enclosing region.
    tab
        "edits", "costs", "branches", "chains", "player", "code", or "" for none.
    min_branches
        The least number of parallel branches that is combined.
    frame, frame_filter
        Place among the decisions of the player, and the filter of these: `reason`, `op`, `not_fused`.

    Raises
    ------
    WorkbenchError
        A node, a pass or a setting does not exist.

    Examples
    --------
    >>> view = wb.FusionInspector(w)      # doctest: +SKIP
    >>> view.selection = [3, 4]; print(view.why)      # doctest: +SKIP
    >>> view.cut(3, 4); view.kernels      # doctest: +SKIP
    """

    _view = traitlets.Unicode("fusion").tag(**SAVED)
    graph = json_trait(GraphPayload)
    selection = NodeIds().tag(**SAVED)
    hovered = traitlets.Int(-1).tag(sync=True)
    collapsed = CollapsedGroups().tag(**SAVED)
    before = traitlets.Unicode("")
    edits = traitlets.List(traitlets.Unicode())
    settings = traitlets.Dict()
    region = traitlets.Int(-1)
    outward = traitlets.Int(0, min=0)
    tab = traitlets.Enum(TABS, default_value="").tag(**SAVED, json=str)
    min_branches = traitlets.Int(2, min=2)
    frame = traitlets.Int(0, min=0)
    frame_filter = traitlets.Dict()
    panels = json_trait(Panels, "the words of the page: its head, its card, and the open tab")
    marks = json_trait(Marks, "shades and signs on the graph")
    status = json_trait(Status, "the work under way, and what failed", saved=False)

    def __init__(self, source: object, **traits: object) -> None:
        self._source = Source(source)
        self._host = Host(self, self, in_order=True)
        self._lock = threading.RLock()
        self._fused: Fused | None = None
        self._base: Fused | None = None
        "the program with its edits, and without them, under the settings"
        self._costed: Fused | None = None
        "the program whose costs were asked for"
        self._measured = Measured()
        self._branch = -1
        "the clicked group of branches, whose outcome is asked for first"
        if not {"before", "edits", "selection", "region"} & traits.keys():
            traits["before"] = self._source.lowering()
        super().__init__(**{"height": 640, **traits})
        self._remake()
        self._made = self._state
        self._history = History(self._state)
        self.observe(self._state_changed, ["before", "edits", "settings"])
        self.observe(lambda _: self._show_card(), ["selection", "region", "outward"])
        self.observe(lambda _: self._show_tab(), ["tab", "min_branches", "frame", "frame_filter"])

    # -- the Python interface

    @property
    def fused(self) -> Fused:
        """The program with its edits, under the settings."""
        assert self._fused is not None
        return self._fused

    @property
    def report(self) -> FusionReport:
        """The report on the program with its edits."""
        return self.fused.report

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The decisions that the player shows."""
        return Filter(**self.frame_filter).of(self.fused)

    @property
    def branches(self) -> list[BranchGroup]:
        """`wb.parallel_branches` of the program with its edits."""
        return self.fused.branches(self.min_branches)

    @property
    def chains(self) -> list[ConstantChain]:
        """The chains of constants in the program with its edits."""
        return self.fused.chains

    @property
    def kernels(self) -> int:
        """Number of kernels of the program with its edits."""
        return self.fused.kernels

    @property
    def handed(self) -> int:
        """Bytes that kernels pass to other kernels with the edits, each value once."""
        return self.fused.handed

    @property
    def workload(self) -> Workload | None:
        """The program with its edits; None for a graph alone."""
        return self.fused.program.workload

    @property
    def edited(self) -> tuple[Edit, ...]:
        """The current edits, each applied or with the reason why not."""
        return self.fused.program.edits

    @property
    def why(self) -> Why | None:
        """The explanation for two selected nodes, or for the one kernel of the selected nodes; None otherwise."""
        chosen = self.selection
        if len(chosen) == 2:
            return self.report.why(*chosen)
        return self.report.why(chosen[0]) if len({self.report.group_of(n).root for n in chosen}) == 1 else None

    @act("branch")
    def choose_branch(self, place: int) -> None:
        """Compute the effect of merging one group of `branches`, and select its nodes."""
        group = self.branches[known([place], len(self.branches), "group of branches")[0]]
        self._branch = place
        self.selection = [n for branch in group.branches for n in branch]
        self._show_tab()

    def cut(self, source: int, target: int) -> None:
        """Keep the two ends of an edge in different kernels.

        Raises
        ------
        IllegalEdit
            There is no such edge, or nothing would be fused across it.
        """
        self.edit(self.fused.cut_step([source, target]).text)

    def force(self, nodes: Iterable[int]) -> None:
        """Make these nodes one kernel; raises IllegalEdit where they cannot be one."""
        self.edit(force_step(self.fused.graph, list(nodes)).text)

    def outline(self, nodes: Iterable[int], name: str) -> None:
        """Put these nodes into a composite function; raises IllegalEdit where they cannot be in one."""
        self.edit(outline_step(self.fused.graph, list(nodes), name).text)

    def edit(self, text: str) -> None:
        """Add an edit, or any pass, as a Pipeline's text; if it cannot be applied, `edited` has the reason."""
        self.edits = [*self.edits, text]

    @act("undo")
    def undo(self) -> bool:
        """Undo the last edit or setting; return whether there was one."""
        return self._travel(self._history.undo)

    @act("redo")
    def redo(self) -> bool:
        """Redo the last undone edit or setting; return whether there was one."""
        return self._travel(self._history.redo)

    @act("measure")
    def measure(self, budget: float = 0.5) -> None:
        """Build and time the program as given and with its edits, and compare outputs, in a background thread.

        Raises
        ------
        WorkbenchError
            A graph alone cannot be run, and in Relax there are no edits to compare.
        """
        refused, fused, base = unmeasurable(self.fused), self.fused, self._base
        if refused or base is None:
            raise WorkbenchError(refused)

        def work(task: Task) -> None:
            self._host.push(error=None)
            found = measure(fused, base, budget, partial(task.report, at_once=True), task.cancelled)
            if task.wanted and self._fused is fused:
                self._measured = found
                self._show_tab()

        self._host.work.lane("times").submit(work)

    @property
    def costs(self) -> BoundaryCosts | None:
        """`wb.boundary_costs` of the program with its edits, with the trials so far; None while it is computed."""
        fused = self.fused
        if self._costed is not fused:
            self._costed = fused

            def compute(task: Task) -> None:
                limits = Limits(fused.settings.target or "llvm", progress=task.report, cancelled=task.cancelled)
                self._keep(task, fused, costs_of(fused.report, fused.program.workload, limits, cuts=True))

            self._host.work.lane("costs").submit(compute)
        return fused.costs

    @act("try")
    def try_boundary(self, budget: float = 1.0) -> None:
        """Race the two parts of the selected boundary, as two kernels and as one, in a background thread.

        Raises
        ------
        WorkbenchError
            No boundary is selected, or its edit cannot be tried.
        """
        fused, before = self.fused, self.fused.costs
        chosen = None if before is None else costs.selected(before, self.selection)
        refused = costs.untriable(fused, chosen)
        if refused or chosen is None:
            raise WorkbenchError(refused)

        def race(task: Task) -> None:
            self._host.push(error=None)
            if fused.costs is not None:
                report = partial(task.report, at_once=True)
                found = fused.costs.measure([chosen], budget=budget, progress=report, cancelled=task.cancelled)
                self._keep(task, fused, found)
                self._keep(task, fused, found.peaks([chosen], progress=report, cancelled=task.cancelled))

        self._host.work.lane("costs").submit(race)

    def _keep(self, task: Task, fused: Fused, found: BoundaryCosts) -> None:
        if task.wanted and self._fused is fused:
            fused.costs = found
            self._show_tab()

    @property
    def rows(self) -> list[Row]:
        """Return the measured rows, as of `wb.measure`."""
        return list(self._measured.rows)

    @property
    def outputs(self) -> str:
        """Return the result of comparing the outputs, as a sentence; empty before."""
        return self._measured.outputs

    @verb("cancel")
    def cancel(self) -> None:
        """Stop the current work; the page stays as it is."""
        self._host.work.cancel()

    def wait(self, timeout: float = 120) -> bool:
        """Wait until all work is done; return whether that happened in time."""
        return self._host.work.wait(timeout)

    # -- buttons, keys and fields of the page

    @act("cut")
    def _cut_selection(self) -> None:
        self.edit(cut_step(self.fused, list(self.selection)).text)

    @act("force")
    def _force_selection(self) -> None:
        self.force(self.selection)

    @act("outline")
    def _outline_selection(self, arg: str) -> None:
        self.outline(self.selection, arg)

    @act("clear")
    def _clear(self) -> None:
        self.edits = []

    @act("drop")
    def _drop(self, edit: int) -> None:
        if edit >= len(self.edits):
            raise WorkbenchError(f"there is no edit {edit}; there are {len(self.edits)}")
        # later edits have other node ids now; the names of the operators show whether they still fit
        self.edits = [text for place, text in enumerate(self.edits) if place != edit]

    @act("change")
    def _change(self, arg: str) -> None:
        kind, _, value = arg.partition("=")
        if kind != "cut":
            self._set_number(kind, value)
            return
        node, graph = number("node", value), self.fused.graph
        known([node], len(graph.nodes), "node")
        edges = [(node, user, index) for user, index in graph.consumers[node]]
        self.edit(fusion_edits.cut_step(graph, edges).text)

    @act("before")
    def _run_before(self, arg: str) -> None:
        self.before = f"{self.before},{arg}" if self.before else arg

    @act("raw")
    def _run_nothing_before(self) -> None:
        self.before = ""

    @act("region")
    def _shade(self) -> None:
        if len(self.selection) != 1:
            raise WorkbenchError("a region begins at one node; select one")
        with self.hold_trait_notifications():
            self.region, self.outward = self.selection[0], 0

    @act("outward")
    def _step_outward(self) -> None:
        if self.region < 0:
            self._shade()
        elif self.outward + 1 < len(self.fused.nest(self.region)):
            self.outward += 1

    @act("select_region")
    def _select_region(self) -> None:
        if (found := self._page().shaded) is not None:
            self.selection = list(found.nodes)

    @act("unregion")
    def _unshade(self) -> None:
        self.region = -1

    @field("frame")
    def _go(self, frame: int) -> None:
        if 0 <= frame < len(self.decisions):
            self.frame = frame

    @act("back")
    def _previous(self) -> None:
        self._go(self.frame - 1)

    @act("on")
    def _next(self) -> None:
        self._go(self.frame + 1)

    @field("opt_level", "max_depth", "max_function_args")
    def _set_number(self, name: str, value: str) -> None:
        unset = value == "" and name == "max_function_args"
        self.settings = {**self.settings, name: None if unset else number(name, value)}

    @field("target")
    def _set_target(self, value: str) -> None:
        self.settings = {**self.settings, "target": "" if value == "llvm" else value}

    @field("min_branches")
    def _set_least(self, min_branches: int) -> None:
        self.min_branches = min_branches

    @field("reason", "op", "not_fused")
    def _set_filter(self, name: str, value: str) -> None:
        with self.hold_trait_notifications():
            self.frame_filter = {**self.frame_filter, name: value == "true" if name == "not_fused" else value}
            self.frame = 0

    # -- the content of the page

    def _remake(self) -> None:
        """Make the program and its picture."""
        with self._lock, self.hold_sync():
            old, settings = self._fused, Settings.of(self.settings)
            first, last = self._source.made(self.before, self.edits)
            self._base = Fused(first, settings)
            self._fused = fused = Fused(last, settings) if last.edits else self._base
            self._branch = -1
            if old is not None and old.program.edits != last.edits:
                self._measured = Measured()
            self.graph = encode_graph(layered(fused.drawn))
            if old is not None and old.graph is not fused.graph:
                # the selection and the region stay on the nodes that their nodes became
                mapping = followed(old.graph, fused.graph)
                self.selection = [a for b in self.selection for a in mapping.get(b, [])[:1]]
                self.region = next(iter(mapping.get(self.region, ())), -1)
                self.outward = 0
            self._host.push(error=None)
            self._show_card()
            self._show_tab()

    def _page(self) -> PageState:
        return PageState(
            self.fused,
            self._base or self.fused,
            before=self.before,
            edits=tuple(self.edits),
            selection=tuple(self.selection),
            region=self.region,
            outward=self.outward,
            tab=self.tab,
            min_branches=self.min_branches,
            branch=self._branch,
            frame=self.frame,
            filter=Filter(**self.frame_filter),
            measured=self._measured,
            costs=self.costs if self.tab == "costs" and not self.report.failure else None,
        )

    def _update(self, page: PageState, **panels: list[Block]) -> None:
        count = len(page.fused.graph.nodes)
        self.panels = sendable({**self.panels, **{name: linked(blocks, count) for name, blocks in panels.items()}})
        self.marks = tabs.marks(page)

    def _show_card(self) -> None:
        """Show the card of the selection; changes that would merge two kernels are added when they are computed."""
        with self._lock:
            page = self._page()
            self._update(page, card=card(page, None if page.pair else ()))
            if self.tab == "costs":
                self._update(page, tab=tabs.tab(page))
        if page.pair and not page.fused.report.failure:
            self._host.work.lane("cards").submit(lambda task: self._try(task, page))

    def _try(self, task: Task, page: PageState) -> None:
        found = page.fused.report.why(*page.selection).changes
        with self._lock:
            now = self._page()
            if task.wanted and (now.fused, now.selection) == (page.fused, page.selection):
                self._update(now, card=card(now, found))

    def _show_tab(self) -> None:
        """Show the open tab; branches and chains are added when they are found, and their outcomes when TVM gives them."""
        with self._lock:
            page = self._page()
            groups = page.groups
            shown = [words(f"Looking for {LISTS[page.tab]} …", "small")] if groups is None else tabs.tab(page)
            self._update(page, head=tabs.head(page.fused, page.base, page.before), tab=shown)
        # a row of branches asks TVM when it is clicked; a row of chains cannot be clicked
        if groups is None or any(not group.asked for group in (groups if page.tab == "chains" else page.clicked)):
            self._host.work.lane("branches").submit(lambda task: self._look(task, page))

    def _look(self, task: Task, page: PageState) -> None:
        """List the groups of the open tab, and then ask TVM for their outcomes, the clicked one first."""

        def show() -> None:
            with self._lock:
                now = self._page()
                if task.wanted and (now.fused, now.tab, now.min_branches) == (page.fused, page.tab, page.min_branches):
                    self._update(now, tab=tabs.tab(now))

        found = page.fused.chains if page.tab == "chains" else page.fused.branches(page.min_branches)
        show()
        ends = time.monotonic() + PATIENCE
        for group in (*page.clicked, *found):
            if not task.wanted or self.tab != page.tab or time.monotonic() > ends:
                break
            _ = group.results
        show()

    # -- undo and redo

    def _travel(self, move: Callable[[], bool]) -> bool:
        moved = move()
        if moved:
            before, edits, settings = self._history.current
            with self.hold_trait_notifications():
                self.before, self.edits, self.settings = before, list(edits), dict(settings)
        return moved

    def _state_changed(self, _: object) -> None:
        # three traits may change at once; the first call finds all of them changed
        if self._made != self._state:
            self._history.choose(self._state)
            self._remake()
            self._made = self._state

    @property
    def _state(self) -> State:
        return self.before, tuple(self.edits), tuple(self.settings.items())

    # -- validation of assignments

    @traitlets.validate("region")
    def _known_region(self, proposal: dict[str, Any]) -> int:
        node = proposal["value"]
        if node >= 0 and self._fused is not None:
            known([node], len(self.fused.graph.nodes), "node")
            if not self.fused.nest(node):
                raise WorkbenchError(f"what uses node {node} never meets again, so no region begins there")
        return max(node, -1)

    @traitlets.validate("settings")
    def _known_settings(self, proposal: dict[str, Any]) -> dict[str, Any]:
        return asdict(Settings.of(proposal["value"]))

    @traitlets.validate("edits", "before")
    def _known_passes(self, proposal: dict[str, Any]) -> Any:
        value = proposal["value"]
        if proposal["trait"].name == "edits":
            self._source.made(self.before, value)
        else:
            self._source.made(value, ())
        return value

    @traitlets.validate("frame_filter")
    def _known_filter(self, proposal: dict[str, Any]) -> dict[str, Any]:
        unknown = [name for name in proposal["value"] if name not in Filter.__dataclass_fields__]
        if unknown:
            raise WorkbenchError(
                f"frames are not filtered by {unknown[0]!r}, but by {', '.join(Filter.__dataclass_fields__)}"
            )
        return dict(proposal["value"])

    # -- the saved page

    def _wait_for_picture(self) -> bool:
        return self.shown_graphs() is not None or self.wait(SAVE_SECONDS)

    def shown_graphs(self) -> Shown | None:
        return None if self._fused is None else (self.fused.drawn,)
