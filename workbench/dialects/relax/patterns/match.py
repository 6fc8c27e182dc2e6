"""TVM's matches of a pattern in a Relax workload, with the workbench's reasons for the near misses.

The accepted matches are those of FuseOpsByPattern (PatternBasedPartitioner in src/relax/transform/fuse_ops.cc): it
visits the calls in the order of their bindings. It skips a match that holds the last value of an earlier match but not
all values of that match; any other match takes its values, from an earlier match too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import tvm
from tvm import relax
from tvm.relax import dpl

from workbench.analysis.patterns import Pattern, PatternNode
from workbench.analysis.patterns.groups import Attempt
from workbench.analysis.patterns.matcher import Bindings, Failure, Matcher
from workbench.analysis.patterns.pattern import Apart, PatternError
from workbench.analysis.patterns.program import Program, of_graph, tensor_parts
from workbench.analysis.patterns.report import OWN, PatternReport, report
from workbench.analysis.patterns.text import parse
from workbench.dialects.base import Workload
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
from workbench.dialects.relax import compat
from workbench.dialects.relax.compat import identity
from workbench.dialects.relax.expressions import plain, type_text
from workbench.dialects.relax.patterns.program import RelaxProgram, programs
from workbench.errors import reason_of
from workbench.graph.model import Graph


@dataclass(frozen=True)
class RelaxMatcher:
    """Matches with TVM's matcher; `dominates`, which Relax's language does not have, is matched on the graph."""

    graph: Graph
    programs: Sequence[RelaxProgram]

    def match(self, pattern: object) -> PatternReport:
        both = paired(pattern)
        if lacks_objects(both.pattern):
            own = f"Relax's pattern language has no `dominates`; {OWN}"
            return report(of_graph(self.graph), both.pattern, self.graph, not_tried=own)
        for program in self.programs:
            program.paired = both
        return report(self.programs, both.pattern, self.graph, tried)


def matcher(workload: Workload, ask_child: AskChild) -> RelaxMatcher:  # noqa: ARG001  Relay asks it
    """Return a matcher that uses TVM's, for every function of the workload's module."""
    return RelaxMatcher(workload.graph, programs(workload.module, workload.name))


def read(pattern: object) -> Pattern:
    """Return the Pattern that one of TVM's pattern objects describes."""
    return paired(pattern).pattern


def outlining(pattern: object) -> tvm.transform.Pass:
    """Return TVM's pass that puts each match into a composite function."""
    return relax.transform.FuseOpsByPattern([("matched", paired(pattern).root)], bind_constants=False)


def tried(program: Program, matcher: Matcher) -> list[Attempt]:
    """Try the program's pattern at its expressions in their order."""
    assert isinstance(program, RelaxProgram)
    if is_chain(matcher.pattern):
        return _chains(program, matcher)
    groups = _Groups(program, matcher.pattern)
    made = [_attempt(program, matcher, row) for row in range(len(program.rows)) if program.nodes[row]]
    refused = {attempt.row: groups.take(attempt.row, attempt.held) for attempt in made if attempt.held is not None}
    for place, attempt in enumerate(made):
        if attempt.held is None:
            continue
        why = refused[attempt.row]
        if why is None and (root := groups.root_of(attempt.row)) != attempt.row:
            why = "overlaps", root
        made[place] = replace(attempt, taken=why is None, refused=why)
    return made


def _attempt(program: RelaxProgram, matcher: Matcher, row: int) -> Attempt:
    paired = program.paired
    try:
        theirs = paired.root.extract_matched_expr(program.expressions[row], program.values)
    except Exception as error:  # noqa: BLE001  TVM's matcher ends with errors of several kinds; each is an answer
        words = f"makes TVM's matcher fail: {reason_of(error)}"
        return Attempt(row, None, Failure(paired.pattern.root, row, "tvm-fails", words, {}))
    if theirs is None:
        return Attempt(row, None, _failure(matcher, row))
    held: Bindings = {}
    for id, each in enumerate(paired.objects):
        expr = theirs.get(each)
        found = None if expr is None else program.row_of.get(identity(expr))
        if found is not None:
            held[id] = (found,)
    inside = {r for id in _taking(paired.pattern) for r in held.get(id, ())}
    return Attempt(row, held, None, frozenset({row, *inside}))


def _failure(matcher: Matcher, row: int) -> Failure:
    """Return the furthest point that an attempt reached, by our rules."""
    try:
        matched = matcher.match(row)
    except PatternError as error:
        return Failure(matcher.root, row, "not-explained", f"is not matched: {error}", {})
    if matched is None and matcher.failure is not None:
        return matcher.failure
    return Failure(
        matcher.root, row, "tvm-differs", "is refused by TVM for a reason that the workbench does not know", {}
    )


def _taking(pattern: Pattern) -> list[int]:
    """Return the sub-patterns whose values become part of a kernel: calls, and fields of tuples."""
    return [node.id for node in pattern.nodes if node.kind in ("call", "get_item")]


class _Group:
    """The union-find node that TVM keeps for each variable."""

    def __init__(self, row: int) -> None:
        self.parent: _Group | None = None
        self.size = 1
        self.rows = [row]

    def root(self) -> _Group:
        group = self
        while group.parent is not None:
            group = group.parent
        return group


class _Groups:
    """The groups that FuseOpsByPattern makes of the matches, in the order of the bindings."""

    def __init__(self, program: RelaxProgram, pattern: Pattern) -> None:
        self.program = program
        self.taking = _taking(pattern)
        self.getting = {node.id for node in pattern.nodes if node.kind == "get_item"}
        self.of: dict[int, _Group] = {row: _Group(row) for row in program.bound_in_dataflow}

    def take(self, row: int, held: Bindings) -> tuple[str, int] | None:
        """Take a match, or return the reason why it is skipped."""
        if row not in self.of or self.program.rows[row].kind != "call":
            return "not-in-dataflow", row
        all_held = {held[id][0] for id in self.taking if id in held}
        inner = [held[id][0] for id in self.taking if id in held and (held[id][0] != row or id in self.getting)]
        for each in inner:
            group = self.of.get(each)
            if group is not None and group.root().size > 1 and not set(group.rows) <= all_held:
                return "in-an-earlier-match", each
        whole = self.of[row].root()
        for each in inner:
            group = self.of.get(each)
            if group is not None and group is not whole:
                group.size -= 1
                group.parent = whole
                whole.rows.append(each)
                whole.size += 1
        return None

    def root_of(self, row: int) -> int:
        return self.of[row].root().rows[0]


# -- chains of used_by, which TVM matches in a PatternContext, once for each dataflow block


def _chains(program: RelaxProgram, matcher: Matcher) -> list[Attempt]:
    paired = program.paired
    found = _first_matches(program)
    made: list[Attempt] = []
    for row in range(len(program.rows)):
        if not program.nodes[row]:
            continue
        held = matcher.match(row)
        if held is None:
            made.append(Attempt(row, None, matcher.failure))
            continue
        block = program.bound_in_dataflow.get(row)
        first = None if block is None else found.get(block)
        refused = ("not-in-dataflow", row) if block is None else ("first-only", row)
        inside = frozenset({row, *(r for id in _taking(paired.pattern) for r in held.get(id, ()))})
        taken = first is not None and first == row
        made.append(Attempt(row, held, None, inside, taken, None if taken else refused))
    return made


def _first_matches(program: RelaxProgram) -> dict[int, int]:
    """Return dataflow block -> the row of the last value of the match that TVM returns for it."""
    paired = program.paired
    found: dict[int, int] = {}
    with dpl.PatternContext() as context:
        _joined(paired.pattern, paired.objects, paired.pattern.root)
        last = paired.objects[paired.pattern.nodes[paired.pattern.root].children[1]]
        for place, block in enumerate(program.blocks):
            matched = context.match_dfb(block)
            variable = None if matched is None else matched.get(last)
            if variable is not None:
                found[place] = program.row_of[identity(variable)]
    return found


def _joined(pattern: Pattern, objects: tuple[Any, ...], id: int) -> Any:
    """Return the chain as TVM's object; making it registers the constraints in the context."""
    node = pattern.nodes[id]
    if node.kind != "used_by":
        return objects[id]
    producer, consumer = (_joined(pattern, objects, child) for child in node.children)
    index = node.fields["index"]
    return producer.only_used_by(consumer, index) if node.fields["only"] else producer.used_by(consumer, index)


def is_chain(pattern: Pattern) -> bool:
    """Return whether it is a chain of `used_by`, which TVM matches in a PatternContext."""
    return pattern.nodes[pattern.root].kind == "used_by"


def lacks_objects(pattern: Pattern) -> bool:
    """Return whether it uses `dominates`, which Relax's language lacks: only our matcher supports it."""
    return any(node.kind == "dominates" for node in pattern.nodes)


def paired(pattern: object) -> Paired:
    """Return a pattern of any form with TVM's objects; raises as `PatternLanguage.pair`."""
    if isinstance(pattern, (dpl.PatternSeq, dpl.PatternContext)):
        raise PatternError(
            f"TVM gives no access to the parts of a {type(pattern).__name__}; give it as text, such as "
            '\'is_op("relax.add")(wildcard(), wildcard()) >> is_op("relax.nn.relu")(wildcard())\''
        )
    if isinstance(pattern, str):
        pattern = parse(pattern)
    if isinstance(pattern, Pattern):
        chains = {node.id for node in pattern.nodes if node.kind == "used_by"}
        if any(node.kind != "used_by" and chains & {*node.children} for node in pattern.nodes):
            raise PatternError(
                "used_by is allowed at the root of a pattern only: in TVM it joins patterns and is not a pattern itself"
            )
        if lacks_objects(pattern):
            return Paired(pattern, (None,) * len(pattern.nodes))
    return LANGUAGE.pair(pattern)


def _call(node: PatternNode, children: list[Any]) -> Any:
    more = bool(node.fields["any"] or node.fields.get("rest"))
    return dpl.pattern.CallPattern(children[0], children[1:], varg_default_wildcard=more, add_constraint=False)


def _tuple(node: PatternNode, children: list[Any]) -> Any:
    if node.fields["any"]:
        raise PatternError("Relax's is_tuple needs its fields; is_tuple(None) is Relay's")
    return dpl.is_tuple(children)


def _function(node: PatternNode, children: list[Any]) -> Any:
    if node.fields["any"]:
        raise PatternError("Relax's FunctionPattern needs its parameters; None is Relay's")
    return dpl.pattern.FunctionPattern(children[:-1], children[-1])


def _typed(node: PatternNode, children: list[Any]) -> Any:
    shape, dtype = tensor_parts(node.fields["type"])
    if dtype is None or not all(isinstance(each, int) for each in shape):
        raise PatternError(
            f"{node.fields['type']} is not a tensor type of known shape; ask with has_shape and has_dtype"
        )
    return children[0].has_ty(compat.tensor_type(tuple(shape), dtype))


_MAKE: dict[str, Make] = {
    **MAKE,
    "wildcard": lambda _, __: dpl.wildcard(),
    "constant": lambda _, __: dpl.is_const(),
    "op": lambda n, _: dpl.is_op(known_operator(n)),
    "used_by": lambda _, __: None,
    "expr": lambda n, _: dpl.is_expr(relax.const(n.fields["value"], n.fields["dtype"] or None)),
    "var": lambda n, _: dpl.is_var(n.fields.get("name", "")),
    "dataflow_var": lambda n, _: dpl.is_dfv(n.fields["name"]),
    "global": lambda n, _: dpl.is_gv(n.fields["name"]),
    "extern": lambda n, _: dpl.pattern.ExternFuncPattern(n.fields["name"]),
    "shape_value": lambda n, _: dpl.is_shape(list(n.fields["shape"])),
    "call": _call,
    "tuple": _tuple,
    "any_order": lambda _, c: dpl.is_tuple(c, unordered=True),
    "get_item": lambda n, c: dpl.is_tuple_get_item(c[0], n.fields["index"]),
    "function": _function,
    "and": lambda _, c: c[0] & c[1],
    "not": lambda _, c: ~c[0],
    "type": _typed,
}


def _read_call(p: Any) -> Apart:
    # TVM does not expose the flag for additional arguments, but prints it
    rest, named = str(p).endswith("...)"), list(p.args)
    return [p.op, *named], "call", {"any": rest and not named, **({"rest": True} if rest and named else {})}


def _read_expr(p: Any) -> Apart:
    held: Any = compat.value_of(p.expr) if isinstance(p.expr, compat.Constant) else None
    return read_expr(p.expr, held if isinstance(held, tvm.runtime.Tensor) else None)


_READ: dict[str, Read] = {
    **READ,
    "ExprPattern": _read_expr,
    "VarPattern": lambda p: ([], "var", {"name": str(p.name)}),
    "DataflowVarPattern": lambda p: ([], "dataflow_var", {"name": str(p.name)}),
    # Python cannot read its field; TVM prints it
    "GlobalVarPattern": lambda p: ([], "global", {"name": str(p).partition("(")[2].removesuffix(")")}),
    "ExternFuncPattern": lambda p: ([], "extern", {"name": str(p.global_symbol)}),
    "PrimArrPattern": lambda p: ([], "shape_value", {"shape": [plain(d) for d in p.fields]}),
    "CallPattern": _read_call,
    "TuplePattern": lambda p: (list(p.fields), "tuple", {"any": False}),
    "UnorderedTuplePattern": lambda p: (list(p.fields), "any_order", {}),
    "FunctionPattern": lambda p: ([*p.params, p.body], "function", {"any": False}),
    "OrPattern": lambda p: ([p.left, p.right], "alt", {}),
    "AndPattern": lambda p: ([p.left, p.right], "and", {}),
    "NotPattern": lambda p: ([p.reject], "not", {}),
    "AttrPattern": lambda p: ([p.pattern], "attr", {"attrs": {str(k): plain(p.attrs[k]) for k in p.attrs.keys()}}),  # noqa: SIM118  TVM's, not a dict
    "TypePattern": lambda p: ([p.pattern], "type", {"type": type_text(p.ty)}),
    "ShapePattern": lambda p: ([p.pattern], "shape", {"shape": [plain(d) for d in p.shape]}),
}

LANGUAGE = PatternLanguage(dpl.DFPattern, "Relax's pattern language (tvm.relax.dpl)", _MAKE, _READ)
