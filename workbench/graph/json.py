"""Graphs as JSON: columns of rows, versioned, checked when read."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any

from workbench.errors import LoadError
from workbench.graph.model import GROUP_KINDS, KINDS, Edge, Graph, Group, Node

FORMAT = "tvm-workbench graph"
VERSION = 1


def dumps(graph: Graph) -> str:
    """The graph as JSON text."""
    return json.dumps(to_data(graph), separators=(",", ":"))


def to_data(graph: Graph) -> dict[str, Any]:
    """The graph as plain lists and dicts."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": graph.name,
        "dialect": graph.dialect,
        "nodes": [_without_defaults(node) for node in graph.nodes],
        "edges": [[e.source, e.target, e.index] for e in graph.edges],
        "groups": [asdict(group) for group in graph.groups],
        "outputs": list(graph.outputs),
    }


_EMPTY = Node(0, "", "")


def _without_defaults(node: Node) -> dict[str, Any]:
    # the id is the place in the list, and most fields of most nodes are empty
    return {f.name: value for f in fields(Node) if f.name != "id" and (value := getattr(node, f.name)) != getattr(_EMPTY, f.name)}


def loads(text: str) -> Graph:
    """Read what `dumps` wrote."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise LoadError(f"this is not a saved graph: {error}; save one with Graph.to_json()") from None
    return from_data(data)


def from_data(data: Any) -> Graph:
    """Read what `to_data` gave, checking that every reference points somewhere."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise LoadError("this JSON is not a saved graph; save one with Graph.to_json()")
    if data.get("version") != VERSION:
        raise LoadError(f"this graph has format version {data.get('version')!r}, and this workbench reads version {VERSION}; upgrade it")
    try:
        graph = _read(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LoadError(f"this saved graph is damaged: {error!r}; save it again") from None
    _check(graph)
    return graph


def _read(data: dict[str, Any]) -> Graph:
    nodes = tuple(Node(id=i, **row) for i, row in enumerate(data["nodes"]))
    edges = tuple(Edge(s, t, i, nodes[s].type if 0 <= s < len(nodes) else "") for s, t, i in data["edges"])
    groups = tuple(Group(**row) for row in data["groups"])
    return Graph(nodes, edges, groups, tuple(data["outputs"]), data["name"], data["dialect"])


def _check(graph: Graph) -> None:
    count, groups = len(graph.nodes), len(graph.groups)
    sound = (
        all(isinstance(n.id, int) and n.kind in KINDS and (n.group is None or 0 <= n.group < groups) for n in graph.nodes)
        and all(0 <= e.source < e.target < count for e in graph.edges)
        and all(g.id == i and g.kind in GROUP_KINDS and (g.parent is None or 0 <= g.parent < i) for i, g in enumerate(graph.groups))
        and all(0 <= o < count for o in graph.outputs)
    )
    if not sound:
        raise LoadError("this saved graph is damaged: a node, edge or group refers to nothing; save it again")
