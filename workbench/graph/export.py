"""Graphs for other tools: networkx, and static pictures through Graphviz."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from workbench.graph.model import Graph, Node


def to_networkx(graph: Graph) -> Any:
    """A `networkx.MultiDiGraph`: node ids with the fields of `Node` as data, edges keyed by argument position."""
    import networkx as nx

    out = nx.MultiDiGraph(name=graph.name, dialect=graph.dialect)
    for node in graph.nodes:
        out.add_node(node.id, **{f.name: getattr(node, f.name) for f in fields(Node) if f.name != "id"})
    for edge in graph.edges:
        out.add_edge(edge.source, edge.target, key=edge.index, index=edge.index, type=edge.type)
    return out


def to_graphviz(graph: Graph) -> Any:
    """A `graphviz.Digraph` with groups as clusters. Labels are text: Graphviz never reads them as markup."""
    import graphviz

    dot = graphviz.Digraph(graphviz.escape(graph.name or "graph"))
    dot.attr("node", shape="box", style="rounded,filled", fillcolor="white", fontname="sans-serif", fontsize="10")
    dot.attr("edge", arrowsize="0.6")
    _fill(dot, graph)
    for edge in graph.edges:
        dot.edge(str(edge.source), str(edge.target))
    return dot


def _fill(dot: Any, graph: Graph) -> None:
    import graphviz

    clusters: dict[int, Any] = {}
    for group in graph.groups:
        clusters[group.id] = graphviz.Digraph(f"cluster_{group.id}")
        clusters[group.id].attr(
            label=graphviz.escape(group.name or group.kind), style="rounded,filled", fillcolor="#00000010", fontsize="9"
        )
    for node in graph.nodes:
        place = dot if node.group is None else clusters[node.group]
        place.node(str(node.id), graphviz.escape(_label(node)))
    # parents come before their children, so the innermost are closed first when walked backwards
    for group in reversed(graph.groups):
        (dot if group.parent is None else clusters[group.parent]).subgraph(clusters[group.id])


def _label(node: Node) -> str:
    return f"{node.op}\n{node.type}" if node.type else node.op
