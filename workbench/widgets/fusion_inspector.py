"""Why these kernels: the graph before fusion with the kernels to be as boxes, why, why not, and what if.

The widget holds traits and turns what is clicked into calls; `Source` and `Fused` know the program, `fusion_cards` and
`fusion_lists` say it in words, as blocks that the page draws. What takes long is done beside the notebook.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any

import traitlets

from workbench.analysis.branches import BranchGroup, parallel_branches
from workbench.analysis.chains import ConstantChain, constant_chains
from workbench.analysis.fusion.decision import Decision
from workbench.analysis.fusion.report import FusionReport
from workbench.analysis.fusion.why import Why
from workbench.dialects.base import Workload
from workbench.errors import WorkbenchError
from workbench.graph.model import Graph
from workbench.pipeline.edits import force_step, outline_step
from workbench.widgets import fusion_acts, fusion_marks, messages, page
from workbench.widgets.background import Background, Task
from workbench.widgets.blocks import Block, sendable, words
from workbench.widgets.bundle import Shown
from workbench.widgets.fusion_bench import Fused, Settings
from workbench.widgets.fusion_cards import card, region_card
from workbench.widgets.fusion_code import code_blocks
from workbench.widgets.fusion_lists import Filter, branches, chains, head, player, unmeasurable, what_if
from workbench.widgets.fusion_measure import measured
from workbench.widgets.fusion_source import Edit, Source, followed
from workbench.widgets.payload import encode_graph
from workbench.widgets.session import History
from workbench.widgets.shown import GraphTraits, known

FIELDS: messages.Fields = {"act": {"what": str, "arg": str}, "set": {"name": str, "value": str}, "cancel": {}}
"what the page may say"
TABS = ("", "edits", "branches", "chains", "player", "code")


class FusionInspector(GraphTraits):
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

    _view = traitlets.Unicode("fusion").tag(sync=True)
    graph = traitlets.Dict().tag(sync=True)
    selection = traitlets.List(traitlets.Int()).tag(sync=True)
    hovered = traitlets.Int(-1).tag(sync=True)
    # traitlets' own types know no list that may be None
    collapsed: traitlets.TraitType[Any, list[int] | None] = traitlets.List(  # pyright: ignore[reportAssignmentType]
        traitlets.Int(), allow_none=True, default_value=None
    ).tag(sync=True)
    before = traitlets.Unicode("").tag(sync=True)
    edits = traitlets.List(traitlets.Unicode()).tag(sync=True)
    settings = traitlets.Dict().tag(sync=True)
    region = traitlets.Int(-1).tag(sync=True)
    outward = traitlets.Int(0, min=0).tag(sync=True)
    tab = traitlets.Enum(TABS, default_value="").tag(sync=True)
    min_branches = traitlets.Int(2, min=2).tag(sync=True)
    frame = traitlets.Int(0, min=0).tag(sync=True)
    frame_filter = traitlets.Dict().tag(sync=True)
    panels = traitlets.Dict(help="what the page shows in words: its head, its card, and the open tab").tag(sync=True)
    marks = traitlets.Dict(help="what is shaded and marked on the graph").tag(sync=True)
    status = traitlets.Dict(help="what is being done, and what failed").tag(sync=True)
    saved_traits = (
        *("graph", "selection", "collapsed", "before", "edits", "settings", "region", "outward", "tab"),
        *("panels", "marks", *GraphTraits.shown_traits),
    )

    def __init__(self, source: Any, **traits: Any) -> None:
        self._source = Source(source)
        self._lock = threading.RLock()
        self._fused: Fused | None = None
        self._measured: tuple[list[dict[str, Any]], str] = ([], "")
        self._branch = -1
        self._found: dict[str, Any] = {}
        self._doing = Background("workbench-fusion-edits", self._failed)
        self._trying = Background("workbench-fusion-cards", self._failed)
        self._measuring = Background("workbench-fusion-times", self._failed)
        self._listing = Background("workbench-fusion-branches", self._failed)
        super().__init__(**{"height": 640, **traits})
        self._history = History(self._state)
        self._remake()
        self.observe(self._state_changed, ["before", "edits", "settings"])
        self.observe(lambda _: self._show_card(), ["selection", "region", "outward"])
        self.observe(lambda _: self._show_tab(), ["tab", "min_branches", "frame", "frame_filter"])
        self.on_msg(self._on_message)

    # -- what a person can do from Python

    @property
    def fused(self) -> Fused:
        """What is shown: the program with its edits, under the settings."""
        assert self._fused is not None
        return self._fused

    @property
    def report(self) -> FusionReport:
        """The report on what is shown."""
        return self.fused.report

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
        for each in self._busy:
            each.cancel()
        self._tell(busy=None)

    def wait(self, timeout: float = 120) -> bool:
        """Wait until nothing is being made or measured; whether that was in time."""
        # what is done may ask for more
        return all(each.wait(timeout) for each in self._busy * 2)

    @property
    def _busy(self) -> tuple[Background, ...]:
        return self._doing, self._trying, self._listing, self._measuring

    # -- from a state to a picture

    @property
    def _state(self) -> tuple[str, tuple[str, ...], tuple[tuple[str, Any], ...]]:
        return self.before, tuple(self.edits), tuple(self.settings.items())

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
            looking = self.tab == "branches" and not self._knows_branches and self.fused.graph.dialect == "relay"
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
            said = branches(found, least, self._branch)
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
                return branches(self.branches, self.min_branches, self._branch)
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
            marks = fusion_marks.decision(fused, frames[min(self.frame, len(frames) - 1)])
        elif self.tab == "branches" and self._knows_branches:
            marks = fusion_marks.branches(self.branches)
        elif self.tab == "chains" and fused.graph.dialect == "relay":
            marks = fusion_marks.chains(self.chains)
        nest = fused.nest(self.region) if self.region >= 0 else []
        self.marks = marks | (fusion_marks.region(nest[min(self.outward, len(nest) - 1)]) if nest else {})

    def _say(self, **panels: list[Block]) -> None:
        self.panels = {**self.panels, **{name: sendable(said) for name, said in panels.items()}}

    def _tell(self, **changes: Any) -> None:
        with self._lock:
            self.status = {**self.status, **changes}

    # -- the page

    def _on_message(self, _: Any, message: Any, __: Any) -> None:
        try:
            found = messages.read(message, FIELDS)
        except WorkbenchError as error:
            self._tell(error={"title": "That cannot be done", "text": str(error)})
            return
        if found is None:
            return
        kind, fields = found
        if kind == "cancel":
            self.cancel()
        elif kind == "act" and fields["what"] == "measure":
            self._guarded(self.measure)
        else:
            self._doing.submit(lambda _task: self._guarded(lambda: fusion_acts.do(self, kind, fields)))

    def _guarded(self, work: Callable[[], object]) -> None:
        """Do what the page asked for; what is wrong with it is said there, and everything stays as it was."""
        self._tell(busy=page.busy("Working", None), error=None)
        try:
            work()
        except (WorkbenchError, traitlets.TraitError) as error:
            self._tell(error={"title": "That cannot be done", "text": str(error)})
        finally:
            self._tell(busy=None)

    def choose_branch(self, place: int) -> None:
        """Work out what merging one group of `branches` would change, and select its nodes."""
        group = self.branches[known([place], len(self.branches), "group of branches")[0]]
        self._branch = place
        self.selection = [n for branch in group.branches for n in branch]
        self._show_tab()

    def _measure(self, task: Task, fused: Fused, base: Fused, budget: float) -> None:
        self._tell(error=None)
        try:
            found = measured(
                fused, base, budget, lambda what, part: self._tell(busy=page.busy(what, part)), task.cancelled
            )
        finally:
            self._tell(busy=None)
        if task.wanted and self.fused is fused:
            self._measured = found
            self._show_tab()

    def _failed(self, error: Exception) -> None:
        said = str(error) if isinstance(error, WorkbenchError) else f"{type(error).__name__}: {error}"
        self._tell(busy=None, error={"title": "That failed", "text": said})

    # -- what may be assigned

    @traitlets.validate("selection")
    def _known_nodes(self, proposal: dict[str, Any]) -> list[int]:
        nodes = list(proposal["value"])
        return nodes if self._fused is None else known(nodes, len(self.fused.graph.nodes), "node")

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

    # -- what lasts

    def _shown_graphs(self) -> Shown:
        return (self.fused.drawn,)
