"""The products that CombineParallelMatmul joins, reported by the pass itself.

The pass calls a check with each set of products before it joins them. It names their factors and biases by variables,
and passes the bindings at that time, which contain the factors of a product that an earlier round made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax

from workbench.dialects.relax.answers import Drawn, bindings_of
from workbench.dialects.relax.compat import identity
from workbench.dialects.relax.expressions import sort_of
from workbench.errors import reason_of
from workbench.graph.model import Graph
from workbench.graph.nodes import Joined, Products

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

    Parameters
    ----------
    drawn
        For each variable, by identity, its nodes each time that its function is drawn.
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

    Parameters
    ----------
    values
        The values of the variables that the pass made.
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
