"""TVM's matches of a pattern in a Relay workload, with the workbench's reasons for the near misses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import tvm
from tvm import relay
from tvm.relay import dataflow_pattern as dfp

from workbench.analysis.patterns import Pattern
from workbench.analysis.patterns.groups import Bindings, Verdict, attempts
from workbench.analysis.patterns.pattern import PatternError
from workbench.analysis.patterns.report import OWN, PatternReport, report
from workbench.dialects.base import SAFE_DEPTH, Workload
from workbench.dialects.facets import AskChild
from workbench.dialects.pattern_objects import Paired
from workbench.dialects.relay.patterns.pairs import paired
from workbench.dialects.relay.patterns.program import RelayProgram, programs
from workbench.errors import MeasureError, reason_of
from workbench.graph.model import Graph, depth

STEPS = 10_000
"most steps of TVM's matcher at one expression in this process; a pattern that may take more goes to a child process"
TYPED = 300
"most expressions of a program whose types are asked in this process: for each one TVM infers the types of all its inputs"
TOGETHER = 64
"expressions that one call of TVM's matcher tests"


@dataclass(frozen=True)
class RelayMatcher:
    """Matches that TVM decides, in a child process where it may take long or end the process."""

    graph: Graph
    programs: Sequence[RelayProgram]
    ask_child: AskChild

    def match(self, pattern: object) -> PatternReport:
        both = paired(pattern)
        for program in self.programs:
            program.paired = both
        try:
            verdicts = self._verdicts(both)
        except MeasureError as error:
            return report(self.programs, both.pattern, self.graph, not_tried=f"{error}; {OWN}")
        if any(verdict.failed for verdict in verdicts):
            _refuse_missing_arguments(both.pattern)
        of = {program.name: verdict for program, verdict in zip(self.programs, verdicts, strict=True)}
        return report(
            self.programs, both.pattern, self.graph, lambda program, m: attempts(program, m, of[program.name])
        )

    def _verdicts(self, both: Paired) -> list[Verdict]:
        if not self.programs:
            return []
        rows = [len(program.rows) for program in self.programs]
        steps = both.pattern.steps(max(program.paths for program in self.programs))
        typed = any(node.kind in ("type", "shape", "dtype") for node in both.pattern.nodes)
        if steps <= STEPS and depth(self.graph) <= SAFE_DEPTH and not (typed and max(rows) > TYPED):
            return [decide(program, both.objects, both.root) for program in self.programs]
        try:
            saved = tvm.ir.save_json(tvm.runtime.convert([*both.objects, both.root]))
        except Exception as error:  # noqa: BLE001  TVM raises errors of many classes here
            raise MeasureError(f"this pattern cannot be written for the child process: {reason_of(error)}") from None
        answers = self.ask_child(saved)
        if [answer["rows"] for answer in answers] != rows:
            raise MeasureError("TVM's child process reads another program than this one")
        return [Verdict.from_json(answer) for answer in answers]


def _refuse_missing_arguments(pattern: Pattern) -> None:
    for node in pattern.nodes:
        name = pattern.nodes[node.children[0]].fields["name"] if pattern.names_operator(node) else ""
        if name in ("multiply", "divide") and len(node.children) < 3:
            raise PatternError(
                f"TVM fails on is_op({name!r}) without two arguments: it looks at them in every call of another operator; "
                f"write is_op({name!r})(wildcard(), wildcard())"
            )


def matcher(workload: Workload, ask_child: AskChild) -> RelayMatcher:
    """Return a matcher that asks TVM, for every function of the workload's module."""
    return RelayMatcher(workload.graph, programs(workload.module, workload.name), ask_child)


def read(pattern: object) -> Pattern:
    """Return the Pattern that one of TVM's pattern objects describes."""
    return paired(pattern).pattern


def answer_child(workload: Workload, saved: str) -> list[Mapping[str, object]]:
    """Return TVM's verdict for each program of a workload, as plain values; the pattern's objects are TVM's JSON."""
    *objects, root = tvm.ir.load_json(saved)
    found = programs(workload.module, workload.name)
    return [{"rows": len(each.rows), **decide(each, objects, root).as_json()} for each in found]


def decide(program: RelayProgram, objects: Sequence[dfp.DFPattern], root: dfp.DFPattern) -> Verdict:
    """Return TVM's verdict on a pattern, with `objects` as its sub-patterns, at each expression of a program."""
    taken, failure = _taken_matches(program, objects, root)
    known = taken.keys() | program.closed
    rows = [row for row, here in enumerate(program.rows) if here.kind != "op" and row not in known]
    if any(isinstance(each, dfp.DominatorPattern) for each in objects):
        answers = _ask_in_function(program, root, rows)
    else:
        answers = _ask_together(program, root, rows)
    matched, failed = set(taken), dict[int, str]()
    for row, answer in answers:
        if isinstance(answer, str):
            failed[row] = answer
        elif answer:
            matched.add(row)
    return Verdict(frozenset(matched), failed, taken, failure)


def _ask(pattern: dfp.DFPattern, expr: relay.Expr) -> bool | str:
    """Return whether TVM matches an expression, or the error with which it ends."""
    try:
        return bool(pattern.match(expr))
    except tvm.TVMError as error:
        return reason_of(error)


def _ask_in_function(
    program: RelayProgram, root: dfp.DFPattern, rows: Sequence[int]
) -> Iterator[tuple[int, bool | str]]:
    """Yield TVM's answer for a pattern with `dominates`, which depends on all users of a value: with the function around."""
    inside = dfp.is_tuple([dfp.wildcard(), root])
    for row in rows:
        yield row, _ask(inside, relay.Tuple([program.expressions[-1], program.expressions[row]]))


def _ask_together(program: RelayProgram, root: dfp.DFPattern, rows: Sequence[int]) -> Iterator[tuple[int, bool | str]]:
    """Yield TVM's answer for each row; most fail, and TVM visits the whole program once a call, so many are tested in one."""
    others = [dfp.wildcard() for _ in range(TOGETHER)]
    any_of = reduce(dfp.AltPattern, [dfp.is_tuple([*others[:i], root, *others[i + 1 :]]) for i in range(TOGETHER)])
    for start in range(0, len(rows), TOGETHER):
        some = rows[start : start + TOGETHER]
        exprs = [program.expressions[row] for row in some]
        padded = relay.Tuple([*exprs, *exprs[-1:] * (TOGETHER - len(exprs))])
        none = len(some) > 1 and _ask(any_of, padded) is False
        yield from ((row, False if none else _ask(root, expr)) for row, expr in zip(some, exprs, strict=True))


def _taken_matches(
    program: RelayProgram, objects: Sequence[dfp.DFPattern], root: dfp.DFPattern
) -> tuple[dict[int, Bindings], str]:
    """Return the matches that `rewrite` uses, with the rows their sub-patterns hold; and its error."""
    place = {expr: row for row, expr in enumerate(program.expressions)}
    taken: dict[int, Bindings] = {}

    class Record(dfp.DFPatternCallback):
        def callback(self, pre: relay.Expr, post: relay.Expr, node_map: Mapping[dfp.DFPattern, Sequence[relay.Expr]]):
            held = ((id, node_map[each]) for id, each in enumerate(objects) if each in node_map)
            taken[place[pre]] = {id: tuple(dict.fromkeys(place[expr] for expr in exprs)) for id, exprs in held}
            return post

    record = Record()
    record.pattern = root
    try:
        record.rewrite(program.expressions[-1])
    except tvm.TVMError as error:
        return {}, reason_of(error)
    return taken, ""
