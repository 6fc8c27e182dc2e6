"""TVM's matches of a pattern in a Relay workload, with the workbench's reasons for the near misses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import tvm
from tvm import relay
from tvm.relay import dataflow_pattern as dfp

from workbench.analysis.patterns import Pattern, PatternNode
from workbench.analysis.patterns.groups import Bindings, Verdict, attempts
from workbench.analysis.patterns.pattern import Apart, PatternError
from workbench.analysis.patterns.program import tensor_parts
from workbench.analysis.patterns.report import OWN, PatternReport, report
from workbench.dialects.base import SAFE_DEPTH, Workload
from workbench.dialects.facets import AskChild
from workbench.dialects.pattern_objects import (
    MAKE,
    READ,
    Make,
    Paired,
    PatternLanguage,
    Read,
    known_operator,
    read_expr,
)
from workbench.dialects.relay.patterns.program import RelayProgram, plain, programs, type_text
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


def outlining(pattern: object) -> tvm.transform.Pass:
    """Return TVM's pass that puts each match into a composite function."""
    return relay.transform.MergeComposite([("matched", paired(pattern).root)])


def paired(pattern: Any) -> Paired:
    """Return a pattern of any form with TVM's objects; raises as `PatternLanguage.pair`."""
    return LANGUAGE.pair(pattern.pattern if isinstance(pattern, dfp.DFPatternCallback) else pattern)


def _constant(node: PatternNode, _: list[dfp.DFPattern]) -> dfp.DFPattern:
    value, dtype = node.fields["value"], node.fields["dtype"] or None
    return dfp.is_expr(relay.const(np.array(value) if isinstance(value, list) else value, dtype))


def _type(text: str) -> tvm.ir.Type:
    shape, dtype = tensor_parts(text)
    if dtype is not None:
        return relay.TensorType(shape, dtype)
    try:
        return (
            tvm.relay.parse(f'#[version = "0.0.5"]\ndef @main(%x: {text}) {{ %x }}')["main"].params[0].type_annotation
        )
    except (tvm.TVMError, tvm.error.DiagnosticError) as error:
        raise ValueError(f"{text} is not a type of Relay: {reason_of(error)}") from None


def _many(node: PatternNode, children: list[dfp.DFPattern]) -> list[dfp.DFPattern] | None:
    return None if node.fields["any"] else children


_MAKE: dict[str, Make] = {
    **MAKE,
    "wildcard": lambda _, __: dfp.wildcard(),
    "constant": lambda _, __: dfp.is_constant(),
    "op": lambda n, _: dfp.is_op(known_operator(n)),
    "expr": _constant,
    "var": lambda n, _: dfp.is_var(n.fields.get("name", "")),
    "call": lambda n, c: dfp.CallPattern(c[0], _many(n, c[1:])),
    "tuple": lambda n, c: dfp.is_tuple(_many(n, c)),
    "get_item": lambda n, c: dfp.is_tuple_get_item(c[0], n.fields["index"]),
    "function": lambda n, c: dfp.FunctionPattern(_many(n, c[:-1]), c[-1]),
    "if": lambda _, c: dfp.is_if(*c),
    "let": lambda _, c: dfp.is_let(*c),
    "type": lambda n, c: c[0].has_type(_type(n.fields["type"])),
    "dominates": lambda _, c: dfp.dominates(*c),
}


def _listed(kind: str, first: list[Any], many: Any, last: list[Any]) -> Apart:
    return [*first, *(many or ()), *last], kind, {"any": many is None}


_READ: dict[str, Read] = {
    **READ,
    "ExprPattern": lambda p: read_expr(p.expr, p.expr.data if isinstance(p.expr, relay.Constant) else None),
    "VarPattern": lambda p: ([], "var", {"name": str(p.name)}),
    "CallPattern": lambda p: _listed("call", [p.op], p.args, []),
    "TuplePattern": lambda p: _listed("tuple", [], p.fields, []),
    "FunctionPattern": lambda p: _listed("function", [], p.params, [p.body]),
    "IfPattern": lambda p: ([p.cond, p.true_branch, p.false_branch], "if", {}),
    "LetPattern": lambda p: ([p.var, p.value, p.body], "let", {}),
    "AltPattern": lambda p: ([p.left, p.right], "alt", {}),
    "AttrPattern": lambda p: ([p.pattern], "attr", {"attrs": {k: plain(p.attrs[k]) for k in sorted(p.attrs.keys())}}),
    "TypePattern": lambda p: ([p.pattern], "type", {"type": type_text(p.type)}),
    "ShapePattern": lambda p: ([p.pattern], "shape", {"shape": [plain(d) for d in p.shape]}),
    "DominatorPattern": lambda p: ([p.parent, p.path, p.child], "dominates", {}),
}

LANGUAGE = PatternLanguage(dfp.DFPattern, "tvm.relay.dataflow_pattern", _MAKE, _READ)
