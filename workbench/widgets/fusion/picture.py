"""From what a FusionInspector holds to what its page shows: a picture, and words about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.analysis.branches import BranchGroup, parallel_branches
from workbench.analysis.branches.relax import is_lowered
from workbench.analysis.chains import ConstantChain, constant_chains
from workbench.analysis.fusion.reasons import Decision
from workbench.analysis.fusion.report import FusionReport
from workbench.errors import WorkbenchError
from workbench.graph.model import Graph
from workbench.widgets.background import Background, Task
from workbench.widgets.blocks import Block, sendable, words
from workbench.widgets.fusion import tabs
from workbench.widgets.fusion.card import card, region_card
from workbench.widgets.fusion.program import Fused, Settings, followed
from workbench.widgets.fusion.tabs import Filter, branches, chains, code_blocks, head, player, what_if
from workbench.widgets.fusion.traits import FusionTraits
from workbench.widgets.payload import encode_graph

State = tuple[str, tuple[str, ...], tuple[tuple[str, Any], ...]]
"before, edits, settings: what undo and redo travel through"


class FusionPicture(FusionTraits):
    """Makes the picture anew when the program or a setting changes, and the words when anything else does."""

    def __init__(self, **traits: Any) -> None:
        self._measured: tuple[list[dict[str, Any]], str] = ([], "")
        self._branch = -1
        self._found: dict[str, Any] = {}
        self._trying = Background("workbench-fusion-cards", self._failed)
        self._listing = Background("workbench-fusion-branches", self._failed)
        super().__init__(**traits)

    @property
    def report(self) -> FusionReport:
        """The report on what is shown."""
        return self.fused.report

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The decisions that the player shows."""
        return Filter(**self.frame_filter).of(self.fused)

    @property
    def branches(self) -> list[BranchGroup]:
        """`wb.parallel_branches` of what is shown."""
        return self._once(
            f"branches {self.min_branches}", lambda: parallel_branches(self.fused.graph, self.min_branches)
        )

    @property
    def chains(self) -> list[ConstantChain]:
        """The chains of constants of what is shown."""
        return self._once("chains", lambda: constant_chains(self.fused.graph))

    @property
    def _state(self) -> State:
        return self.before, tuple(self.edits), tuple(self.settings.items())

    def _remake(self) -> None:
        with self._lock, self.hold_sync():
            old = self._fused
            settings = Settings.of(self.settings)
            first, last = self._source.made(self.before, self.edits)
            self._base = Fused(first, settings)
            self._fused = fused = Fused(last, settings) if last.edits else self._base
            self._made = self._state
            self._found, self._branch = {}, -1
            if old is not None and old.program.edits != fused.program.edits:
                self._measured = ([], "")
            self.graph = encode_graph(fused.drawn.layered)
            if old is not None and old.graph is not fused.graph:
                self._follow(old.graph, fused.graph)
            self._tell(error=None)
            self._show_card()
            self._show_tab()

    def _follow(self, old: Graph, new: Graph) -> None:
        """Keep what is selected and shaded, by what became of it."""
        mapping = followed(old, new)
        self.selection = [a for b in self.selection for a in mapping.get(b, [])[:1]]
        self.region = next(iter(mapping.get(self.region, ())), -1)
        self.outward = 0

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        if name not in self._found:
            self._found[name] = make()
        return self._found[name]

    # -- what is said

    def _show_card(self) -> None:
        with self._lock:
            fused, chosen = self.fused, list(self.selection)
            pair = len(chosen) == 2 and len({fused.report.group_of(n).root for n in chosen}) == 2
            said = card(fused, chosen, None if pair else ())
            self._say(card=self._with_region(fused, said))
            self._mark()
        if pair and not fused.report.failure:
            self._trying.submit(lambda task: self._try(task, fused, chosen))

    def _try(self, task: Task, fused: Fused, chosen: Sequence[int]) -> None:
        found = fused.report.why(chosen[0], chosen[1]).changes
        with self._lock:
            if task.wanted and self.fused is fused and list(self.selection) == chosen:
                self._say(card=self._with_region(fused, card(fused, chosen, found)))

    def _with_region(self, fused: Fused, said: list[Block]) -> list[Block]:
        if not 0 <= self.region < len(fused.graph.nodes) or not (nest := fused.nest(self.region)):
            return said
        return [*region_card(fused, self.region, min(self.outward, len(nest) - 1)), *said]

    def _show_tab(self) -> None:
        with self._lock:
            looking = self.tab == "branches" and not self._knows_branches
            said = [words("Looking for parallel branches …", "small")] if looking else self._tab_blocks()
            self._say(head=head(self.fused, self._base, self.before), tab=said)
            self._mark()
        if looking:
            self._listing.submit(self._look)

    def _look(self, task: Task) -> None:
        """Find the branches, and what merging them would change, beside the notebook."""
        fused, least = self.fused, self.min_branches
        found = parallel_branches(fused.graph, least)
        with self._lock:
            if self.fused is fused:
                self._found[f"branches {least}"] = found
        if task.wanted:
            said = branches(found, least, self._branch, lowered=is_lowered(fused.graph))
            with self._lock:
                if task.wanted and self.fused is fused and self.tab == "branches" and self.min_branches == least:
                    self._say(tab=said)
                    self._mark()

    @property
    def _knows_branches(self) -> bool:
        return f"branches {self.min_branches}" in self._found

    def _tab_blocks(self) -> list[Block]:
        fused = self.fused
        try:
            if self.tab == "branches":
                return branches(self.branches, self.min_branches, self._branch, lowered=is_lowered(fused.graph))
            if self.tab == "chains":
                return chains(self.chains)
        except WorkbenchError as error:
            return [words(str(error))]
        if self.tab == "player":
            frames = self.decisions
            return player(fused, Filter(**self.frame_filter), frames, min(self.frame, max(len(frames) - 1, 0)))
        if self.tab == "code":
            return code_blocks(self.before, list(self.edits), fused, list(self.selection))
        return what_if(fused, self._base, *self._measured)

    def _mark(self) -> None:
        fused = self.fused
        marks: dict[str, Any] = {}
        if self.tab == "player" and (frames := self.decisions):
            marks = tabs.decision_marks(fused, frames[min(self.frame, len(frames) - 1)])
        elif self.tab == "branches" and self._knows_branches:
            marks = tabs.branch_marks(self.branches)
        elif self.tab == "chains":
            marks = tabs.chain_marks(self.chains)
        nest = fused.nest(self.region) if self.region >= 0 else []
        self.marks = marks | (tabs.region_marks(nest[min(self.outward, len(nest) - 1)]) if nest else {})

    def _say(self, **panels: list[Block]) -> None:
        self.panels = {**dict(self.panels), **{name: sendable(said) for name, said in panels.items()}}
