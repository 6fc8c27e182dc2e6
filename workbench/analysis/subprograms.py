"""Any operators of a program as a program: the values that they read of other operators become inputs.

Unlike a region (legality.py) they need not be convex: a path that leaves them ends in an output and comes back as an input.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from workbench.analysis.legality import IllegalEdit, describe
from workbench.errors import PipelineError
from workbench.graph.model import Graph

_BETWEEN = ("tuple", "get_item")
"kinds of nodes that belong to the operators that they are between"
_PLAIN = ("constant", "function", "global", "shape")
"kinds of nodes that a program keeps if it reads them"


@dataclass(frozen=True)
class Subprogram:
    """Operators of a program, with what enters and leaves them."""

    operators: tuple[int, ...]
    between: frozenset[int]
    "the tuples and the fields between them"
    inputs: tuple[int, ...]
    "nodes whose values are read and not computed in it, constants and functions apart, in order of first use"
    outputs: tuple[int, ...]
    "the operators whose values no other one of them reads"


def operators(graph: Graph) -> tuple[int, ...]:
    """Return the operators that `subprogram` takes: the calls, in the body of the entry function itself.

    Examples
    --------
    >>> w = wb.load("def @main(%x: Tensor[(8), float32]) { nn.relu(exp(%x)) }")
    >>> operators(w.graph)
    (1, 2)
    """
    entry = next((group.id for group in graph.groups if group.parent is None), None)
    inside = {None, entry}
    return tuple(
        node.id
        for node in graph.nodes
        if node.group in inside and node.kind not in (*_BETWEEN, *_PLAIN, "param", "match")
    )


def subprogram(graph: Graph, nodes: Iterable[int]) -> Subprogram:
    """Return the program of these operators; raises IllegalEdit for none, or one that the entry function lacks."""
    chosen, known = set(nodes), set(operators(graph))
    if not chosen:
        raise IllegalEdit("no operator is chosen; give the ids of the operators to keep")
    for node in sorted(chosen - known):
        name = describe(graph, node) if 0 <= node < len(graph.nodes) else f"node {node}"
        raise IllegalEdit(f"{name} is not an operator of the entry function; give nodes of w.graph.ops")
    seen: dict[int, None] = {}
    for node in sorted(chosen):
        for source in graph.inputs[node]:
            _follow(graph, source, chosen, seen)
    between = {each for each in seen if _is_between(graph, each, chosen)}
    inputs = [each for each in seen if each not in chosen | between and graph.nodes[each].kind not in _PLAIN]
    return Subprogram(tuple(sorted(chosen)), frozenset(between), tuple(inputs), tuple(sorted(chosen - seen.keys())))


def check_pairs(graph: Graph, pairs: Iterable[Sequence[int]]) -> None:
    """Raise IllegalEdit if a node's replacement is not an earlier node of the same type."""
    for pair in pairs:
        if len(pair) != 2 or not all(0 <= node < len(graph.nodes) for node in pair):
            raise IllegalEdit(f"{list(pair)} is not a pair of nodes; give (node, earlier node)")
        node, other = (graph.nodes[each] for each in pair)
        if other.id >= node.id or other.type != node.type:
            raise IllegalEdit(
                f"{describe(graph, other.id)} cannot replace {describe(graph, node.id)}; give an earlier node of the type {node.type}"
            )


def _follow(graph: Graph, node: int, chosen: set[int], seen: dict[int, None]) -> None:
    """Note the node of a value, and of those that it is made of through tuples and their fields."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        seen.setdefault(current)
        if _is_between(graph, current, chosen):
            waiting += reversed(graph.inputs[current])


def _is_between(graph: Graph, node: int, chosen: set[int]) -> bool:
    """Return whether a node is a tuple, or a field of a chosen operator; a field of another one is an input."""
    kind = graph.nodes[node].kind
    return kind == "tuple" or (kind == "get_item" and graph.inputs[node][0] in chosen)


def check_functions(names: Sequence[str], known: Sequence[str]) -> None:
    """Refuse names of functions that a module does not have. Raises IllegalEdit: there is no function of a name."""
    for name in names:
        if name not in known:
            raise IllegalEdit(f"the module has no function {name!r}; it has {', '.join(known)}")


def check_dtype(name: object) -> None:
    """Refuse a data type whose values cannot be converted. Raises PipelineError: it is not one of DTYPES."""
    if name not in DTYPES:
        raise PipelineError(f"{name!r} is not a data type that can be changed; give one of {', '.join(DTYPES)}")


DTYPES = tuple(
    f"{kind}{bits}" for kind in ("float", "int", "uint") for bits in (8, 16, 32, 64) if (kind, bits) != ("float", 8)
)


def check_given(graph: Graph, nodes: Iterable[int]) -> None:
    """Refuse nodes that are computed. Raises IllegalEdit: one is not an input or a constant."""
    for node in nodes:
        if not 0 <= node < len(graph.nodes) or graph.nodes[node].kind not in ("param", "constant"):
            raise IllegalEdit(f"node {node} is not an input or a constant; the other types are inferred from those")
