"""The controller of a FusionInspector: remakes its picture, the words about it and the marks when the program changes."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from workbench.analysis.branches import BranchGroup, parallel_branches
from workbench.analysis.branches.relax import is_lowered
from workbench.analysis.chains import ConstantChain, constant_chains
from workbench.analysis.fusion.reasons import Decision
from workbench.graph.layers import layered
from workbench.graph.model import Graph
from workbench.measurement.boundaries.costs import BoundaryCosts
from workbench.widgets.background import Background, Task
from workbench.widgets.blocks import Block, linked, sendable, words
from workbench.widgets.fusion import costs, tabs
from workbench.widgets.fusion.card import card, region_card
from workbench.widgets.fusion.program import Fused, Measured, Settings, Source, followed, measure
from workbench.widgets.inspector_queue import Requests
from workbench.widgets.page_types import Marks, Panels
from workbench.widgets.payload import encode_graph

if TYPE_CHECKING:
    from workbench.widgets.fusion.inspector import FusionInspector

LISTS = {"branches": "parallel branches", "chains": "chains of constants"}
PATIENCE = 30.0
"seconds to ask TVM for the outcomes of a list; a click asks for one more"


class Controller:
    """The controller of the page: a new picture when the program or a setting changes, new words when anything else changes.

    Attributes
    ----------
    fused, base
        The program with its edits, and without them, under the settings; None before the first `remake`.
    measured
        The times of both, and the comparison of their outputs.
    branch
        The group of branches whose merge is computed first; -1 for none.
    """

    def __init__(self, view: FusionInspector, source: Source, requests: Requests) -> None:
        self._view = view
        self._requests = requests
        self.source = source
        self.fused: Fused | None = None
        self.base: Fused | None = None
        self.measured = Measured()
        self.branch = -1
        self._branches: dict[int, list[BranchGroup]] = {}
        "by the least number of branches"
        self._chains: list[ConstantChain] | None = None
        self._lock = threading.RLock()
        self._trying = Background("workbench-fusion-cards", requests.show_failure)
        self._listing = Background("workbench-fusion-branches", requests.show_failure)
        self._measuring = Background("workbench-fusion-times", requests.show_failure, requests.show_busy)
        self.costs = costs.Costs(requests, self.show_tab)
        self.work = (requests.work, self._trying, self._listing, self._measuring, self.costs.work)

    def remake(self) -> None:
        """Make the program and its picture."""
        view = self._view
        with self._lock, view.hold_sync():
            old = self.fused
            settings = Settings.of(view.settings)
            first, last = self.source.made(view.before, view.edits)
            self.base = Fused(first, settings)
            self.fused = fused = Fused(last, settings) if last.edits else self.base
            self._branches, self._chains, self.branch = {}, None, -1
            if old is not None and old.program.edits != fused.program.edits:
                self.measured = Measured()
            view.graph = encode_graph(layered(fused.drawn))
            if old is not None and old.graph is not fused.graph:
                self._follow(old.graph, fused.graph)
            self._requests.show(error=None)
            self.show_card()
            self.show_tab()

    def _follow(self, old: Graph, new: Graph) -> None:
        """Keep the selection and the region on the nodes that their nodes became."""
        view, mapping = self._view, followed(old, new)
        view.selection = [a for b in view.selection for a in mapping.get(b, [])[:1]]
        view.region = next(iter(mapping.get(view.region, ())), -1)
        view.outward = 0

    # -- the lists

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The decisions that the player shows."""
        return tabs.Filter(**self._view.frame_filter).of(self._view.fused)

    @property
    def branches(self) -> list[BranchGroup]:
        """The groups of parallel branches."""
        least = self._view.min_branches
        if least not in self._branches:
            self._branches[least] = parallel_branches(self._view.fused.graph, least)
        return self._branches[least]

    @property
    def chains(self) -> list[ConstantChain]:
        """The chains of constants."""
        if self._chains is None:
            self._chains = constant_chains(self._view.fused.graph)
        return self._chains

    # -- the card

    def show_card(self) -> None:
        """Show the card of the selection; changes that would merge two kernels are added when they are computed."""
        with self._lock:
            fused, chosen = self._view.fused, list(self._view.selection)
            pair = len(chosen) == 2 and len({fused.report.group_of(n).root for n in chosen}) == 2
            self._update_panels({"card": [*self._region(), *card(fused, chosen, None if pair else ())]})
            self._mark()
            if self._view.tab == "costs":
                self._update_panels({"tab": self._tab()})
        if pair and not fused.report.failure:
            self._trying.submit(lambda task: self._try(task, fused, chosen))

    def _try(self, task: Task, fused: Fused, chosen: Sequence[int]) -> None:
        found = fused.report.why(chosen[0], chosen[1]).changes
        with self._lock:
            if task.wanted and self.fused is fused and list(self._view.selection) == chosen:
                self._update_panels({"card": [*self._region(), *card(fused, chosen, found)]})

    def _region(self) -> list[Block]:
        view = self._view
        if not 0 <= view.region < len(view.fused.graph.nodes) or not (nest := view.fused.nest(view.region)):
            return []
        return region_card(view.fused, view.region, min(view.outward, len(nest) - 1))

    # -- the line above the graph, and the open tab

    def show_tab(self) -> None:
        """Show the open tab; branches and chains are added when they are found, and their outcomes when TVM gives them."""
        view = self._view
        with self._lock:
            listed = self._listed()
            shown = [words(f"Looking for {LISTS[view.tab]} …", "small")] if listed is None else self._tab()
            self._update_panels({"head": tabs.head(view.fused, self.base or view.fused, view.before), "tab": shown})
            self._mark()
        # a row of branches asks TVM when it is clicked; a row of chains cannot be clicked
        wanted = (listed or ()) if view.tab == "chains" else self._chosen(listed or ())
        if listed is None or any(not group.asked for group in wanted):
            self._listing.submit(self._look)

    def _listed(self) -> Sequence[BranchGroup] | Sequence[ConstantChain] | None:
        """Return the groups of the open tab; None where they are not known yet, and () for a tab without groups."""
        if self._view.tab == "branches":
            return self._branches.get(self._view.min_branches)
        return self._chains if self._view.tab == "chains" else ()

    def _chosen(self, listed: Sequence[BranchGroup] | Sequence[ConstantChain]) -> Sequence[BranchGroup | ConstantChain]:
        """Return the group of branches that the user clicked."""
        return listed[self.branch :][:1] if self._view.tab == "branches" and self.branch >= 0 else ()

    def _look(self, task: Task) -> None:
        """List the groups of the open tab, and then ask TVM for their outcomes, the clicked one first."""
        view, fused = self._view, self._view.fused
        tab, least = view.tab, view.min_branches
        if tab not in LISTS:
            return

        def show() -> None:
            with self._lock:
                if task.wanted and self.fused is fused and (view.tab, view.min_branches) == (tab, least):
                    self._update_panels({"tab": self._tab()})
                    self._mark()

        found = self._find(fused, tab, least)
        show()
        ends = time.monotonic() + PATIENCE
        for group in (*self._chosen(found), *found):
            if not task.wanted or view.tab != tab or time.monotonic() > ends:
                break
            _ = group.results
        show()

    def _find(self, fused: Fused, tab: str, least: int) -> Sequence[BranchGroup] | Sequence[ConstantChain]:
        """Return the groups of a tab, from the last time if they are known."""
        listed = self._branches.get(least) if tab == "branches" else self._chains
        if listed is not None:
            return listed
        if tab == "branches":
            branches = parallel_branches(fused.graph, least)
            with self._lock:
                if self.fused is fused:
                    self._branches[least] = branches
            return branches
        chains = constant_chains(fused.graph)
        with self._lock:
            if self.fused is fused:
                self._chains = chains
        return chains

    def _tab(self) -> list[Block]:
        view, fused = self._view, self._view.fused
        if view.tab == "branches":
            return tabs.branches(self.branches, view.min_branches, lowered=is_lowered(fused.graph))
        if view.tab == "chains":
            return tabs.chains(self.chains)
        if view.tab == "costs":
            return costs.blocks(fused, self._costs(), view.selection)
        if view.tab == "player":
            frames = self.decisions
            shown = tabs.Filter(**self._view.frame_filter)
            return tabs.player(fused, shown, frames, min(view.frame, max(len(frames) - 1, 0)))
        if view.tab == "code":
            return tabs.code_blocks(view.before, list(view.edits), fused, list(view.selection))
        return tabs.what_if(fused, self.base or fused, self.measured)

    def _costs(self) -> BoundaryCosts | None:
        return None if self._view.fused.report.failure else self.costs.of(self._view.fused)

    def _mark(self) -> None:
        view, fused = self._view, self._view.fused
        marks: Marks = {}
        if view.tab == "player" and (frames := self.decisions):
            marks = tabs.decision_marks(fused, frames[min(view.frame, len(frames) - 1)])
        elif view.tab == "branches" and view.min_branches in self._branches:
            marks = tabs.branch_marks(self.branches)
        elif view.tab == "chains" and self._chains is not None:
            marks = tabs.chain_marks(self.chains)
        elif view.tab == "costs":
            marks = costs.marks(self._costs())
        if view.region >= 0 and (nest := fused.nest(view.region)):
            marks.update(tabs.region_marks(nest[min(view.outward, len(nest) - 1)]))
        view.marks = marks

    def _update_panels(self, panels: Panels) -> None:
        count = len(self._view.fused.graph.nodes)
        shown: Panels = {**self._view.panels}
        for name in ("head", "card", "tab"):
            if (blocks := panels.get(name)) is not None:
                shown[name] = linked(blocks, count)
        self._view.panels = sendable(shown)

    # -- times

    def measure(self, budget: float) -> None:
        """Measure the program as given and with its edits, in the background."""
        fused, base = self._view.fused, self.base
        assert base is not None
        self._measuring.submit(lambda task: self._measure(task, fused, base, budget))

    def _measure(self, task: Task, fused: Fused, base: Fused, budget: float) -> None:
        self._requests.show(error=None)
        found = measure(fused, base, budget, partial(task.report, at_once=True), task.cancelled)
        if task.wanted and self.fused is fused:
            self.measured = found
            self.show_tab()
