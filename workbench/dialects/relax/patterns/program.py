"""A Relax module's expressions as Programs: a variable is its bound value, as for TVM's matcher."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import Any

import tvm
from tvm import relax
from tvm.relax import dpl

from workbench.analysis.patterns import PatternNode
from workbench.analysis.patterns.program import Program, Row, other_type
from workbench.dialects.pattern_objects import Paired
from workbench.dialects.relax import compat
from workbench.dialects.relax.compat import identity
from workbench.dialects.relax.expressions import callee_name, sort_of
from workbench.dialects.relax.graph import build_graph
from workbench.errors import reason_of
from workbench.graph.model import Graph

_KINDS = {"variable": "var", "data_type": "other", "literal": "other"}
_NAMED = ("op", "global", "extern", "variable")


def programs(module: tvm.IRModule, name: str) -> list[RelaxProgram]:
    """Return one program for each Relax function of the module, the entry first."""
    shown: dict[int, list[int]] = {}
    graph = build_graph(module, name, shown=shown)
    functions = {v.name_hint: f for v, f in module.functions_items() if isinstance(f, relax.Function)}
    ordered = sorted(functions, key=lambda each: (each != "main", each))
    return [RelaxProgram.of(functions[each], shown, graph, each) for each in ordered]


class RelaxProgram(Program):
    """Expressions of a Relax function; TVM checks the conditions of a sub-pattern on one of them."""

    expressions: tuple[Any, ...]
    function: relax.Function
    values: Any
    "variable -> its bound value, in TVM's form"
    row_of: dict[int, int]
    "identity of an expression or variable -> its row"
    paired: Paired
    "the pattern, which is set before it is matched"

    @classmethod
    def of(cls, function: relax.Function, shown: dict[int, list[int]], graph: Graph, name: str) -> RelaxProgram:
        """Return the program of all expressions of a function."""
        values = relax.analysis.get_var2val(function)
        bound = {identity(variable): value for variable, value in values.items()}
        order, row_of = _expressions(function, bound)
        rows = [_row(expr, row_of) for expr in order]
        program = cls(rows, [tuple(shown.get(identity(expr), ())) for expr in order], graph, name)
        program.expressions, program.function, program.values, program.row_of = tuple(order), function, values, row_of
        return program

    @cached_property
    def blocks(self) -> tuple[Any, ...]:
        """Return the dataflow blocks of the function's own body."""
        return tuple(block for block in self.function.body.blocks if isinstance(block, relax.DataflowBlock))

    @cached_property
    def bound_in_dataflow(self) -> dict[int, int]:
        """Return the rows that a binding of a dataflow block holds, with the block."""
        return {
            self.row_of[identity(binding.value)]: place
            for place, block in enumerate(self.blocks)
            for binding in block.bindings
            if isinstance(binding, relax.VarBinding)
        }

    @cached_property
    def _uses(self) -> dict[int, set[int]]:
        """Return row -> the variables of dataflow blocks whose values use its variable."""
        found: dict[int, set[int]] = defaultdict(set)
        for block in self.blocks:
            for binding in block.bindings:
                for used in _variables(binding.value):
                    found[self.row_of[identity(used)]].add(identity(binding.var))
        return found

    def consumers(self, row: int) -> int:
        return len(self._uses[row])

    def flat_inputs(self, row: int) -> tuple[int, ...]:
        return tuple(self.row_of[identity(used)] for used in _variables(self.expressions[row]))

    def fault(self, pattern: PatternNode, row: int) -> tuple[str, str] | None:
        theirs, expr = self.paired.objects[pattern.id], self.expressions[row]
        try:
            if _alone(theirs, pattern.kind).match(expr, self.values):
                return None
        except Exception as error:  # noqa: BLE001  whatever TVM's matcher ends with is its answer here
            return "tvm-fails", f"makes TVM's matcher fail: {reason_of(error)}"
        if pattern.kind == "attr":
            return self._other_attributes(pattern, expr)
        if pattern.kind == "expr":
            return "expr-differs", f"is not {pattern.fields['text']}"
        if pattern.kind in ("global", "extern", "dataflow_var", "shape_value"):
            return self._other_value(pattern, row) or ("other-function", f"is not {pattern.label}")
        found = compat.type_of(expr)
        said = "" if found is None else str(found)
        return other_type(pattern, said) or (f"{pattern.kind}-differs", f"has type {said}")

    def _other_attributes(self, pattern: PatternNode, expr: Any) -> tuple[str, str]:
        attrs: Any = getattr(expr, "attrs", None)
        if attrs is None:
            return "no-attributes", "has no attributes"
        for name, wanted in pattern.fields["attrs"].items():
            found = attrs.get(name) if hasattr(attrs, "get") else getattr(attrs, name, None)
            if found is None:
                return "attribute-absent", f"has no attribute {name!r}"
            if str(found) != str(wanted):
                return "attribute-differs", f"has {name}={found}, not {wanted}"
        return "attribute-differs", f"has {pattern.label.removeprefix('with ')} in another type of number or text"


def _alone(theirs: Any, kind: str) -> Any:
    """Return a pattern's own condition, without that of its inner pattern."""
    if kind == "attr":
        return dpl.pattern.AttrPattern(dpl.wildcard(), theirs.attrs)
    if kind == "type":
        return dpl.wildcard().has_ty(theirs.ty)
    if kind == "shape":
        return dpl.wildcard().has_shape(list(theirs.shape))
    return dpl.wildcard().has_dtype(str(theirs.dtype)) if kind == "dtype" else theirs


def _expressions(function: relax.Function, bound: dict[int, Any]) -> tuple[list[Any], dict[int, int]]:
    """Return every expression after its operands, and the row of each of them and of each variable."""
    order: list[Any] = []
    row_of: dict[int, int] = {}
    stack: list[tuple[Any, bool]] = [(function, False)]
    while stack:
        expr, ready = stack.pop()
        key = identity(expr)
        if key in row_of:
            continue
        if sort_of(expr) == "variable" and key in bound:
            value = bound[key]
            if identity(value) in row_of:
                row_of[key] = row_of[identity(value)]
            else:
                stack.extend([(expr, False), (value, False)])
            continue
        if ready:
            row_of[key] = len(order)
            order.append(expr)
            continue
        stack.append((expr, True))
        stack.extend((part, False) for part in reversed(_visited(expr)))
    return order, row_of


def _visited(expr: Any) -> list[Any]:
    if sort_of(expr) == "sequence":
        # in the order of the bindings, used or not
        bindings = [binding for block in expr.blocks for binding in block.bindings]
        return [*[part for binding in bindings for part in (binding.value, binding.var)], expr.body]
    return _parts(expr)


def _parts(expr: Any) -> list[Any]:
    """Return the parts of an expression that a pattern of its kind has sub-patterns for."""
    sort = sort_of(expr)
    if sort == "call":
        return [expr.op, *expr.args]
    if sort == "tuple":
        return list(expr.fields)
    if sort == "get_item":
        return [expr.tuple_value]
    if sort == "if":
        return [expr.cond, expr.true_branch, expr.false_branch]
    if sort == "function":
        return [*expr.params, expr.body]
    return [expr.body] if sort == "sequence" else []


def _row(expr: Any, row_of: dict[int, int]) -> Row:
    sort = sort_of(expr)
    kind = _KINDS.get(sort, sort)
    parts = tuple(row_of[identity(part)] for part in _parts(expr))
    inputs = parts[-1:] if sort == "function" else parts
    if sort == "call" and sort_of(expr.op) in ("op", "global", "extern"):
        inputs = parts[1:]
    name = callee_name(expr) if sort in _NAMED else ""
    return Row(kind, name, parts, inputs, int(expr.index) if sort == "get_item" else 0)


def _variables(expr: Any) -> list[Any]:
    """Return the variables that an expression uses, in the order in which they are written."""
    found: list[Any] = []
    stack = [expr]
    while stack:
        current = stack.pop()
        if sort_of(current) == "variable":
            found.append(current)
        elif sort_of(current) in ("call", "tuple", "get_item"):
            stack.extend(reversed(_parts(current)))
    return found
