"""Graph export to networkx and Graphviz."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING

from workbench.colours import PAGE
from workbench.graph.nodes import Node, Parts
from workbench.wording import one_line

if TYPE_CHECKING:
    import graphviz
    import networkx as nx


LONGEST = 80
"characters of a label; Graphviz makes the box as wide as its text"

MARKS = {
    "changed": {"color": PAGE["changed"].light, "sign": "~ "},
    "removed": {"color": PAGE["removed"].light, "sign": "- "},
    "added": {"color": PAGE["added"].light, "sign": "+ "},
    "merged": {"color": PAGE["merged"].light, "sign": "merged: "},
    "split": {"color": PAGE["merged"].light, "sign": "split: "},
}
"the colours of the page, each with a sign"


def to_networkx(graph: Parts) -> nx.MultiDiGraph:
    """Return a `networkx.MultiDiGraph` with the fields of `Node` as data, edges keyed by argument position."""
    import networkx as nx

    out = nx.MultiDiGraph(name=graph.name, dialect=graph.dialect)
    for node in graph.nodes:
        out.add_node(node.id, **{f.name: getattr(node, f.name) for f in fields(Node) if f.name != "id"})
    for edge in graph.edges:
        out.add_edge(edge.source, edge.target, key=edge.index, index=edge.index, type=edge.type)
    return out


def to_graphviz(graph: Parts) -> graphviz.Digraph:
    """Return a `graphviz.Digraph` with groups as clusters. Labels are plain text: Graphviz never reads them as markup."""
    dot = _empty(graph.name)
    _fill(dot, graph, "", {})
    return dot


def compare_to_graphviz(
    before: Parts, after: Parts, marks: tuple[Mapping[int, str], Mapping[int, str]]
) -> graphviz.Digraph:
    """Return two graphs side by side in one `graphviz.Digraph`; `marks` are those of their difference (`GraphDiff.marks`)."""
    import graphviz

    dot = _empty(after.name)
    for title, graph, marked in zip(("before", "after"), (before, after), marks, strict=True):
        side = graphviz.Digraph(f"cluster_{title}")
        side.attr(label=title, color="transparent", fontsize="11")
        _fill(side, graph, title, marked)
        dot.subgraph(side)
    return dot


def _empty(name: str) -> graphviz.Digraph:
    import graphviz

    dot = graphviz.Digraph(graphviz.escape(_text(name) or "graph"))
    dot.attr(fontname="sans-serif")
    dot.attr("node", shape="box", style="rounded,filled", fillcolor="white", fontname="sans-serif", fontsize="10")
    dot.attr("edge", arrowsize="0.6")
    return dot


def _fill(dot: graphviz.Digraph, graph: Parts, prefix: str, marks: Mapping[int, str]) -> None:
    import graphviz

    clusters: dict[int, graphviz.Digraph] = {}
    for group in graph.groups:
        clusters[group.id] = graphviz.Digraph(f"cluster_{prefix}{group.id}")
        clusters[group.id].attr(
            label=graphviz.escape(_text(group.name) or group.kind),
            style="rounded,filled",
            fillcolor="#00000010",
            color=PAGE["kernel-line"].light,
            fontsize="9",
        )
    for node in graph.nodes:
        place = dot if node.group is None else clusters[node.group]
        mark = marks.get(node.id)
        look = {} if mark is None else {"color": MARKS[mark]["color"], "penwidth": "2"}
        if mark == "removed":
            look["style"] = "rounded,filled,dashed"
        sign = "" if mark is None else MARKS[mark]["sign"]
        label = f"{_text(node.op)}\n{_text(node.type)}" if node.type else _text(node.op)
        place.node(f"{prefix}{node.id}", graphviz.escape(sign + label), **look)
    dot.body.extend(_nested(graph, clusters))
    for edge in graph.edges:
        dot.edge(f"{prefix}{edge.source}", f"{prefix}{edge.target}")


def _nested(graph: Parts, clusters: Mapping[int, graphviz.Digraph]) -> Iterator[str]:
    """Yield the lines of each cluster inside those around it; `Digraph.subgraph` copies and indents them at each level."""
    inner: dict[int | None, list[int]] = {}
    for group in graph.groups:
        inner.setdefault(group.parent, []).append(group.id)
    waiting: list[int | str] = [*reversed(inner.get(None, ()))]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
            continue
        yield f"\tsubgraph {clusters[one].name} {{\n"
        yield from clusters[one].body
        waiting += ["\t}\n", *reversed(inner.get(one, ()))]


def _text(text: str) -> str:
    """Return text as one line of characters valid in XML, because Graphviz copies control characters into its SVG."""
    return one_line("".join(c if c.isprintable() else " " for c in text[: LONGEST + 1]), LONGEST)
