"""Matches and near matches of a dataflow pattern, and a pattern for chosen nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from workbench.analysis.patterns import Pattern
from workbench.analysis.patterns.pattern import PatternError
from workbench.analysis.patterns.program import Program, of_graph
from workbench.analysis.patterns.report import PatternReport, report
from workbench.analysis.patterns.suggest import SuggestedPattern, suggest
from workbench.analysis.patterns.text import parse
from workbench.dialects.base import Workload
from workbench.dialects.facets import Matcher
from workbench.dialects.registry import dialect_of, known_dialect
from workbench.errors import MeasureError, WorkbenchError, WorkerLost, reason_of
from workbench.graph.model import Graph
from workbench.worker.parent import worker


def match(source: Workload | Graph, pattern: object, timeout: float = 60) -> PatternReport:
    """Find where a pattern matches, and where it nearly does, with the reason.

    Parameters
    ----------
    source
        A Workload: the matches are TVM's, in every function of the module. Or a Graph, without TVM: the workbench's own
        matcher on the graph's data, which lacks attributes at their defaults and functions drawn in place;
        `report.not_tried` says so.
    pattern
        A DFPattern of tvm.relay.dataflow_pattern or tvm.relax.dpl, or its text,
        `is_op("nn.conv2d")(wildcard(), is_constant())`; text is read, not run. For Relax, text may also use `dominates`,
        which its language lacks and the workbench's own matcher matches, and, at its root, `a.used_by(b)` (`a ^ b`) and `a.only_used_by(b)` (`a >> b`).
    timeout
        Seconds for TVM's matcher where it may take long and so runs in a child process, as for `dominates` in Relay. After
        that, the workbench's own matcher decides, and `report.not_tried` has the reason.

    Raises
    ------
    PatternError
        The pattern cannot be read, or TVM rejects it or fails on it.
    UnknownName
        It uses a name that the pattern language does not have, or an operator that TVM does not have.

    Examples
    --------
    >>> from workbench.graph.model import GraphBuilder
    >>> builder = GraphBuilder("g", "relay")
    >>> x = builder.node("param", "x")
    >>> y = builder.node("op", "tanh", [builder.node("op", "exp", [x])])
    >>> found = match(builder.build(), 'is_op("tanh")(is_op("exp")(wildcard()))')
    >>> [each.nodes for each in found.matches]
    [(1, 2)]
    """
    return _matcher(source, timeout).match(pattern)


def pattern_for(source: Workload | Graph, nodes: Iterable[int], exact: bool = True) -> SuggestedPattern:
    """Return the Python of a DFPattern that matches these nodes and nothing else, checked by matching it.

    Parameters
    ----------
    nodes
        Node ids of `source.graph`; one of them must use all the others, directly or not.
    exact
        Whether a pattern that matches other places too is an error; if not, `elsewhere` lists those places.

    Raises
    ------
    UnknownNode
        The graph has no such node.
    PatternError
        There is none: nothing is chosen, the nodes are not connected, have several outputs, are in two functions, or
        occur in several places that no pattern can tell apart.

    Examples
    --------
    >>> from workbench.graph.model import GraphBuilder
    >>> builder = GraphBuilder("g", "relay")
    >>> x = builder.node("param", "x")
    >>> y = builder.node("op", "tanh", [builder.node("op", "exp", [x])])
    >>> print(pattern_for(builder.build(), [1, 2]))
    is_op('tanh')(is_op('exp')(wildcard()))
    """
    try:
        chosen = [int(node) for node in nodes]
    except (TypeError, ValueError):
        raise PatternError("the nodes are given as a list of ids, whole numbers from g.nodes") from None
    matcher = _matcher(source)
    return suggest(matcher.programs, matcher.graph, chosen, matcher.match, exact)


@dataclass(frozen=True)
class _GraphMatcher:
    """Matches on the data of a Graph."""

    graph: Graph
    programs: Sequence[Program]

    def match(self, pattern: object) -> PatternReport:
        return report(self.programs, read_pattern(pattern), self.graph)


def _matcher(source: Workload | Graph, timeout: float = 60) -> Matcher:
    if isinstance(source, Workload):
        return dialect_of(source).patterns.matcher(source, partial(_ask_child, source, timeout))
    if not isinstance(source, Graph):
        raise WorkbenchError(f"a {type(source).__name__} has no nodes to match; give a Workload (wb.load) or a Graph")
    return _GraphMatcher(source, of_graph(source))


def _ask_child(workload: Workload, timeout: float, pattern: str) -> Sequence[Mapping[str, object]]:
    child = worker("trials")
    try:
        child.written(workload)
    except Exception as error:  # noqa: BLE001  TVM raises errors of many classes here
        raise MeasureError(f"this module cannot be written for the child process: {reason_of(error)}") from None
    try:
        return child.run("match_relay", workload, {"pattern": pattern}, timeout=timeout)["verdicts"]
    except WorkerLost as error:
        within = f" within {timeout:g} s" if error.status == "timeout" else f": {error}"
        raise MeasureError(f"TVM did not answer{within}") from None


def read_pattern(pattern: object) -> Pattern:
    """Return the Pattern of TVM's object or of a text. Raises PatternError: it is neither."""
    if isinstance(pattern, Pattern):
        return pattern
    if isinstance(pattern, str):
        return parse(pattern)
    for dialect, module in (("relay", "tvm.relay.dataflow_pattern"), ("relax", "tvm.relax.dpl")):
        if type(pattern).__module__.startswith(module):
            return known_dialect(dialect).patterns.read(pattern)
    raise PatternError(
        f'a {type(pattern).__name__} is not a pattern; give its text, such as is_op("nn.relu")(wildcard())'
    )
