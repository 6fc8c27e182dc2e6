"""Graphs as versioned JSON, stored by column and checked when read."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from operator import attrgetter
from typing import Any

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
    Parts,
    Products,
    nesting,
)
from workbench.graph.received import Damaged, parse

FORMAT = "tvm-workbench graph"
VERSION = 1
DEEPEST = 2200
"groups in groups: what the reader of Relay text takes, and layers around them"


Saved = tuple[Parts, Answers, "Products | None"]
"a graph, and TVM's answers at the time of saving"


def text_of(data: dict[str, object]) -> str:
    """Return the data as JSON text."""
    return json.dumps(data, separators=(",", ":"))


def to_data(graph: Parts, answers: Answers | None, products: Products | None) -> dict[str, object]:
    """Return the graph as plain lists and dicts, with the answers of TVM that are known."""
    data: dict[str, object] = {
        "format": FORMAT,
        "version": VERSION,
        "name": graph.name,
        "dialect": graph.dialect,
        "nodes": [_without_defaults(node) for node in graph.nodes],
        "edges": [[e.source, e.target, e.index] for e in graph.edges],
        "groups": [_group(group) for group in graph.groups],
        "outputs": list(graph.outputs),
    }
    if answers is not None and answers.merged is not None:
        data["merged"] = [list(pair) for pair in answers.merged.items()]
    if answers is not None and answers.unfusible:
        data["unfusible"] = answers.unfusible
    if products is not None:
        joined = [[each.left, list(each.right), list(each.bias)] for each in products.joined]
        data["products"] = {"joined": joined, "parts": sorted(products.parts), "failure": products.failure}
    return data


_OPTIONAL = tuple(f.name for f in fields(Node) if f.name not in ("id", "kind", "op"))
_VALUES = attrgetter(*_OPTIONAL)
_DEFAULTS = _VALUES(Node(0, "", ""))
_GROUP = tuple(f.name for f in fields(Group))


def _without_defaults(node: Node) -> dict[str, object]:
    # the id is the index in the list, and most fields of most nodes are empty
    named = zip(_OPTIONAL, _VALUES(node), _DEFAULTS, strict=True)
    return {"kind": node.kind, "op": node.op, **{name: value for name, value, default in named if value != default}}


def _group(group: Group) -> dict[str, object]:
    return {**{name: getattr(group, name) for name in _GROUP}, "inputs": list(group.inputs)}


def data_of(text: str) -> object:
    """Return the data of a JSON text that may be a saved graph."""
    try:
        return parse(text)
    except Damaged as error:
        raise LoadError(f"this is not a saved graph: {error}; save one with Graph.to_json()") from None


def from_data(data: object) -> Saved:
    """Return the graph of which `to_data` made this data, with every reference checked."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise LoadError("this JSON is not a saved graph; save one with Graph.to_json()")
    if data.get("version") != VERSION:
        raise LoadError(
            f"this graph has format version {data.get('version')!r:.40}, and this workbench reads version {VERSION}; upgrade it"
        )
    try:
        saved = _read(data)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise LoadError(f"this saved graph is damaged: {error!r:.120}; save it again") from None
    _check(*saved)
    return saved


def _read(data: dict[str, Any]) -> Saved:
    rows = ({**row, "source": _list(row["source"])} if "source" in row else row for row in data["nodes"])
    nodes = tuple(Node(id=i, **row) for i, row in enumerate(rows))
    types = [node.type for node in nodes]
    edges = tuple(Edge(s, t, i, types[s]) for s, t, i in data["edges"])
    groups = tuple(Group(**{**row, "inputs": _list(row.get("inputs", []))}) for row in data["groups"])
    answers = Answers(dict(data["merged"]) if "merged" in data else None, data.get("unfusible", ""))
    products = _read_products(data["products"]) if "products" in data else None
    return Parts(nodes, edges, groups, _list(data["outputs"]), data["name"], data["dialect"]), answers, products


def _read_products(data: dict[str, Any]) -> Products:
    joined = (Joined(left, _list(right), _list(bias)) for left, right, bias in data["joined"])
    return Products(tuple(joined), frozenset(_list(data["parts"])), data["failure"])


def _sound_products(products: Products, nodes: int) -> bool:
    ids = (node for each in products.joined for node in (each.left, *each.right, *each.bias))
    return isinstance(products.failure, str) and all(_place(node, nodes) for node in (*ids, *products.parts))


def _list(value: object) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list")
    return tuple(value)


def _check(graph: Parts, answers: Answers, products: Products | None) -> None:
    nodes, groups = len(graph.nodes), len(graph.groups)
    sound = (
        isinstance(graph.name, str)
        and isinstance(answers.unfusible, str)
        and graph.dialect in (*DIALECTS, "")
        and all(_sound_node(n, groups) for n in graph.nodes)
        and all(_place(e.target, nodes) and _place(e.source, e.target) and _place(e.index) for e in graph.edges)
        and all(_sound_group(g, i, nodes, groups) for i, g in enumerate(graph.groups))
        and _nest(graph.groups)
        and all(_place(o, nodes) for o in graph.outputs)
        and all(_place(a, nodes) and (_place(b, a) or b == -1) for a, b in (answers.merged or {}).items())
        and (products is None or _sound_products(products, nodes))
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

    Raises LoadError: groups are nested deeper than DEEPEST.
    """
    depth = nesting(groups)
    if max(depth.values(), default=0) > DEEPEST:
        raise LoadError(f"this saved graph has a group in more than {DEEPEST:,} others; save it with fewer")
    return len(depth) == len(groups)
