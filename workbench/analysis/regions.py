"""Regions: the nodes between a node whose value takes several paths and the node where these meet.

A region runs from its entry to the entry's immediate post-dominator, its exit: every path from the entry passes through the
exit. Values may still enter from elsewhere (an attention mask); a region that only the entry feeds is single-entry,
single-exit. Two such regions are disjoint, nested, or share an end (Johnson, Pearson, Pingali, "The program
structure tree", PLDI 1994, doi:10.1145/178243.178258).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from workbench.graph.dominance import VIRTUAL, DominatorTree
from workbench.graph.model import Edge, Graph, HasGraph, graph_of, known_node
from workbench.graph.nodes import reached
from workbench.terminal import html_table
from workbench.wording import counted


def regions(source: Graph | HasGraph, fixed: Collection[str] = ()) -> Regions:
    """Return the regions of a graph, in topological order of their entries.

    Parameters
    ----------
    source
        A Graph or a Workload.
    fixed
        Names of parameters that count as constants; `w.params` names the weights.

    Examples
    --------
    >>> from workbench.graph.model import GraphBuilder
    >>> builder = GraphBuilder("diamond", "relay")
    >>> x, mask = builder.node("param", "x"), builder.node("param", "mask")
    >>> fork = builder.node("op", "exp", [x])
    >>> arms = [builder.node("op", "add", [fork, mask]), builder.node("op", "sqrt", [fork])]
    >>> join = builder.node("op", "add", arms)
    >>> region = regions(builder.build()).of(fork)
    >>> region.nodes == (fork, *arms, join), [edge.source == mask for edge in region.inputs], region.single_entry
    (True, [True], False)
    """
    graph = graph_of(source, "regions")
    return Regions(graph, graph.post_dominators(), frozenset(fixed))


@dataclass(frozen=True)
class Region:
    """The nodes between an entry and its exit, both included."""

    entry: int
    exit: int
    nodes: tuple[int, ...]
    "ids in topological order"
    inputs: tuple[Edge, ...]
    "edges by which values enter other than through the entry, without constants"
    constants: tuple[Edge, ...]
    "edges by which constants enter"
    outputs: tuple[Edge, ...]
    "edges by which the exit's value leaves; no other node has a use outside"

    @property
    def single_entry(self) -> bool:
        """Return whether the region is single-entry, single-exit: only constants enter other than through the entry."""
        return not self.inputs

    def __contains__(self, node: int) -> bool:
        return node in self._members

    @cached_property
    def _members(self) -> frozenset[int]:
        return frozenset(self.nodes)


@dataclass(frozen=True)
class Regions:
    """The regions of one graph, each computed on request."""

    graph: Graph
    tree: DominatorTree
    "the post-dominators that bound them"
    fixed: frozenset[str] = field(default=frozenset())
    "names of the parameters that count as constants"

    @cached_property
    def entries(self) -> tuple[int, ...]:
        """Nodes whose value takes several paths that meet again."""
        return tuple(
            node
            for node, uses in enumerate(self.graph.consumers)
            if self.tree.parent[node] not in (None, VIRTUAL) and len({user for user, _ in uses}) > 1
        )

    def __len__(self) -> int:
        return len(self.entries)

    def _repr_html_(self) -> str:
        rows = (
            {
                "entry": self.graph.path([region.entry]),
                "exit": self.graph.path([region.exit]),
                "nodes": len(region.nodes),
                "single entry": region.single_entry,
            }
            for region in self
        )
        return html_table(counted(len(self), "region"), rows)

    def __iter__(self) -> Iterator[Region]:
        for entry in self.entries:
            yield self._between(entry, self._exit(entry))

    def of(self, entry: int) -> Region | None:
        """Return the region from this node to its immediate post-dominator; None where that is only the virtual exit.

        Raises UnknownNode: the graph has no such node.
        """
        exit = self.tree.parent[known_node(self.graph, entry)]
        return None if exit is None or exit == VIRTUAL else self._between(entry, exit)

    def between(self, entry: int, exit: int) -> Region | None:
        """Return the region from a node to any node that post-dominates it; None where `exit` does not.

        Raises UnknownNode: the graph has no such node.
        """
        known_node(self.graph, entry)
        behind = entry != exit and self.tree.dominates(known_node(self.graph, exit), entry)
        return self._between(entry, exit) if behind else None

    def around(self, node: int) -> tuple[Region, ...]:
        """Return the regions that hold the node, innermost (fewest nodes) first.

        Raises UnknownNode: the graph has no such node.
        """
        known_node(self.graph, node)
        forks = set(self.entries)
        behind = sorted(reached([node], self.graph.inputs.__getitem__) & forks)
        holding = [self._between(fork, self._exit(fork)) for fork in behind if node <= self._exit(fork)]
        return tuple(sorted((r for r in holding if node in r), key=lambda r: (len(r.nodes), -r.entry)))

    def parent(self, region: Region) -> Region | None:
        """Return the smallest other region that holds all of this one."""
        return next((r for r in self.around(region.entry) if r != region and region.exit in r), None)

    def _exit(self, entry: int) -> int:
        exit = self.tree.parent[entry]
        assert exit is not None
        return exit

    def _between(self, entry: int, exit: int) -> Region:
        graph = self.graph
        # every path from the entry leads to the exit, so a walk up to the exit visits exactly the region
        held = reached([entry], lambda node: () if node == exit else (user for user, _ in graph.consumers[node]))
        nodes = tuple(sorted(held))
        entering = [
            Edge(source, node, index, graph.nodes[source].type)
            for node in nodes
            if node != entry
            for index, source in enumerate(graph.inputs[node])
            if source not in held
        ]
        leaving = [Edge(exit, user, index, graph.nodes[exit].type) for user, index in graph.consumers[exit]]
        return Region(
            entry,
            exit,
            nodes,
            tuple(e for e in entering if e.source not in self._constant),
            tuple(e for e in entering if e.source in self._constant),
            tuple(leaving),
        )

    @cached_property
    def _constant(self) -> frozenset[int]:
        """Constants, and nodes computed from constants only."""
        found: set[int] = set()
        for node, inputs in zip(self.graph.nodes, self.graph.inputs, strict=True):
            given = node.kind == "constant" or (node.kind == "param" and node.op in self.fixed)
            if given or (inputs and found.issuperset(inputs)):
                found.add(node.id)
        return frozenset(found)
