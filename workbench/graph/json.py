"""Graphs as versioned JSON, stored by column and checked when read."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from workbench.errors import LoadError
from workbench.graph.nodes import (
    DIALECTS,
    GROUP_KINDS,
    KINDS,
    PATTERNS,
    Answers,
    Edge,
    Group,
    Joined,
    Node,
    Products,
)
from workbench.graph.received import Damaged, parse

if TYPE_CHECKING:
    from workbench.graph.model import Graph

FORMAT = "tvm-workbench graph"
VERSION = 1
DEEPEST = 2200
"groups in groups: what the reader of Relay text takes, and layers around them"


def dumps(graph: Graph) -> str:
    """Return the graph as JSON text."""
    return json.dumps(to_data(graph), separators=(",", ":"))


def to_data(graph: Graph) -> dict[str, object]:
    """Return the graph as plain lists and dicts."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": graph.name,
        "dialect": graph.dialect,
        "nodes": [_without_defaults(node) for node in graph.nodes],
        "edges": [[e.source, e.target, e.index] for e in graph.edges],
        "groups": [asdict(group) for group in graph.groups],
        "outputs": list(graph.outputs),
        # saving does not run TVM, which would read all constants
        **(_answers(graph.answers) if "answers" in vars(graph) else {}),
        **(_products(graph.products) if "products" in vars(graph) else {}),
    }


def _answers(answers: Answers) -> dict[str, object]:
    merged = None if answers.merged is None else [list(pair) for pair in answers.merged.items()]
    return {
        key: value for key, value in (("merged", merged), ("unfusible", answers.unfusible)) if value not in (None, "")
    }


def _products(products: Products | None) -> dict[str, object]:
    if products is None:
        return {}
    joined = [[each.left, list(each.right), list(each.bias)] for each in products.joined]
    return {"products": {"joined": joined, "parts": sorted(products.parts), "failure": products.failure}}


_EMPTY = Node(0, "", "")
_OPTIONAL = tuple(f.name for f in fields(Node) if f.name not in ("id", "kind", "op"))


def _without_defaults(node: Node) -> dict[str, object]:
    # the id is the index in the list, and most fields of most nodes are empty
    rest = {name: value for name in _OPTIONAL if (value := getattr(node, name)) != getattr(_EMPTY, name)}
    return {"kind": node.kind, "op": node.op, **rest}


def loads(text: str, make: type[Graph]) -> Graph:
    """Return the graph that `dumps` wrote; `make` is Graph."""
    try:
        data = parse(text)
    except Damaged as error:
        raise LoadError(f"this is not a saved graph: {error}; save one with Graph.to_json()") from None
    return from_data(data, make)


def from_data(data: object, make: type[Graph]) -> Graph:
    """Return the graph of which `to_data` made this data, with every reference checked; `make` is Graph."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise LoadError("this JSON is not a saved graph; save one with Graph.to_json()")
    if data.get("version") != VERSION:
        raise LoadError(
            f"this graph has format version {data.get('version')!r:.40}, and this workbench reads version {VERSION}; upgrade it"
        )
    try:
        graph = _read(data, make)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise LoadError(f"this saved graph is damaged: {error!r:.120}; save it again") from None
    _check(graph)
    return graph


def _read(data: dict[str, Any], make: type[Graph]) -> Graph:
    nodes = tuple(Node(id=i, **_tuple_of_source(row)) for i, row in enumerate(data["nodes"]))
    types = [node.type for node in nodes]
    edges = tuple(Edge(s, t, i, types[s]) for s, t, i in data["edges"])
    groups = tuple(Group(**{**row, "inputs": _list(row.get("inputs", []))}) for row in data["groups"])
    answers = Answers(dict(data["merged"]) if "merged" in data else None, data.get("unfusible", ""))
    products = _read_products(data["products"]) if "products" in data else None
    outputs = _list(data["outputs"])
    return make(
        nodes, edges, groups, outputs, data["name"], data["dialect"], lambda: answers, products and (lambda: products)
    )


def _tuple_of_source(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "source": _list(row["source"])} if "source" in row else row


def _read_products(data: dict[str, Any]) -> Products:
    joined = (Joined(left, _list(right), _list(bias)) for left, right, bias in data["joined"])
    return Products(tuple(joined), frozenset(_list(data["parts"])), data["failure"])


def _sound_products(graph: Graph) -> bool:
    products = graph.products or Products()
    nodes = (node for each in products.joined for node in (each.left, *each.right, *each.bias))
    return isinstance(products.failure, str) and all(
        _place(node, len(graph.nodes)) for node in (*nodes, *products.parts)
    )


def _list(value: object) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list")
    return tuple(value)


def _check(graph: Graph) -> None:
    sound = (
        isinstance(graph.name, str)
        and isinstance(graph.answers.unfusible, str)
        and graph.dialect in (*DIALECTS, "")
        and all(_sound_node(n, len(graph.groups)) for n in graph.nodes)
        and all(
            _place(e.target, len(graph.nodes)) and _place(e.source, e.target) and _place(e.index) for e in graph.edges
        )
        and all(_sound_group(g, i, len(graph.nodes), len(graph.groups)) for i, g in enumerate(graph.groups))
        and _nest(graph.groups)
        and all(_place(o, len(graph.nodes)) for o in graph.outputs)
        and all(
            _place(a, len(graph.nodes)) and (_place(b, a) or b == -1) for a, b in (graph.answers.merged or {}).items()
        )
        and _sound_products(graph)
    )
    if not sound:
        raise LoadError(
            "this saved graph is damaged: a node, edge or group refers to nothing or is of the wrong type; save it again"
        )


def _place(value: object, end: float = math.inf) -> bool:
    """Return whether the value is a whole number from 0 up to but not including `end`."""
    return type(value) is int and 0 <= value < end


def _sound_node(node: Node, groups: int) -> bool:
    return (
        node.kind in KINDS
        and all(isinstance(text, str) for text in (node.op, node.type, node.name, node.scope, node.span, node.held))
        and all(isinstance(name, str) for name in node.source)
        and isinstance(node.attrs, dict)
        and isinstance(node.attrs.get("digest", ""), str)
        and (node.group is None or _place(node.group, groups))
        and (node.pattern is None or (type(node.pattern) is int and node.pattern in PATTERNS))
        and _place(node.line)
        and type(node.block) is int
    )


def _sound_group(group: Group, place: int, nodes: int, groups: int) -> bool:
    return (
        _place(group.id)
        and group.id == place
        and group.kind in GROUP_KINDS
        and isinstance(group.name, str)
        and (group.parent is None or _place(group.parent, groups))
        and isinstance(group.attrs, dict)
        and (group.output is None or _place(group.output, nodes))
        and all(_place(node, nodes) for node in group.inputs)
    )


def _nest(groups: tuple[Group, ...]) -> bool:
    """Return whether no group is inside itself. A layer comes after its kernels, so a parent may come later.

    Raises
    ------
    LoadError
        Groups are nested deeper than DEEPEST.
    """
    depth: dict[int | None, int] = {None: 0}
    for group in groups:
        above: dict[int, None] = {}
        at: int | None = group.id
        while at not in depth:
            if at is None or at in above:
                return False
            above[at] = None
            at = groups[at].parent
        for inner in reversed(above):
            depth[inner] = depth[groups[inner].parent] + 1
    if max(depth.values()) > DEEPEST:
        raise LoadError(f"this saved graph has a group in more than {DEEPEST:,} others; save it with fewer")
    return True
