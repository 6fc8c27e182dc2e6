"""The Graph of a Workload, for every dialect.

Nodes are in topological order and a node's id is its index in that order. A function that is called where it is
written (a fused kernel, a composite, an offloaded region) is drawn in place: its nodes are ordinary nodes, its arguments
are ordinary edges, and the function itself is a group around them. A pass that only changes the grouping therefore changes no
node and no edge, and a diff across it is exact.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex

from workbench.errors import UnknownNode, WorkbenchError, instead
from workbench.graph import export, json
from workbench.graph.dominance import DominatorTree, tree_of
from workbench.graph.nodes import Answers, Edge, Group, Node, Parts, Products, nesting
from workbench.terminal import visible
from workbench.wording import counted

if TYPE_CHECKING:
    import graphviz
    import networkx as nx


_BOOKKEEPING = re.compile(
    # annotations and memory; `vm.builtin` also has library calls, so those that lowering makes are listed
    r"on_device|memory\..*|vm\.(shape_of|shape_func|reshape_tensor|bind)"
    r"|relax\.((vm|memory)\..*|builtin\.alloc_tensor|null_value|hint_on_device|shape_of|assert_op|print)"
    r"|vm\.builtin\.((check|match|make|alloc|tuple)_.*|reshape|shape_of|copy|null_value|read_if_cond|assert_op)"
)
_VIEW = "relax.reshape"
"made by RewriteDataflowReshape from a compiled reshape: a view of the same memory"


@dataclass(frozen=True)
class Graph(Parts):
    """Nodes in topological order, edges, nested groups, and the nodes that the entry function returns.

    Examples
    --------
    >>> graph = wb.load("def @main(%x: Tensor[(1, 8), float32]) { nn.softmax(nn.relu(exp(%x))) }").graph
    >>> [graph.nodes[edge.source].op for edge in graph.edges]
    ['x', 'exp', 'nn.relu']
    >>> wb.Graph.from_json(graph.to_json()) == graph
    True
    """

    ask: Callable[[], Answers] | None = field(default=None, compare=False, repr=False)
    "runs TVM's analyses on the module; None where there is no module"
    ask_products: Callable[[], Products | None] | None = field(default=None, compare=False, repr=False)
    "runs CombineParallelMatmul on the module; None where there is no Relax module"
    ask_after: Callable[[str], After] | None = field(default=None, compare=False, repr=False)
    "runs passes, given as a Pipeline's text, on the module in a child process; None where there is no module"
    made_from: Callable[[], Graph] | None = field(default=None, init=False, compare=False, repr=False)
    "returns the graph before the pass that made this one; None where no trace made it, as in a copy by `replace`"

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

    def constants(self, also: Iterable[int] = ()) -> set[int]:
        """Return the constants, the nodes of `also`, and the operators and tuples that are computed from these alone."""
        found = {node.id for node in self.nodes if node.kind == "constant"} | set(also)
        for node, inputs in zip(self.nodes, self.inputs, strict=True):
            if node.kind in ("op", "tuple", "get_item") and inputs and found.issuperset(inputs):
                found.add(node.id)
        return found

    def follow(self, made_from: Callable[[], Graph]) -> Graph:
        """Continue the trace of the graph that `made_from` returns, and return this graph."""
        object.__setattr__(self, "made_from", made_from)
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
    def memory(self) -> dict[Hashable, Any]:
        """Results about this graph that the functions which computed them keep, each by its own key."""
        return {}

    @cached_property
    def ops(self) -> tuple[Node, ...]:
        """The operator calls, in topological order."""
        return tuple(node for node in self.nodes if node.kind == "op")

    def ancestors(self, group: int | None) -> Iterator[Group]:
        """Iterate over the group and every group around it, innermost first."""
        while group is not None:
            yield self.groups[group]
            group = self.groups[group].parent

    @cached_property
    def outside_in(self) -> tuple[Group, ...]:
        """The groups, each after the group around it."""
        return tuple(self.groups[id] for id in nesting(self.groups))

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

    @cached_property
    def kernel_count(self) -> int:
        """The number of kernels: fused and offloaded groups that compute, and every operator outside one that is work."""
        computing = {self.kernel_of(node.id) for node in self.nodes if node.kind == "call" or self.is_work(node)}
        lone = sum(self.is_work(node) and self.kernel_of(node.id) is None for node in self.nodes)
        return lone + len(computing - {None})

    def is_work(self, node: Node) -> bool:
        """Return whether a node of this graph is work. Memory, checks and annotations are not."""
        return node.kind == "op" and node.op in self._work

    @cached_property
    def _work(self) -> set[str]:
        """The operators that are work.

        Before lowering, an operator of Relax is a future kernel. After it, `relax.reshape` is a view, and no other operator is left.
        """
        ops = {node.op for node in self.ops if not _BOOKKEEPING.fullmatch(node.op)}
        operators = {op for op in ops if op.startswith("relax.")}
        return ops - {_VIEW} if operators == {_VIEW} != ops else ops

    def dominators(self, sources: Iterable[int] | None = None) -> DominatorTree:
        """Return the dominator tree, below a virtual root in front of all sources.

        Parameters
        ----------
        sources
            The nodes where values enter; by default every node without inputs that is not a constant. Give only the ids of
            the data inputs to ignore the weights. Nodes that no source reaches are not in the tree.

        Raises
        ------
        UnknownNode
            A source is not a node of this graph.

        Examples
        --------
        >>> builder = GraphBuilder("diamond", "relay")
        >>> x = builder.node("param", "x")
        >>> fork = builder.node("op", "exp", [x])
        >>> arms = [builder.node("op", op, [fork]) for op in ("tanh", "sqrt")]
        >>> join = builder.node("op", "add", arms)
        >>> tree = builder.build().dominators()
        >>> tree.parent[join] == fork, tree.dominates(x, join), tree.dominates(arms[0], join)
        (True, True, False)
        """
        if sources is None:
            entering = {node.id for node in self.nodes if not self.inputs[node.id] and node.kind != "constant"}
        else:
            entering = {known_node(self, node) for node in sources}
        return tree_of(range(len(self.nodes)), self.inputs, entering)

    def post_dominators(self) -> DominatorTree:
        """Return the post-dominator tree, below a virtual exit after all outputs and all unused values.

        A node post-dominates another if every path from the other to the exit leads through it.

        Examples
        --------
        >>> graph = wb.load("def @main(%x: Tensor[(1, 8), float32]) { add(exp(%x), tanh(%x)) }").graph
        >>> [node.op for node in graph.nodes]
        ['x', 'exp', 'tanh', 'add']
        >>> graph.post_dominators().dominates(3, 0)
        True
        """
        users = tuple(tuple(user for user, _ in uses) for uses in self.consumers)
        leaving = {*self.outputs, *(node for node, used_by in enumerate(users) if not used_by)}
        return tree_of(range(len(self.nodes) - 1, -1, -1), users, leaving)

    def to_data(self) -> dict[str, object]:
        """Return the graph as plain lists and dicts, for JSON; `Graph.from_data` reads them."""
        # saving does not run TVM, which would read all constants
        return json.to_data(self, vars(self).get("answers"), vars(self).get("products"))

    def to_json(self) -> str:
        """Return the graph as versioned JSON text; `Graph.from_json` reads it."""
        return json.text_of(self.to_data())

    @classmethod
    def from_data(cls, data: object) -> Graph:
        """Return the graph of which `to_data` made this data.

        Raises
        ------
        LoadError
            The data is not a graph, is of an unknown version, or is damaged.
        """
        parts, answers, products = json.from_data(data)
        graph = cls(**vars(parts), ask=lambda: answers, ask_products=products and (lambda: products))
        # they are known, so they are saved again
        vars(graph).update(answers=answers, products=products)
        return graph

    @classmethod
    def from_json(cls, text: str) -> Graph:
        """Return the graph that `to_json` wrote.

        Raises
        ------
        LoadError
            The text is not a graph, is of an unknown version, or is damaged.
        """
        return cls.from_data(json.data_of(text))

    def to_networkx(self) -> nx.MultiDiGraph:
        """Return a `networkx.MultiDiGraph` with the node and edge fields as data (needs networkx)."""
        return export.to_networkx(self)

    def to_graphviz(self) -> graphviz.Digraph:
        """Return a `graphviz.Digraph` with kernels as clusters; `.pipe("svg")` draws it (needs the `dot` program)."""
        return export.to_graphviz(self)


@dataclass(frozen=True)
class After:
    """The result of running passes on a graph's module."""

    before: Graph
    graph: Graph | None = None
    "the graph after the passes; None where one of them fails"
    failure: str = ""
    "one sentence: the error of the pass, how its process ended, or why it was not run"
    tried: bool = True
    "False where TVM did not run the passes, or not to an end: another try may succeed"


class HasGraph(Protocol):
    """Anything with a Graph, such as a Workload."""

    @property
    def graph(self) -> Graph: ...


def graph_of(source: Graph | HasGraph, asked: str) -> Graph:
    """Return the Graph itself, or that of a Workload; `asked` is the function that the user called. Raises WorkbenchError: it is neither."""
    graph = source if isinstance(source, Graph) else getattr(source, "graph", None)
    if not isinstance(graph, Graph):
        raise WorkbenchError(
            f"{asked} takes a Workload or a Graph, not {type(source).__name__}; {instead(source, graph=True)}"
        )
    return graph


def known_node(graph: Graph, node: int) -> int:
    """Return the id itself if the graph has such a node. Raises UnknownNode: it does not."""
    # the id is the user's, so it may be an object of any type
    if not isinstance(node, SupportsIndex) or not 0 <= node < len(graph.nodes):
        raise UnknownNode(node, len(graph.nodes))
    return node


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause Python's collector for work that makes many objects and drops none: it would search the whole notebook again and again."""
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()


class GraphBuilder:
    """A builder that collects nodes and edges in topological order; `build` returns the Graph, whose groups it may change until then."""

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
        object.__setattr__(self.groups[group], "output", node)

    def takes(self, group: int, nodes: Iterable[int]) -> None:
        """Record the arguments of the function `group`, drawn where it is called."""
        object.__setattr__(self.groups[group], "inputs", tuple(nodes))

    def hold(self, node: int, how: str, name: str = "") -> None:
        """Record the expression that takes a node's value, and the value's name there."""
        old = self.nodes[node]
        self.nodes[node] = replace(old, held=how, name=name or old.name)

    def rename(self, group: int, name: str) -> None:
        """Rename a group once its contents are known."""
        object.__setattr__(self.groups[group], "name", name)

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
    return max(deepest, default=0) + max(nesting(graph.groups).values(), default=0)
