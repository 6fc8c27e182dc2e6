"""Answers of TVM's passes about a module: the nodes that EliminateCommonSubexpr merges, the products that are joined.

The pass keeps each variable. A merged binding becomes `v = w`, where `w` is the variable that was bound first; so the
result shows the merges, and the graph's nodes of `v` and `w` are paired. CombineParallelMatmul calls a check with each set of
products before it joins them. It names their factors and biases by variables, and passes the bindings at that time, which contain
the factors of a product that an earlier round made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax

from workbench.dialects.relax.compat import identity, name_of
from workbench.dialects.relax.expressions import sort_of
from workbench.errors import reason_of
from workbench.graph.model import Graph
from workbench.graph.nodes import Joined, Products

_VALUES = ("op", "call", "if", "match", "function")
"kinds of nodes that are drawn once for each expression; a constant may be shared"
OUT_OF_SCOPE = -1
"in place of an earlier node: a variable that is not visible there, which makes the result ill-formed"
SAFE_NESTING = 100
"levels of nested expressions that TVM is given: it recurses, and 1,000 nested `if` end the process"


@dataclass(frozen=True)
class Drawn:
    """The nodes that were drawn for one binding, or for one parameter."""

    start: int
    "id of the first node that its value added"
    end: int
    "one more than the id of the last"
    node: int
    "the node that holds the value"


def merged_nodes(module: tvm.IRModule, graph: Graph, drawn: Mapping[int, Sequence[Drawn]]) -> dict[int, int] | None:
    """Return the nodes that the pass merges, each with the earlier node it joins; None if the pass cannot run safely.

    `drawn`: for each bound variable, by identity, its nodes each time that its function is drawn.
    """
    try:
        result = relax.transform.EliminateCommonSubexpr()(module)
    except Exception:  # noqa: BLE001  TVM raises errors of many classes on a module that is not well-formed
        return None
    found: dict[int, int] = {}
    for later, first in _replaced(result):
        if first is None:
            found |= {ours.node: OUT_OF_SCOPE for ours in drawn.get(later, ()) if ours.start <= ours.node < ours.end}
            continue
        for ours, theirs in zip(drawn.get(later, ()), drawn.get(first, ()), strict=False):
            found |= {a: b for a, b in _pairs(graph, ours, theirs) if b < a}
    return found


def nested_depth(graph: Graph) -> int:
    """Return the nesting depth of groups plus that of expressions without a variable."""
    around: dict[int | None, int] = {None: 0}
    for group in graph.outside_in:
        around[group.id] = around[group.parent] + 1
    inline: list[int] = []
    for node in graph.nodes:
        inline.append(0 if node.name else 1 + max((inline[source] for source in graph.inputs[node.id]), default=0))
    return max(inline, default=0) + max(around.values())


def _replaced(module: tvm.IRModule) -> Iterator[tuple[int, int | None]]:
    """Yield each variable bound to another one, and that one; None for one bound in a function that is not around it."""
    found = list(bindings_of(module))
    places = {identity(binding.var): around for binding, around in found}
    for binding, around in found:
        if sort_of(binding.value) == "variable":
            first = identity(binding.value)
            there = places.get(first, around)
            yield identity(binding.var), first if around[: len(there)] == there else None


def bindings_of(module: tvm.IRModule) -> Iterator[tuple[Any, tuple[int, ...]]]:
    """Yield each binding with the functions around it."""
    waiting: list[tuple[Any, tuple[int, ...]]] = [
        (each, (place,)) for place, each in enumerate(module.functions.values())
    ]
    while waiting:
        value, around = waiting.pop()
        names = {"if": ("true_branch", "false_branch"), "function": ("body",)}.get(sort_of(value), ())
        bodies = [body for name in names if sort_of(body := getattr(value, name)) == "sequence"]
        blocks = [block for body in bodies for block in body.blocks]
        for binding in (binding for block in blocks for binding in block.bindings[:]):
            yield binding, around
            sort = sort_of(binding.value)
            if sort in ("if", "function"):
                waiting.append((binding.value, around if sort == "if" else (*around, identity(binding.value))))


def _pairs(graph: Graph, later: Drawn, first: Drawn) -> Iterator[tuple[int, int]]:
    """Pair the nodes of two equal values, with those of their bodies if they have some."""
    yield later.node, first.node
    ours, theirs = ([node for node in graph.nodes[d.start : d.end] if node.kind in _VALUES] for d in (later, first))
    if [(node.kind, node.op) for node in ours] == [(node.kind, node.op) for node in theirs]:
        yield from ((a.id, b.id) for a, b in zip(ours, theirs, strict=True))


def fusion_failure(module: tvm.IRModule) -> str:
    """Return the reason why FuseOps raises on the module, in a sentence; "" if none of these reasons applies."""
    owner: dict[int, str] = {}
    for variable, function in module.functions_items():
        if not isinstance(function, relax.Function) or _is_kernel(function):
            continue
        name = str(variable.name_hint)
        bindings = [binding for block in function.body.blocks for binding in block.bindings[:]]
        for bound in (*function.params, *(binding.var for binding in bindings)):
            first = owner.setdefault(identity(bound), name)
            if first != name:
                return (
                    f"FuseOps fails here: @{first} and @{name} share the variable {name_of(bound)}; give each function "
                    "variables of its own (relax.utils.copy_with_new_vars)"
                )
        for binding in bindings:
            unused = _unused(binding.value)
            if unused:
                return (
                    f"FuseOps fails here: nothing uses {unused}, which a dataflow block inside an `if` or a local function "
                    f"of @{name} binds; run DeadCodeElimination first"
                )
    return ""


def _is_kernel(function: relax.Function) -> bool:
    attrs = function.attrs or {}
    return bool(int(attrs.get("Primitive", 0))) or attrs.get("Codegen") is not None


def _unused(value: Any) -> str:
    """Return the name of a variable that a dataflow block inside the value binds and nothing in the value uses."""
    if sort_of(value) not in ("if", "function"):
        return ""
    used: set[int] = set()
    blocks: list[Any] = []

    def note(expr: Any) -> None:
        sort = sort_of(expr)
        if sort == "variable":
            used.add(identity(expr))
        elif sort == "sequence":
            blocks.extend(expr.blocks)

    relax.analysis.post_order_visit(value, note)
    inner = (block for block in blocks if isinstance(block, relax.DataflowBlock))
    variables = (binding.var for block in inner for binding in block.bindings)
    return next((name_of(variable) for variable in variables if identity(variable) not in used), "")


MATMUL = "relax.matmul"


@dataclass(frozen=True)
class _Asked:
    """One call of the check: the variables of a set of products."""

    left: int
    right: tuple[tuple[int, ...], ...]
    "the variable of each second factor, or those that an earlier round joined"
    bias: tuple[tuple[int, ...], ...]


def joined_products(module: tvm.IRModule, graph: Graph, drawn: Mapping[int, Sequence[Drawn]]) -> Products:
    """Return the sets of products that the pass joins.

    `drawn`: for each variable, by identity, its nodes each time that its function is drawn.
    """
    shared = {graph.inputs[node.id][0] for node in graph.ops if node.op == MATMUL}
    if not any(sum(graph.nodes[user].op == MATMUL for user, _ in graph.consumers[left]) > 1 for left in shared):
        return Products()
    asked: list[_Asked] = []

    def check(left: Any, right: Sequence[Any], bias: Sequence[Any], bindings: Mapping[Any, Any]) -> bool:
        values = {identity(variable): value for variable, value in bindings.items() if identity(variable) not in drawn}
        sets = [tuple(tuple(_joined_variables(each, values)) for each in variables) for variables in (right, bias)]
        asked.append(_Asked(identity(left), *sets))
        return True

    failure, parts = "", frozenset[int]()
    try:
        result = relax.transform.CombineParallelMatmul(check)(module)
    except Exception as error:  # noqa: BLE001  TVM raises errors of many classes here, some without a text
        failure = reason_of(error) or type(error).__name__
    else:
        variables = (identity(b.var) for b, _ in bindings_of(result) if sort_of(b.value) == "get_item")
        parts = frozenset(ours.node for variable in variables for ours in drawn.get(variable, ()))
    return Products(tuple(each for one in asked for each in _nodes(one, drawn)), parts, failure)


def _joined_variables(variable: Any, values: Mapping[int, Any]) -> Iterator[int]:
    """Yield the variable, or for one that the pass made, the variables that it concatenates.

    `values`: the values of the variables that the pass made.
    """
    made = values.get(identity(variable))
    if made is None:
        yield identity(variable)
        return
    # a made factor is the concat of a tuple, which may have a variable of its own
    fields = made if sort_of(made) == "tuple" else made.args[0]
    for field in fields.fields if sort_of(fields) == "tuple" else (fields,):
        yield from _joined_variables(field, values)


def _nodes(asked: _Asked, drawn: Mapping[int, Sequence[Drawn]]) -> Iterator[Joined]:
    """Yield the set as nodes, once for each time that its function is drawn."""
    right, bias = ([variable for each in sets for variable in each] for sets in (asked.right, asked.bias))
    places = [drawn.get(variable, ()) for variable in (asked.left, *right, *bias)]
    for nodes in zip(*([each.node for each in place] for place in places), strict=False):
        yield Joined(nodes[0], nodes[1 : 1 + len(right)], nodes[1 + len(right) :])
