"""The Graph of a Workload, for every dialect.

Nodes are in topological order and a node's id is its index in that order. A function that is called where it is
written (a fused kernel, a composite, an offloaded region) is drawn in place: its nodes are ordinary nodes, its arguments
are ordinary edges, and the function itself is a group around them. A pass that only changes the grouping therefore changes no
node and no edge, and a diff across it is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from workbench.errors import WorkbenchError, instead
from workbench.graph.nodes import Answers, CallableTuple, Edge, Group, Node, Products, warn_of_call
from workbench.terminal import visible
from workbench.wording import counted

if TYPE_CHECKING:
    import graphviz
    import networkx as nx

    from workbench.graph.after import After
    from workbench.graph.changes import GraphDiff
    from workbench.graph.scopes import Scopes


@dataclass(frozen=True)
class Graph:
    """Nodes in topological order, edges, nested groups, and the nodes that the entry function returns.

    Examples
    --------
    >>> graph = wb.load("def @main(%x: Tensor[(1, 8), float32]) { nn.softmax(nn.relu(exp(%x))) }").graph
    >>> [graph.nodes[edge.source].op for edge in graph.edges]
    ['x', 'exp', 'nn.relu']
    >>> wb.Graph.from_json(graph.to_json()) == graph
    True
    """

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    groups: tuple[Group, ...] = ()
    outputs: tuple[int, ...] = ()
    name: str = ""
    dialect: str = ""
    ask: Callable[[], Answers] | None = field(default=None, compare=False, repr=False)
    "runs TVM's analyses on the module; None where there is no module"
    ask_products: Callable[[], Products | None] | None = field(default=None, compare=False, repr=False)
    "runs CombineParallelMatmul on the module; None where there is no Relax module"
    ask_after: Callable[[str], After] | None = field(default=None, compare=False, repr=False)
    "runs passes, given as a Pipeline's text, on the module in a child process; None where there is no module"
    made_from: Callable[[], Graph] | None = field(default=None, init=False, compare=False, repr=False)
    "returns the graph before the pass that made this one; None where no trace made it, as in a copy by `replace`"
    changes: Callable[[Graph, Graph], GraphDiff] | None = field(default=None, init=False, compare=False, repr=False)
    "compares two graphs of the trace, for its layers"

    def __repr__(self) -> str:
        sizes = f"{counted(len(self.nodes), 'node')}, {counted(len(self.edges), 'edge')}, {counted(len(self.groups), 'group')}"
        return visible(f"Graph({self.name!r}, {self.dialect}: {sizes})")

    @cached_property
    def answers(self) -> Answers:
        """TVM's answers about the module, computed on first use. A saved graph has the answers at the time of saving."""
        return Answers() if self.ask is None else self.ask()

    @cached_property
    def products(self) -> Products | None:
        """The result of CombineParallelMatmul, which runs on first use; None where there is no module to run it on."""
        return None if self.ask_products is None else self.ask_products()

    @cached_property
    def inputs(self) -> tuple[tuple[int, ...], ...]:
        """Producer ids of each node, in argument order."""
        found: list[list[tuple[int, int]]] = [[] for _ in self.nodes]
        for edge in self.edges:
            found[edge.target].append((edge.index, edge.source))
        return tuple(tuple(source for _, source in sorted(uses)) for uses in found)

    @cached_property
    def consumers(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """For each node, the (consumer id, argument position) pairs that use it."""
        found: list[list[tuple[int, int]]] = [[] for _ in self.nodes]
        for edge in self.edges:
            found[edge.source].append((edge.target, edge.index))
        return tuple(tuple(sorted(uses)) for uses in found)

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """Node ids held directly by each group."""
        found: list[list[int]] = [[] for _ in self.groups]
        for node in self.nodes:
            if node.group is not None:
                found[node.group].append(node.id)
        return tuple(tuple(ids) for ids in found)

    def follow(self, made_from: Callable[[], Graph], changes: Callable[[Graph, Graph], GraphDiff]) -> Graph:
        """Continue the trace of the graph that `made_from` returns, and return this graph; `changes` is `wb.diff`."""
        object.__setattr__(self, "made_from", made_from)
        object.__setattr__(self, "changes", changes)
        return self

    @property
    def history(self) -> list[Graph]:
        """The graphs of the trace up to this one, which is the last; a graph of no trace is alone."""
        found: list[Graph] = [self]
        seen = {id(self)}
        while (made_from := found[-1].made_from) is not None:
            try:
                before = made_from()
            except WorkbenchError:
                # the child process that had it is gone: the graphs after it are a trace of their own
                break
            if id(before) in seen:
                break
            found.append(before)
            seen.add(id(before))
        return found[::-1]

    @cached_property
    def diffs(self) -> dict[int, GraphDiff]:
        """The known diffs from graphs of the history, by `id`: a memory of `wb.diff`."""
        return {}

    @cached_property
    def layers(self) -> Scopes:
        """The importer's layers, otherwise repeats; those of the first graph of a trace in all of its graphs."""
        from workbench.graph.layers import layers

        return layers(self)

    @cached_property
    def layered(self) -> Graph:
        """The graph with its layers as groups of kind `scope`. For drawing."""
        from workbench.graph.scopes import with_scopes

        return with_scopes(self, self.layers)

    def __call__(self) -> Graph:
        """Return the graph itself: `Workload.graph` was a method."""
        warn_of_call("Workload.graph")
        return self

    @cached_property
    def ops(self) -> CallableTuple[Node]:
        """The operator calls, in topological order."""
        return CallableTuple(node for node in self.nodes if node.kind == "op")

    def ancestors(self, group: int | None) -> Iterator[Group]:
        """Iterate over the group and every group around it, innermost first."""
        while group is not None:
            yield self.groups[group]
            group = self.groups[group].parent

    @cached_property
    def outside_in(self) -> tuple[Group, ...]:
        """The groups, each after the group around it."""
        inner: list[list[Group]] = [[] for _ in self.groups]
        found = [group for group in self.groups if group.parent is None]
        for group in self.groups:
            if group.parent is not None:
                inner[group.parent].append(group)
        for group in found:
            found.extend(inner[group.id])
        return tuple(found)

    @cached_property
    def _kernels(self) -> tuple[int | None, ...]:
        """For each group, the outermost fused or offloaded group at or around it."""
        found: list[int | None] = [None] * len(self.groups)
        for group in self.outside_in:
            around = None if group.parent is None else found[group.parent]
            kernel = group.id if group.kind in ("primitive", "external") else None
            found[group.id] = kernel if around is None else around
        return tuple(found)

    def kernel_of(self, node: int) -> int | None:
        """Return the outermost fused or offloaded group that holds the node, if any."""
        group = self.nodes[node].group
        return None if group is None else self._kernels[group]

    def path(self, nodes: Iterable[int]) -> str:
        """Return nodes in words, `exp 3 → add 5`."""
        return " → ".join(
            f"{(self.nodes[node].op or self.nodes[node].name).removeprefix('relax.')} {node}" for node in nodes
        )

    def kernels(self) -> int:
        """Return `kernel_count`, the current name of this value."""
        warn_of_call("Graph.kernels", "kernel_count")
        return self.kernel_count

    @cached_property
    def kernel_count(self) -> int:
        """The number of kernels: fused and offloaded groups that compute, and every operator outside one that is work."""
        from workbench.graph.nodes import is_work

        works = is_work(self)
        computing = {self.kernel_of(node.id) for node in self.nodes if node.kind == "call" or works(node)}
        lone = sum(works(node) and self.kernel_of(node.id) is None for node in self.nodes)
        return lone + len(computing - {None})

    def to_data(self) -> dict[str, object]:
        """Return the graph as plain lists and dicts, for JSON; `Graph.from_data` reads them."""
        from workbench.graph.json import to_data

        return to_data(self)

    def to_json(self) -> str:
        """Return the graph as versioned JSON text; `Graph.from_json` reads it."""
        from workbench.graph.json import dumps

        return dumps(self)

    @classmethod
    def from_data(cls, data: object) -> Graph:
        """Return the graph of which `to_data` made this data.

        Raises
        ------
        LoadError
            The data is not a graph, is of an unknown version, or is damaged.
        """
        from workbench.graph.json import from_data

        return from_data(data, cls)

    @classmethod
    def from_json(cls, text: str) -> Graph:
        """Return the graph that `to_json` wrote.

        Raises
        ------
        LoadError
            The text is not a graph, is of an unknown version, or is damaged.
        """
        from workbench.graph.json import loads

        return loads(text, cls)

    def to_networkx(self) -> nx.MultiDiGraph:
        """Return a `networkx.MultiDiGraph` with the node and edge fields as data (needs networkx)."""
        from workbench.graph.export import to_networkx

        return to_networkx(self)

    def to_graphviz(self) -> graphviz.Digraph:
        """Return a `graphviz.Digraph` with kernels as clusters; `.pipe("svg")` draws it (needs the `dot` program)."""
        from workbench.graph.export import to_graphviz

        return to_graphviz(self)


class HasGraph(Protocol):
    """Anything with a Graph, such as a Workload."""

    @property
    def graph(self) -> Graph: ...


def graph_of(source: Graph | HasGraph, asked: str) -> Graph:
    """Return the Graph itself, or the Graph of a Workload; `asked` is the function that the user called.

    Raises
    ------
    WorkbenchError
        The source is neither.
    """
    graph = source if isinstance(source, Graph) else getattr(source, "graph", None)
    if not isinstance(graph, Graph):
        raise WorkbenchError(
            f"{asked} takes a Workload or a Graph, not {type(source).__name__}; {instead(source, graph=True)}"
        )
    return graph


class GraphBuilder:
    """A builder that collects nodes and edges in topological order; `build` returns the Graph."""

    def __init__(self, name: str, dialect: str) -> None:
        self.name = name
        self.dialect = dialect
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self.groups: list[Group] = []
        self.outputs: list[int] = []

    def node(self, kind: str, op: str, inputs: tuple[int, ...] | list[int] = (), **fields: Any) -> int:
        """Add a node that uses `inputs` in argument order, and return its id."""
        return self._add(Node(len(self.nodes), kind, op, **fields), inputs)

    def copy(self, node: Node, inputs: tuple[int, ...] | list[int] = ()) -> int:
        """Add a copy of a node, also of another graph, that uses `inputs` in argument order, and return its id."""
        return self._add(replace(node, id=len(self.nodes)), inputs)

    def _add(self, node: Node, inputs: tuple[int, ...] | list[int]) -> int:
        self.nodes.append(node)
        for index, source in enumerate(inputs):
            self.edges.append(Edge(source, node.id, index, self.nodes[source].type))
        return node.id

    def group(self, kind: str, name: str, parent: int | None, attrs: Mapping[str, Any] | None = None) -> int:
        """Add a group and return its id."""
        self.groups.append(Group(len(self.groups), kind, name, parent, attrs or {}))
        return len(self.groups) - 1

    def returns(self, group: int, node: int) -> None:
        """Record the node whose value the function `group` returns."""
        self.groups[group] = replace(self.groups[group], output=node)

    def takes(self, group: int, nodes: Iterable[int]) -> None:
        """Record the arguments of the function `group`, drawn where it is called."""
        self.groups[group] = replace(self.groups[group], inputs=tuple(nodes))

    def hold(self, node: int, how: str, name: str = "") -> None:
        """Record the expression that takes a node's value, and the value's name there."""
        old = self.nodes[node]
        self.nodes[node] = replace(old, held=how, name=name or old.name)

    def rename(self, group: int, name: str) -> None:
        """Rename a group once its contents are known."""
        self.groups[group] = replace(self.groups[group], name=name)

    def build(self) -> Graph:
        return Graph(
            tuple(self.nodes), tuple(self.edges), tuple(self.groups), tuple(self.outputs), self.name, self.dialect
        )


def depth(graph: Graph) -> int:
    """Return the depth of a recursive visitor of the program: the longest path, and the functions around it."""
    deepest = [1] * len(graph.nodes)
    # nodes are in topological order, so each node's depth is final before it is used
    for id, inputs in enumerate(graph.inputs):
        if inputs:
            deepest[id] = 1 + max(deepest[source] for source in inputs)
    return max(deepest, default=0) + _nesting(graph)


def _nesting(graph: Graph) -> int:
    """Return the nesting depth of functions."""
    levels: dict[int | None, int] = {None: 0}
    for group in graph.groups:
        above: list[int] = []
        at: int | None = group.id
        while at not in levels:
            assert at is not None, "None has a level"
            above.append(at)
            at = graph.groups[at].parent
        for inner in reversed(above):
            levels[inner] = levels[graph.groups[inner].parent] + 1
    return max(levels.values())
