"""Graphs whose every string wants to be something else."""

from __future__ import annotations

from dataclasses import replace

from workbench.graph.model import Edge, Graph, Group, Node

NAMES = (
    "</script><script>window.broken = 1</script>",
    "<img src=x onerror='window.broken = 2'>",
    "\"'><svg onload=window.broken=3>",
    "<!-- <script>",
    "]]></text><script>",
    "<b>bold</b>",
    "&lt;&amp;&#60;",
    "a\nb\r\nc\td",
    "\x00\x1b[31m\x7f\u2028\u2029\u202e",
    "\ud800 half a character",
    "\\N\\G\\l {a|b} \\",
    "javascript:window.broken=4",
    "%s {0} {traits} $& \\1",
    "x" * 10_000,
    "",
    "日本語 עברית 🚀",
)


def graph(name: str = NAMES[0]) -> Graph:
    """A chain of operators, one for each name, the last ones in a kernel."""
    nodes = tuple(
        Node(id, "op", text, type=text, attrs={text: text}, name=text, span=text, group=0 if id >= 8 else None)
        for id, text in enumerate(NAMES)
    )
    edges = tuple(Edge(id, id + 1, 0, type=NAMES[id]) for id in range(len(nodes) - 1))
    return Graph(nodes, edges, (Group(0, "primitive", name, attrs={name: name}),), (len(nodes) - 1,), name, "relay")


def changed() -> Graph:
    """The same with another operator in its middle."""
    made = graph()
    return replace(made, nodes=(*made.nodes[:5], replace(made.nodes[5], op="<i>other</i>"), *made.nodes[6:]))
