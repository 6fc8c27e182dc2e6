"""Names of an imported model's nodes, each once, in the form that both dialects can keep.

TVM's Relay importers keep a node's path as a span, `/layers.0/q/MatMul`. Relax keeps names of variables, which are dotted,
`layers.0.q.MatMul`, and underscored in printed text. So the dotted name is the node's name on both sides
(`Node.source`), and two nodes never have names that print alike. An operator of a program that was not imported gets a name
with its id, `nn.conv2d#3`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from workbench.graph.model import Graph
from workbench.graph.scopes import modules

_INSIDE_A_PART = re.compile(r"\.(?![0-9]+(?:\.|$))|[^A-Za-z0-9_.]")
_NUMBERED = re.compile(r"\.[0-9]+\Z")
_ID = "#"
"before the id of an operator that was not imported; no path has it"
_IMPORTED = ":0:0"
"at the end of a span that an importer made: a path in place of a source file"


def dotted(path: Sequence[str]) -> str:
    """Return the name of the node at a path.

    >>> dotted(["bert", "layer.0", "MatMul"]), dotted(["a b", "x.y"])
    ('bert.layer.0.MatMul', 'a_b.x_y')
    """
    return ".".join(_INSIDE_A_PART.sub("_", part) for part in path if part)


def binding_names(nodes: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Return a name for each binding, given the node that it is of, from which `node_of` reads the node.

    >>> binding_names(["q.MatMul", "q.MatMul", "q.MatMul_2", "Relu"], ["x"])
    ['q.MatMul', 'q.MatMul.3', 'q.MatMul_2', 'Relu.1']
    """
    nodes, names = list(nodes), Names(taken)
    # a name that users write has no dot, so one without gets a number
    firsts = {
        node: place for place, node in reversed([*enumerate(nodes)]) if "." in node and not _NUMBERED.search(node)
    }
    plain = {place for node, place in firsts.items() if names.take(node)}
    return [
        node if place in plain else names.numbered(node, ".", 2 if node in firsts else 1)
        for place, node in enumerate(nodes)
    ]


def node_of(name: str) -> str:
    """Return the node that a variable's name is of; empty where users or TVM named it.

    >>> node_of("q.MatMul.3"), node_of("q.MatMul"), node_of("Relu.1"), node_of("lv1")
    ('q.MatMul', 'q.MatMul', 'Relu', '')
    """
    return _NUMBERED.sub("", name) if "." in name else ""


def node_of_span(span: str) -> str:
    """Return the node whose path is a span; empty for another span.

    >>> node_of_span("/layer.0/q/MatMul:0:0"), node_of_span("model.py:3:1")
    ('layer.0.q.MatMul', '')
    """
    return dotted(span.removesuffix(_IMPORTED).split("/")) if span.endswith(_IMPORTED) else ""


def with_sources(graph: Graph) -> Graph:
    """Return the graph with a source for each operator: where it has none, its name with its id.

    >>> from workbench.graph.model import GraphBuilder
    >>> b = GraphBuilder("one", "relay")
    >>> node = b.node("op", "nn.relu", (b.node("param", "x"),))
    >>> [node.source for node in with_sources(b.build()).nodes]
    [(), ('nn.relu#1',)]
    """
    nodes = (
        replace(node, source=(f"{node.op}{_ID}{node.id}",)) if node.kind == "op" and not node.source else node
        for node in graph.nodes
    )
    return replace(graph, nodes=tuple(nodes))


def scope_of(name: str) -> str:
    """Return the layer path in a variable's name.

    >>> scope_of("layers.0.q.MatMul.3"), scope_of("nn.conv2d#3")
    ('layers.0/q/MatMul', '')
    """
    return "" if _ID in name else "/".join(modules(name)[:-1])


class Names:
    """The names that are taken, as they are printed: with underscores for dots."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(map(_printed, taken))
        self._numbers: dict[str, int] = {}
        "printed name -> the next number to add to it"

    def take(self, name: str) -> bool:
        """Take a name, and return whether it was free."""
        free = _printed(name) not in self._taken
        self._taken.add(_printed(name))
        return free

    def once(self, name: str) -> str:
        """Return the name, with the next free number where it is taken.

        >>> names = Names()
        >>> [names.once(name) for name in ("a.Relu", "a_Relu", "a.Relu")]
        ['a.Relu', 'a_Relu_2', 'a.Relu_3']
        """
        return name if self.take(name) else self.numbered(name, "_", 2)

    def numbered(self, name: str, separator: str, first: int) -> str:
        """Return the name with the next free number from the first one on."""
        number = self._numbers.get(_printed(name), first)
        while not self.take(f"{name}{separator}{number}"):
            number += 1
        self._numbers[_printed(name)] = number + 1
        return f"{name}{separator}{number}"


def _printed(name: str) -> str:
    return name.replace(".", "_")
