"""Why these kernels: the graph before fusion with the kernels to be as boxes, and what an edit would change."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from workbench.analysis.fusion.what_if import Why
from workbench.dialects.base import Workload
from workbench.errors import WorkbenchError
from workbench.pipeline.edits import force_step, outline_step
from workbench.widgets.background import Background, Task, busy
from workbench.widgets.fusion import actions
from workbench.widgets.fusion.measuring import measured
from workbench.widgets.fusion.picture import FusionPicture
from workbench.widgets.fusion.program import Edit, Fused, Source
from workbench.widgets.fusion.tabs import unmeasurable
from workbench.widgets.graph.traits import known
from workbench.widgets.workbench.choice import History


class FusionInspector(FusionPicture):
    """See why a graph becomes these kernels, move their boundaries, and see what that costs.

    What is clicked can be typed, and the other way round: every parameter but the first is a trait.

    Parameters
    ----------
    source
        A Workload or anything `wb.load` takes, or a Graph, which can be explained but not changed.
    before
        Passes that run first, as a Pipeline's text; FuseOps needs `SimplifyInference` for some models.
    edits
        What was cut, forced and outlined, each as a Pipeline's text; `edited` says which were applied.
    settings
        `opt_level`, `max_depth`, `max_function_args`, `target`: those of `wb.explain_fusion`.
    selection
        Ids of nodes. Two nodes: why they are two kernels; one, or those of one kernel: why it is as large as it is.
    region, outward
        The node whose region is shaded, -1 for none, and how many regions around it outward.
    tab
        "edits", "branches", "chains", "player", "code", or "" for none.
    min_branches
        The least number of parallel branches that is combined.
    frame, frame_filter
        Place among the decisions that the player shows, and which it shows: `reason`, `op`, `not_fused`.

    Raises
    ------
    WorkbenchError
        A node, a pass or a setting that there is not.

    Examples
    --------
    >>> view = wb.FusionInspector(w)      # doctest: +SKIP
    >>> view.selection = [3, 4]; print(view.why)      # doctest: +SKIP
    >>> view.cut(3, 4); view.kernels      # doctest: +SKIP
    """

    def __init__(self, source: Any, **traits: Any) -> None:
        self._source = Source(source)
        self._measuring = Background("workbench-fusion-times", self._failed)
        super().__init__(**{"height": 640, **traits})
        self._history = History(self._state)
        self._remake()
        self.observe(self._state_changed, ["before", "edits", "settings"])
        self.observe(lambda _: self._show_card(), ["selection", "region", "outward"])
        self.observe(lambda _: self._show_tab(), ["tab", "min_branches", "frame", "frame_filter"])

    # -- what a person can do from Python

    @property
    def kernels(self) -> int:
        """Kernels of what is shown."""
        return self.fused.kernels

    @property
    def handed(self) -> int:
        """Bytes that kernels hand to kernels in what is shown: each value once."""
        return self.fused.handed

    @property
    def workload(self) -> Workload | None:
        """The program with its edits; None for a graph alone."""
        return self.fused.program.workload

    @property
    def edited(self) -> tuple[Edit, ...]:
        """The edits in force, each applied or with the reason why not."""
        return self.fused.program.edits

    @property
    def why(self) -> Why | None:
        """The answer about two selected nodes, or about the one kernel that they are in; None for anything else."""
        chosen = self.selection
        if len(chosen) == 2:
            return self.report.why(*chosen)
        return self.report.why(chosen[0]) if len({self.report.group_of(n).root for n in chosen}) == 1 else None

    def choose_branch(self, place: int) -> None:
        """Work out what merging one group of `branches` would change, and select its nodes."""
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
        """Add an edit, or any pass, as a Pipeline's text; where it cannot be done, `edited` says why."""
        self.edits = [*self.edits, text]

    def undo(self) -> bool:
        """Take the last edit or setting back; whether there was one."""
        return self._travel(self._history.undo)

    def redo(self) -> bool:
        """Make again what was undone; whether there was anything."""
        return self._travel(self._history.redo)

    def measure(self, budget: float = 0.5) -> None:
        """Build and time the program as given and with its edits, and compare their outputs, beside the notebook.

        Raises
        ------
        WorkbenchError
            A graph alone cannot be run, and in Relax there are no edits to compare.
        """
        refused = unmeasurable(self.fused)
        if refused:
            raise WorkbenchError(refused)
        fused, base = self.fused, self._base
        self._measuring.submit(lambda task: self._measure(task, fused, base, budget))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What was measured: rows as of `wb.measure`."""
        return self._measured[0]

    @property
    def outputs(self) -> str:
        """What came of comparing the outputs, as a sentence; empty before."""
        return self._measured[1]

    def cancel(self) -> None:
        """Give up what is being made or measured; what is shown stays."""
        super().cancel()
        for each in self._busy:
            each.cancel()

    def wait(self, timeout: float = 120) -> bool:
        """Wait until nothing is being made or measured; whether that was in time."""
        # what is done may ask for more
        return all(each.wait(timeout) for each in self._busy * 2)

    @property
    def _busy(self) -> tuple[Background, ...]:
        return self._doing, self._trying, self._listing, self._measuring

    # -- undo and redo

    def _travel(self, move: Callable[[], bool]) -> bool:
        moved = move()
        if moved:
            before, edits, settings = self._history.current
            with self.hold_trait_notifications():
                self.before, self.edits, self.settings = before, list(edits), dict(settings)
        return moved

    def _state_changed(self, _: Any) -> None:
        # three traits may change at once; the first to tell finds all of them changed
        if self._made != self._state:
            self._history.choose(self._state)
            self._remake()

    def _measure(self, task: Task, fused: Fused, base: Fused, budget: float) -> None:
        self._tell(error=None)
        try:
            found = measured(fused, base, budget, lambda what, part: self._tell(busy=busy(what, part)), task.cancelled)
        finally:
            self._tell(busy=None)
        if task.wanted and self.fused is fused:
            self._measured = found
            self._show_tab()

    # -- the page

    def _do(self, kind: str, fields: dict[str, str]) -> None:
        actions.do(self, kind, fields)
