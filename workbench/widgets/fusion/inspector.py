"""The FusionInspector: the graph before fusion with its future kernels as boxes, and the effect of edits."""

from __future__ import annotations

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
from workbench.measurement.boundaries.costs import BoundaryCosts
from workbench.pipeline.fusion_edits import force_step, outline_step
from workbench.plots.rows import Row
from workbench.widgets.base import SAVE_SECONDS, SAVED, Shown, View, json_trait
from workbench.widgets.fusion import actions
from workbench.widgets.fusion.controller import Controller
from workbench.widgets.fusion.program import Edit, Fused, Settings, Source
from workbench.widgets.fusion.tabs import Filter, unmeasurable
from workbench.widgets.graph.ids import CollapsedGroups, NodeIds, known
from workbench.widgets.history import History
from workbench.widgets.inspector_queue import Requests
from workbench.widgets.messages import Act, Handlers, Set
from workbench.widgets.page_types import Marks, Panels, Status
from workbench.widgets.payload import GraphPayload

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
    tab = traitlets.Enum(TABS, default_value="").tag(**SAVED)
    min_branches = traitlets.Int(2, min=2)
    frame = traitlets.Int(0, min=0)
    frame_filter = traitlets.Dict()
    panels = json_trait(Panels, "the words of the page: its head, its card, and the open tab")
    marks = json_trait(Marks, "shades and signs on the graph")
    status = json_trait(Status, "the work under way, and what failed", saved=False)

    def __init__(self, source: object, **traits: object) -> None:
        handlers = Handlers().on(Act, partial(actions.act, self)).on(Set, partial(actions.set_field, self))
        self._requests = Requests(self, handlers)
        given = Source(source)
        self._controller = Controller(self, given, self._requests)
        if not {"before", "edits", "selection", "region"} & traits.keys():
            traits["before"] = given.lowering()
        super().__init__(**{"height": 640, **traits})
        self._controller.remake()
        self._made = self._state
        self._history = History(self._state)
        self.observe(self._state_changed, ["before", "edits", "settings"])
        self.observe(lambda _: self._controller.show_card(), ["selection", "region", "outward"])
        self.observe(lambda _: self._controller.show_tab(), ["tab", "min_branches", "frame", "frame_filter"])

    # -- the Python interface

    @property
    def fused(self) -> Fused:
        """The program with its edits, under the settings."""
        assert self._controller.fused is not None
        return self._controller.fused

    @property
    def report(self) -> FusionReport:
        """The report on the program with its edits."""
        return self.fused.report

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The decisions that the player shows."""
        return self._controller.decisions

    @property
    def branches(self) -> list[BranchGroup]:
        """`wb.parallel_branches` of the program with its edits."""
        return self._controller.branches

    @property
    def chains(self) -> list[ConstantChain]:
        """The chains of constants in the program with its edits."""
        return self._controller.chains

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

    def choose_branch(self, place: int) -> None:
        """Compute the effect of merging one group of `branches`, and select its nodes."""
        group = self.branches[known([place], len(self.branches), "group of branches")[0]]
        self._controller.branch = place
        self.selection = [n for branch in group.branches for n in branch]
        self._controller.show_tab()

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

    def undo(self) -> bool:
        """Undo the last edit or setting; return whether there was one."""
        return self._travel(self._history.undo)

    def redo(self) -> bool:
        """Redo the last undone edit or setting; return whether there was one."""
        return self._travel(self._history.redo)

    def measure(self, budget: float = 0.5) -> None:
        """Build and time the program as given and with its edits, and compare outputs, in a background thread.

        Raises
        ------
        WorkbenchError
            A graph alone cannot be run, and in Relax there are no edits to compare.
        """
        refused = unmeasurable(self.fused)
        if refused:
            raise WorkbenchError(refused)
        self._controller.measure(budget)

    @property
    def costs(self) -> BoundaryCosts | None:
        """`wb.boundary_costs` of the program with its edits, with the trials so far; None while it is computed."""
        return self._controller.costs.of(self.fused)

    def try_boundary(self, budget: float = 1.0) -> None:
        """Race the two parts of the selected boundary, as two kernels and as one, in a background thread.

        Raises
        ------
        WorkbenchError
            No boundary is selected, or its edit cannot be tried.
        """
        self._controller.costs.try_edit(self.fused, self.selection, budget)

    @property
    def rows(self) -> list[Row]:
        """Return the measured rows, as of `wb.measure`."""
        return list(self._controller.measured.rows)

    @property
    def outputs(self) -> str:
        """Return the result of comparing the outputs, as a sentence; empty before."""
        return self._controller.measured.outputs

    def cancel(self) -> None:
        """Stop the current work; the page stays as it is."""
        self._requests.cancel()
        for each in self._controller.work:
            each.cancel()

    def wait(self, timeout: float = 120) -> bool:
        """Wait until all work is done; return whether that happened in time."""
        # finished work may start more
        return all(each.wait(timeout) for each in self._controller.work * 2)

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
            self._controller.remake()
            self._made = self._state

    @property
    def _state(self) -> State:
        return self.before, tuple(self.edits), tuple(self.settings.items())

    # -- validation of assignments

    @traitlets.validate("region")
    def _known_region(self, proposal: dict[str, Any]) -> int:
        node = proposal["value"]
        if node >= 0 and self._controller.fused is not None:
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
            self._controller.source.made(self.before, value)
        else:
            self._controller.source.made(value, ())
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
        return None if self._controller.fused is None else (self.fused.drawn,)
