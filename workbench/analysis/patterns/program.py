"""The expressions that a pattern is matched against, with post-dominators as TVM's matcher computes them.

A Graph draws functions in place and leaves out `let` and operators as values; patterns refer to these too. So a dialect
makes a Program of its own expressions, with the node that shows each. Without a module, the Program is made of the
Graph alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from workbench.analysis.patterns.pattern import PatternNode
from workbench.analysis.tensors import tensor
from workbench.graph.dominance import Ancestors
from workbench.graph.model import Graph, Node

LEAVES = ("var", "constant", "shape")


@dataclass(frozen=True, slots=True)
class Row:
    """One expression."""

    kind: str
    "call, op, var, constant, tuple, get_item, function, if, let; other kinds match wildcards only"
    name: str = ""
    "of an operator or a variable"
    parts: tuple[int, ...] = ()
    "sub-expressions in the order of a pattern: callee and arguments; parameters and body; variable, value and body; ..."
    inputs: tuple[int, ...] = ()
    "expressions whose values it uses in TVM's dataflow: no parameters, no let-bound value; the value, for its variable"
    index: int = 0
    "the field of a get_item"


class Program:
    """Expressions in TVM's post-DFS order, the root last. This class uses only the Graph's node of each expression."""

    skips_leaves = True
    "whether variables and constants may enter the path of `dominates` from anywhere (TVM since 0.17.0)"
    closed: frozenset[int] = frozenset()
    "expressions in functions of an earlier partition, which TVM does not search"

    def __init__(self, rows: Sequence[Row], nodes: Sequence[tuple[int, ...]], graph: Graph, name: str = "main") -> None:
        self.rows = tuple(rows)
        self.nodes = tuple(nodes)
        self.graph = graph
        self.name = name

    def fault(self, pattern: PatternNode, row: int) -> tuple[str, str] | None:
        """Return (reason code, words) why an expr, attr, type, shape or dtype pattern fails; None if it matches."""
        node = self._node(row)
        if pattern.kind == "expr":
            return _other_constant(pattern, node)
        if pattern.kind in ("global", "extern", "dataflow_var", "shape_value"):
            return self._other_value(pattern, row)
        if pattern.kind == "attr":
            return _other_attribute(pattern, node, self.graph.dialect)
        if node is None:
            return "no-type", "has no type of its own"
        return other_type(pattern, node.type)

    def _other_value(self, pattern: PatternNode, row: int) -> tuple[str, str] | None:
        here = self.rows[row]
        if pattern.kind in ("global", "extern"):
            wanted = pattern.fields["name"]
            found = here.kind == pattern.kind and (
                wanted in here.name if pattern.kind == "global" else wanted in ("", here.name)
            )
            return None if found else ("other-function", f"is not {pattern.label}")
        if pattern.kind == "dataflow_var":
            return "no-variable", "is looked at as the value that it is bound to, which is not a variable"
        said = f"R.shape([{', '.join(map(str, pattern.fields['shape']))}])"
        node = self._node(row)
        same = here.kind == "shape" and node is not None and node.op == said
        return None if same else ("shape-differs", f"is not {said}")

    def consumers(self, row: int) -> int:
        """Return the number of uses of an expression's value."""
        return len(set(self.users[row]))

    def flat_inputs(self, row: int) -> tuple[int, ...]:
        """Return the inputs of an expression, in the order of its arguments."""
        return self.rows[row].inputs

    def _node(self, row: int) -> Node | None:
        return self.graph.nodes[self.nodes[row][0]] if self.nodes[row] else None

    def named(self, row: int) -> str:
        """Return the expression in words."""
        return f"node {self.nodes[row][0]} ({self.what(row)})" if self.nodes[row] else self.what(row)

    def what(self, row: int) -> str:
        """Return the kind of expression, or its operator."""
        here = self.rows[row]
        if here.kind == "call":
            callee = self.rows[here.parts[0]]
            return callee.name if callee.kind == "op" else f"a call of {self.what(here.parts[0])}"
        if here.kind == "get_item":
            return f"field {here.index} of {self.what(here.parts[0])}"
        if here.kind == "var":
            return f"the variable {here.name}"
        return here.name or f"a {here.kind}"

    @cached_property
    def users(self) -> tuple[tuple[int, ...], ...]:
        """The users of each expression's value."""
        found: list[list[int]] = [[] for _ in self.rows]
        for row, here in enumerate(self.rows):
            for source in here.inputs:
                found[source].append(row)
        return tuple(map(tuple, found))

    @cached_property
    def above(self) -> tuple[int, ...]:
        """The immediate post-dominator of each expression, -1 where there is none (src/relay/ir/indexed_graph.h, PostDom)."""
        tree = Ancestors(len(self.rows))
        for row in reversed(range(len(self.rows))):
            tree.add(row, tree.common(self.users[row]) if self.users[row] else tree.root)
        return tuple(-1 if up == tree.root else up for up in tree.parent[:-1])

    @property
    def paths(self) -> float:
        """The most paths that lead up from one expression; they double with each diamond."""
        counts: list[float] = []
        for here in self.rows:
            counts.append(1.0 + sum(counts[i] for i in here.inputs))
        return max(counts)

    def dominated(self, row: int, by: int) -> bool:
        """Return whether every path from the expression to the root leads through the other."""
        while row >= 0 and row != by:
            row = self.above[row]
        return row == by


def of_graph(graph: Graph) -> list[Program]:
    """Return the programs of a Graph without a module, one for each function that is not drawn in place."""
    homes = [next((g.id for g in reversed([*graph.ancestors(n.group)])), -1) for n in graph.nodes]
    return [_of_group(graph, group, homes) for group in sorted(set(homes))]


@dataclass
class _Rows:
    rows: list[Row] = field(default_factory=list)
    nodes: list[tuple[int, ...]] = field(default_factory=list)
    callees: dict[str, int] = field(default_factory=dict)
    of: dict[int, int] = field(default_factory=dict)

    def add(self, row: Row, *nodes: int) -> int:
        self.rows.append(row)
        self.nodes.append(nodes)
        return len(self.rows) - 1

    def callee(self, node: Node) -> tuple[int, ...]:
        """Return the callee of a node: an operator or a global function; any other callee is the node's first input."""
        if node.kind != "op" and not node.op.startswith("@"):
            return ()
        if node.op not in self.callees:
            self.callees[node.op] = self.add(Row("op" if node.kind == "op" else "global", node.op))
        return (self.callees[node.op],)


def _of_group(graph: Graph, group: int, homes: list[int]) -> Program:
    table = _Rows()
    held = [node for node in graph.nodes if homes[node.id] == group]
    for node in held:
        inputs = tuple(table.of[i] for i in graph.inputs[node.id] if i in table.of)
        callee = table.callee(node) if node.kind in ("op", "call") else ()
        table.of[node.id] = table.add(_row(node, callee, inputs), node.id)
    return Program(table.rows, table.nodes, graph, graph.groups[group].name if group >= 0 else graph.name)


def _row(node: Node, callee: tuple[int, ...], inputs: tuple[int, ...]) -> Row:
    kind = {"op": "call", "param": "var"}.get(node.kind, node.kind)
    if kind == "get_item":
        place = node.op.lstrip(".")
        is_place = place.isdecimal() and len(place) < 10
        # a graph from elsewhere may be inconsistent: a get_item without a tuple is not one
        return Row(kind if inputs and is_place else "other", "", inputs, inputs, int(place) if is_place else 0)
    if kind in ("var", "constant"):
        return Row(kind, node.op if kind == "var" else "")
    if kind == "call" and not (callee or inputs):
        kind = "other"  # in a graph that was cut out of another
    # a call of a function already has its callee as the first input
    return Row(kind, "", (*callee, *inputs), (*callee, *inputs))


def _other_constant(pattern: PatternNode, node: Node | None) -> tuple[str, str] | None:
    value = pattern.fields.get("value")
    if node is None or node.kind != "constant":
        return "expr-differs", f"is not {pattern.fields['text']}"
    try:
        same = float(node.op.rstrip("fhu").removesuffix("i64")) == float(value)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        same = False
    return None if same else ("expr-differs", f"is {node.op}, not {pattern.fields['text']}")


def _other_attribute(pattern: PatternNode, node: Node | None, dialect: str) -> tuple[str, str] | None:
    if node is None or node.kind != "op":
        return "no-attributes", "is not a call of an operator, so it has no attributes"
    for name, wanted in pattern.fields["attrs"].items():
        if name not in node.attrs:
            default = (
                "; a Graph keeps only what differs from the default, so give the workload" if dialect == "relay" else ""
            )
            return "attribute-absent", f"gives no attribute {name!r}{default}"
        if node.attrs[name] != wanted:
            return "attribute-differs", f"has {name}={node.attrs[name]}, not {wanted}"
    return None


def other_type(pattern: PatternNode, said: str) -> tuple[str, str] | None:
    """Return why a printed type fails a type, shape or dtype pattern; None if it matches."""
    wanted = pattern.fields[pattern.kind]
    if pattern.kind == "type":
        return None if said == wanted else ("type-differs", f"has type {said or 'unknown'}, not {wanted}")
    shape, dtype = tensor_parts(said)
    if dtype is None:
        return "no-tensor", f"has type {said or 'unknown'}, which is not a tensor"
    if pattern.kind == "dtype":
        return None if dtype == wanted else ("dtype-differs", f"has data type {dtype}, not {wanted}")
    return None if shape == list(wanted) else ("shape-differs", f"has shape {shape}, not {list(wanted)}")


def tensor_parts(said: str) -> tuple[list[int | str], str | None]:
    """Return shape and data type of a tensor type as Relay or Relax prints it; ([], None) for other types."""
    found = tensor(said)
    return ([], None) if found is None else (list(found.shape), found.dtype)


def as_leaves(program: Program, rows: Mapping[int, object] | frozenset[int]) -> Program:
    """Return the program with these expressions as variables, to test a match "if they were inputs"."""
    changed = [Row("var", f"value of {program.what(i)}") if i in rows else row for i, row in enumerate(program.rows)]
    other = object.__new__(type(program))
    other.__dict__.update({k: v for k, v in program.__dict__.items() if k not in ("users", "above")})
    other.rows = tuple(changed)
    return other
