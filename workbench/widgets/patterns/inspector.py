"""The PatternInspector: the matches and near misses of a dataflow pattern on a graph, with the reasons for failures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

import traitlets

from workbench.analysis import legality
from workbench.analysis.patterns.pattern import code as written
from workbench.analysis.patterns.report import Match, NearMiss, PatternReport
from workbench.analysis.patterns.suggest import SuggestedPattern
from workbench.dialects.base import Workload
from workbench.dialects.registry import known_dialect
from workbench.errors import WorkbenchError
from workbench.graph.diff import diff
from workbench.graph.layers import layered
from workbench.graph.model import Graph
from workbench.pipeline.fusion_edits import outline
from workbench.pipeline.load import load
from workbench.pipeline.matching import match, pattern_for
from workbench.pipeline.spec import PassStep
from workbench.testing.result import Tried
from workbench.testing.trial import try_pass
from workbench.testing.where import Occurrences, where
from workbench.widgets.base import SAVED, Shown, View, json_trait
from workbench.widgets.blocks import Block, code, entry, linked, row, rows
from workbench.widgets.graph.ids import CollapsedGroups, NodeIds, known
from workbench.widgets.history import History
from workbench.widgets.host import Host
from workbench.widgets.messages import act, field, verb
from workbench.widgets.page_types import Marks, Panels, Status
from workbench.widgets.patterns import cards
from workbench.widgets.patterns.cards import Finding, findings
from workbench.widgets.payload import GraphPayload, encode_graph
from workbench.worker.parent import Progress, never

LONGEST = 20_000
"characters of a pattern that the page may send; patterns of whole layers have about 3,000"
HINT = 'is_op("nn.relu")(is_op("nn.conv2d")(wildcard(), is_constant()))'


class PatternInspector(View):
    """A view of the matches of a dataflow pattern, and of the reasons why it fails elsewhere.

    Every UI action has a Python equivalent: every parameter but the first is a trait.

    Parameters
    ----------
    source
        A Workload or anything `wb.load` takes: matches are TVM's own. Or a Graph, without TVM.
    pattern
        Text, which is parsed and never run; or a DFPattern, a DFPatternCallback, a Pattern, kept as its text.
    place
        Index of the shown finding in `findings`, -1 for none.
    selection
        Ids of nodes. One node: the result of the pattern there.
    tab
        "found", "models", "suggest", "code", or "" for none.

    Raises
    ------
    PatternError
        The pattern cannot be read, or TVM rejects it; the previous one stays.
    WorkbenchError
        A node or a finding does not exist.

    Examples
    --------
    >>> view = wb.PatternInspector(w, 'is_op("nn.relu")(wildcard())')      # doctest: +SKIP
    >>> view.place = 1; print(view.report)      # doctest: +SKIP
    >>> view.selection = [3, 4]; print(view.suggest())      # doctest: +SKIP
    """

    _view = traitlets.Unicode("pattern").tag(**SAVED)
    graph = json_trait(GraphPayload)
    selection = NodeIds().tag(**SAVED)
    hovered = traitlets.Int(-1).tag(sync=True)
    collapsed = CollapsedGroups().tag(**SAVED)
    pattern = traitlets.Any("", help="the pattern's text; a DFPattern that is assigned becomes its text")
    place = traitlets.Int(-1, min=-1)
    tab = traitlets.Enum(("", "found", "models", "suggest", "code"), default_value="found").tag(**SAVED, json=str)
    panels = json_trait(Panels, "the words of the page: its head, its card, and the open tab")
    marks = json_trait(Marks, "shades and signs on the graph")
    status = json_trait(Status, "the work under way, and what failed", saved=False)

    def __init__(self, source: object, pattern: Any = "", **traits: Any) -> None:
        self.source: Workload | Graph = source if isinstance(source, Graph) else load(source)
        self.model = _graph(self.source)
        self.report: PatternReport | None = None
        "result of `wb.match` for the pattern; None without a pattern"
        self.suggested: SuggestedPattern | None = None
        "the last suggestion"
        self.occurrences: Occurrences | None = None
        "result of `where`: the matches in other models"
        self.trial: Tried | None = None
        "result of `try_pass`"
        self._problem = ""
        self._history = History(self.source)
        self._lock = threading.RLock()
        self._host = Host(self, self, in_order=True)
        later = {name: traits.pop(name) for name in ("place", "selection") if name in traits}
        super().__init__(graph=encode_graph(layered(self.model)), **{"height": 640, **traits})
        self.observe(self._tried, ["pattern"])
        self.observe(lambda _: self._show(), ["place", "tab"])
        self.observe(self._selected, ["selection"])
        self.pattern = pattern
        for name, value in later.items():
            setattr(self, name, value)
        self._show()

    # -- the Python interface

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Matches in topological order, then near misses, the nearest first."""
        return findings(self.report) if self.report is not None else ()

    @property
    def finding(self) -> Finding | None:
        """The shown finding."""
        return self.findings[self.place] if 0 <= self.place < len(self.findings) else None

    def suggest(self, nodes: Iterable[int] | None = None) -> SuggestedPattern:
        """Return a pattern that matches these nodes, by default the selected ones; raises as `wb.pattern_for`."""
        self.suggested = pattern_for(self.source, self.selection if nodes is None else nodes, exact=False)
        self.tab = "suggest"
        self._show()
        return self.suggested

    def where(self, over: object = None) -> Occurrences:
        """Find the pattern in other models, by default the samples, as `wb.where` does, and show a table of them."""
        own = [self.source] if isinstance(self.source, Workload) else []
        others = list(over) if isinstance(over, (list, tuple)) else ["samples" if over is None else over]
        self.occurrences = where(self.pattern, [*own, *others], dialect=self.model.dialect)
        self.tab = "models"
        self._show()
        return self.occurrences

    def try_pass(
        self, budget: float = 20.0, progress: Progress | None = None, cancelled: Callable[[], bool] = never
    ) -> Tried:
        """Try the pass that puts each match into a composite function, on generated programs and on the shown one, as `wb.try_pass` does."""
        own = [self.source] if isinstance(self.source, Workload) else []
        p = PassStep("<outline>", run=known_dialect(self.model.dialect).patterns.outlining(self.pattern))
        trial = try_pass(
            p,
            ["generated", *own],
            budget=budget,
            pattern=self.pattern,
            dialect=self.model.dialect,
            progress=progress,
            cancelled=cancelled,
        )
        if not cancelled():
            self.trial, self.tab = trial, "models"
            self._show()
        return trial

    def outline(self, nodes: Iterable[int] | None = None, name: str = "matched") -> Workload:
        """Put nodes, by default those of the shown finding, into one composite function; match the pattern again.

        Raises
        ------
        IllegalEdit
            They cannot be in one function.
        WorkbenchError
            There is only a graph, or no finding is shown.
        """
        if isinstance(self.source, Graph):
            raise WorkbenchError("a graph alone cannot be changed; give the inspector the workload")
        made = outline(self.source, self._region() if nodes is None else nodes, name)
        self._history.choose(made)
        self._use(made)
        return made

    @act("undo")
    def undo(self) -> bool:
        """Undo the last outline; return whether there was one."""
        return self._travel(self._history.undo())

    @act("redo")
    def redo(self) -> bool:
        """Redo the last undone outline; return whether there was one."""
        return self._travel(self._history.redo())

    @verb("cancel")
    def cancel(self) -> None:
        """Stop the page's running request; the page stays as it is."""
        self._host.work.cancel()

    def wait(self, timeout: float = 120) -> bool:
        """Wait until every request of the page is done; return whether that happened in time."""
        return self._host.work.wait(timeout)

    # -- from a pattern to a picture

    @traitlets.validate("pattern")
    def _readable(self, proposal: dict[str, object]) -> str:
        given = proposal["value"]
        if isinstance(given, str) and not given.strip():
            self._found = None
            return ""
        self._found = match(self.source, given)
        return given if isinstance(given, str) else written(self._found.pattern)

    def _tried(self, _: object) -> None:
        with self._lock, self.hold_sync():
            self.report, self._problem = self._found, ""
            self.set_trait("place", 0 if self.findings else -1)
            self._show()

    def _travel(self, moved: bool) -> bool:
        if moved:
            self._use(self._history.current)
        return moved

    def _use(self, source: Workload | Graph) -> None:
        with self._lock, self.hold_sync():
            old, self.source, self.model = self.model, source, _graph(source)
            self.suggested = None
            self.graph = encode_graph(layered(self.model))
            mapping = diff(old, self.model).mapping
            self.selection = [a for b in self.selection for a in mapping.get(b, [])[:1]]
            self.report = match(source, self.pattern) if self.pattern else None
            self.set_trait("place", min(self.place, len(self.findings) - 1))
            self._show()

    def _selected(self, change: dict[str, list[int]]) -> None:
        """Show the finding at a clicked node, unless the shown one already involves the node."""
        chosen, shown = list(change["new"]), self.finding
        with self._lock, self.hold_sync():
            if len(chosen) == 1 and self.report is not None and not (shown and chosen[0] in _about(self.report, shown)):
                tried = self.report.at(chosen[0])
                if tried is not None:
                    self.place = next(i for i, each in enumerate(self.findings) if each is tried)
            self._show()

    def _region(self) -> tuple[int, ...]:
        shown = self.finding
        if isinstance(shown, Match):
            return shown.nodes
        region = shown.domination.region if shown and shown.domination else None
        if region is None:
            raise WorkbenchError("nothing is shown that can be outlined; give the nodes")
        return region.nodes

    def _legal(self) -> str:
        if isinstance(self.source, Graph):
            return "needs a workload: a graph alone cannot be changed"
        try:
            return legality.why_not(legality.region, self.model, self._region())
        except WorkbenchError as error:
            return str(error)

    def _show(self) -> None:
        with self._lock:
            card: list[Block] = [
                entry("area", "pattern", "Pattern", self.pattern, hint=HINT, show="Ctrl+Enter tries it")
            ]
            if self._problem:
                card.append(rows([row(self._problem, sign="!", look="removed")], "problem"))
            if self.report is not None:
                shown = self.finding
                card += cards.said(self.model, self.report, shown, self._legal()) if shown else []
                card += cards.tree(self.report, shown)
            head = cards.head(self.model.name, self.report, self.place)
            count = len(self.model.nodes)
            self.panels = {"head": head, "card": linked(card, count), "tab": linked(self._tab(), count)}
            self.marks = cards.marks(self.report, self.finding)

    def _tab(self) -> list[Block]:
        if self.tab == "suggest":
            return cards.suggested(self.model, self.selection, self.suggested)
        if self.tab == "models":
            return cards.elsewhere(self.occurrences, self.trial, "" if self.pattern else "type a pattern first")
        if self.tab == "code":
            made = ["view = wb.PatternInspector(w, pattern)", f"view.place = {self.place}"]
            text = "\n".join([f"pattern = {self.pattern!r}", *made, "print(wb.match(w, pattern))"])
            return [code(text, "python")]
        return cards.found_list(self.model, self.report, self.place)

    # -- the page

    @field("pattern")
    def _set_pattern(self, value: str) -> None:
        """Take a pattern from the page; if it cannot be read, the reason is next to it and the last result stays."""
        try:
            self.pattern = _short(value)
            self._problem = ""
        except WorkbenchError as error:
            self._problem = str(error)
        self._show()

    @act("show")
    def _go(self, place: int) -> None:
        if place < len(self.findings):
            self.place = place

    @act("on")
    def _next(self, by: int = 1) -> None:
        """Go to the next finding, and select its nodes."""
        self._go(max(self.place + by, 0))
        if self.report is not None and self.finding is not None:
            self.selection = list(cards.place_of(self.report, self.finding))

    @act("back")
    def _previous(self) -> None:
        self._next(-1)

    @act("suggest")
    def _suggest(self, arg: str) -> None:
        self.suggest(self._region() if arg == "region" else None)

    @act("where")
    def _where(self) -> None:
        self.where()

    @act("try")
    def _try(self) -> None:
        task = self._host.task
        assert task is not None, "a request has one"
        self.try_pass(progress=task.report, cancelled=task.cancelled)

    @act("model")
    def _model(self, place: int) -> None:
        """Show one of the models in which the pattern was looked for."""
        if self.occurrences is not None and place < len(self.occurrences.models):
            self.selection = []
            self._use(self.occurrences.models[place].workload)
            self.tab = "found"

    @act("use")
    def _use_suggested(self) -> None:
        if self.suggested is None:
            raise WorkbenchError("nothing has been suggested yet; select nodes and ask")
        self.pattern = self.suggested.code

    @act("outline")
    def _outline(self, arg: str) -> None:
        self.outline(name=arg)

    def shown_graphs(self) -> Shown:
        return (self.model,)

    # -- validation of assignments

    @traitlets.validate("place")
    def _known_place(self, proposal: dict[str, int]) -> int:
        place = proposal["value"]
        return place if place == -1 else known([place], len(self.findings), "finding")[0]


def _short(text: str) -> str:
    if len(text) > LONGEST:
        raise WorkbenchError(f"the pattern has {len(text):,} characters; at most {LONGEST:,} are read")
    return text


def _graph(source: Workload | Graph) -> Graph:
    return source if isinstance(source, Graph) else source.graph


def _about(report: PatternReport, finding: Finding) -> set[int]:
    """Return the nodes of a finding, so that a click on one of them does not show another."""
    ways = finding.domination.escapes if isinstance(finding, NearMiss) and finding.domination else ()
    return {finding.root, *cards.place_of(report, finding), *(n for each in ways for n in each.path)}
