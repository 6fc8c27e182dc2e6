"""Scopes of a graph (layers, stages, paths of names), and the graph with them as groups.

An importer gives paths as `Node.scope`, or as spans that are a path of modules. A graph without repeats that is too long
to read at once is divided into parts: stretches of its topological order, which never make a cycle. Relay and Relax bind
an operator soon after its inputs, so neighbours mostly stay together.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from workbench.graph.changes import GraphDiff
from workbench.graph.model import Graph
from workbench.graph.nodes import Group, Node


@dataclass(frozen=True)
class Scope:
    """A box derived from the graph."""

    name: str
    parent: int | None = None
    "index of the scope around it, which comes before it"
    path: tuple[str, ...] = ()
    "names of the scopes around it and its own, as the importer gave them; empty where it is found by repeats"


@dataclass(frozen=True)
class Scopes:
    """Boxes, and the box of each node."""

    scopes: tuple[Scope, ...]
    home: tuple[int | None, ...]
    "for each node of the graph the innermost scope that holds it"

    def common(self, homes: Iterable[int | None]) -> int | None:
        """Return the innermost scope around all of these; None if there is none."""
        shared: list[int] | None = None
        for home in dict.fromkeys(homes):
            chain = dict.fromkeys(self.around(home))
            shared = list(chain) if shared is None else [at for at in shared if at in chain]
        return shared[0] if shared else None

    def together(
        self, homes: Sequence[int | None], readers: Sequence[int | None], sources: Collection[int]
    ) -> int | None:
        """Return the scope for something with several parts: the common one, which says no more than is known.

        `homes`, `readers`: the scopes of its parts, and of those that others read. `sources`: the scopes of the values that it is computed
        from. Where a box would then be before and after it, since it holds a source and a reader, it is the scope of the first reader.
        """
        common = self.common(homes)
        outside = {*self.around(common)}
        inner = {at for reader in readers for at in self.around(reader) if at not in outside}
        if any(at in inner for source in sources for at in self.around(source)):
            return readers[0]
        return common

    def around(self, home: int | None) -> Iterator[int]:
        """Iterate over the scope and those around it, innermost first."""
        while home is not None:
            yield home
            home = self.scopes[home].parent


def settled(graph: Graph, found: Scopes) -> Scopes:
    """Return the scopes with every kernel in one: that which its operators share. Weights are where they are read.

    Only its result leaves a kernel, so its other nodes can also move to the scope of the result without making a cycle.
    """
    home, unit = list(found.home), unit_of(graph)
    kernels: dict[int, list[int]] = {}
    for id, kernel in enumerate(unit):
        if kernel is not None:
            kernels.setdefault(kernel, []).append(id)
    for ids in sorted(kernels.values(), key=max):
        computed = [id for id in ids if graph.inputs[id]] or ids
        outer = {i for id in computed for i in graph.inputs[id] if unit[i] != unit[id] and graph.inputs[i]}
        sources = {at for i in outer if (at := home[i]) is not None}
        place = found.together([home[id] for id in computed], [home[ids[-1]]], sources)
        for id in ids:
            home[id] = place
    for node in reversed(graph.nodes):
        # nodes without a scope stay outside, such as the data, even if only the first layer reads it
        if home[node.id] is not None and not graph.inputs[node.id] and unit[node.id] is None:
            home[node.id] = found.common(home[user] for user, _ in graph.consumers[node.id])
    return Scopes(found.scopes, tuple(home))


def unit_of(graph: Graph) -> list[int | None]:
    """Return, for each node, the outermost group inside its function that holds it; such a group is never split."""
    unit: list[int | None] = [None] * len(graph.groups)
    for group in graph.outside_in:
        if group.parent is not None:
            around = unit[group.parent]
            unit[group.id] = group.id if around is None else around
    return [None if node.group is None else unit[node.group] for node in graph.nodes]


def function_of(graph: Graph) -> list[int | None]:
    """Return, for each node, the top-level function that holds it."""
    function = [group.id for group in graph.groups]
    for group in graph.outside_in:
        if group.parent is not None:
            function[group.id] = function[group.parent]
    return [None if node.group is None else function[node.group] for node in graph.nodes]


def carried(found: Scopes, before: Graph, after: Graph, changes: GraphDiff) -> Scopes:
    """Return the layers `found` of the graph before, for the graph after: a common node is in the same box in both.

    A node that several became is in the scope that they share. An added node is in the scope that its own path names; without a
    path in the last scope that it is computed from; without one in the common scope of its users.
    """
    home: list[int | None] = [None] * len(after.nodes)
    fixed = bytearray(len(after.nodes))
    for b, images in changes.mapping.items():
        for a in images:
            home[a], fixed[a] = found.home[b], 1
    for many, a in changes.merged:
        homes = [found.home[b] for b in many]
        sources = {at for b in many for i in before.inputs[b] if before.inputs[i] and (at := found.home[i]) is not None}
        home[a] = found.together(homes, homes, sources)
    named = {scope.path: at for at, scope in enumerate(found.scopes) if scope.path}
    for a, inputs in enumerate(after.inputs):
        if fixed[a]:
            continue
        own = [named[prefix] for prefix in _prefixes(path_of(after.nodes[a])) if prefix in named] if named else []
        if own:
            home[a], fixed[a] = own[-1], 1
        else:
            home[a] = max((at for i in inputs if (at := home[i]) is not None), default=None)
    for a in range(len(after.nodes) - 1, -1, -1):
        if not fixed[a] and home[a] is None:
            home[a] = found.common(home[user] for user, _ in after.consumers[a])
    return settled(after, Scopes(found.scopes, tuple(home)))


def with_scopes(graph: Graph, found: Scopes) -> Graph:
    """Return the graph with its scopes as groups, between functions and kernels. Groups keep their ids; scopes follow."""
    used = _used(found)
    if not used:
        return graph
    functions, unit = function_of(graph), unit_of(graph)
    order = list(graph.groups)
    scope_place: dict[int, int] = {}
    for at in used:
        scope = found.scopes[at]
        around = scope_place[scope.parent] if scope.parent is not None else functions[used[at]]
        scope_place[at] = len(order)
        order.append(Group(len(order), "scope", scope.name, around))
    inner = {unit[id]: at for id, at in enumerate(found.home) if unit[id] is not None and at is not None}
    for group in graph.groups:
        if group.parent is None:
            continue
        at = inner.get(group.id)
        if at is not None:
            order[group.id] = replace(group, parent=scope_place[at])
    nodes = []
    for node, at in zip(graph.nodes, found.home, strict=True):
        within = node.group
        if at is not None and unit[node.id] is None:
            within = scope_place[at]
        nodes.append(node if within == node.group else replace(node, group=within))
    return replace(graph, nodes=tuple(nodes), groups=tuple(order))


def _used(found: Scopes) -> dict[int, int]:
    """Return a node of each scope that holds any, parents first."""
    used: dict[int, int] = {}
    for id, home in enumerate(found.home):
        at = home
        while at is not None and at not in used:
            used[at] = id
            at = found.scopes[at].parent
    return dict(sorted(used.items()))


LEAST_IN_SCOPE = 4
"least number of nodes in a scope; fewer move to the scope around it"
DEPTH = 64
"most scopes around a node; deeper nodes are in the innermost of them"

# TVM's importers from ONNX, TensorFlow and TFLite put a node's path in place of a source file, at 0:0; the one from
# PyTorch puts the module there.
_IMPORTED = ":0:0"
_NUMBER = re.compile(r"\.(?![0-9]+(?:\.|$))")


def path_of(node: Node) -> tuple[str, ...]:
    """Return the names of the scopes around a node, outermost first; empty where they are unknown.

    >>> path_of(Node(0, "op", "nn.conv2d", span="/layer1/layer1.0/conv1/Conv:0:0"))
    ('layer1', 'layer1.0', 'conv1')
    >>> path_of(Node(0, "op", "add", scope="encoder/layer_0")), path_of(Node(0, "op", "add", span="model.py:3:1"))
    (('encoder', 'layer_0'), ())
    >>> path_of(Node(0, "op", "nn.dense", span="layers.0.query:0:0"))
    ('layers.0', 'query')
    """
    return _path(node)[:DEPTH]


def _path(node: Node) -> tuple[str, ...]:
    if node.scope:
        return tuple(part for part in node.scope.split("/") if part)
    if not node.span.endswith(_IMPORTED):
        return ()
    path = node.span.removesuffix(_IMPORTED)
    if "/" in path:
        return tuple(part for part in path.split("/")[:-1] if part)
    # a parameter's span is its own name
    return modules(path) if node.kind == "op" and " " not in path and "." in path[1:-1] else ()


def common_path(paths: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the parts that all paths begin with.

    >>> common_path([("layer.0", "q", "MatMul"), ("layer.0", "Reshape")])
    ('layer.0',)
    """
    parts = zip(*paths, strict=False)
    return tuple(each[0] for each in takewhile(lambda each: len(set(each)) == 1, parts))


def modules(dotted: str) -> tuple[str, ...]:
    """Return the modules in a dotted name; a number belongs to the list before it.

    >>> modules("encoder.layer.0.attention")
    ('encoder', 'layer.0', 'attention')
    """
    return tuple(part for part in _NUMBER.split(dotted) if part)


def named_scopes(graph: Graph) -> Scopes | None:
    """Return the importer's scopes; None where fewer than half of the operators have one."""
    paths = [path_of(node) if node.scope or node.span else () for node in graph.nodes]
    ops = graph.ops
    if not ops or 2 * sum(bool(paths[op.id]) for op in ops) < len(ops):
        return None
    # in program order, a scope before its contents
    names = dict.fromkeys(prefix for path in paths for prefix in _prefixes(path))
    places = {path: at for at, path in enumerate(names)}
    scopes = tuple(Scope(path[-1], places.get(path[:-1]), path) for path in names)
    return settled(graph, _pruned(_filled(graph, Scopes(scopes, tuple(places.get(path) for path in paths)))))


def _prefixes(path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    return (path[:end] for end in range(1, len(path) + 1))


def _filled(graph: Graph, found: Scopes) -> Scopes:
    """Return scopes for nodes that a pass made, which have no path: their users' common scope, else their inputs'."""
    home = list(found.home)
    told = [at is not None for at in home]
    for id in range(len(home) - 1, -1, -1):
        if not told[id] and graph.consumers[id]:
            home[id] = found.common(home[user] for user, _ in graph.consumers[id])
    for id, inputs in enumerate(graph.inputs):
        if home[id] is None and not told[id] and inputs:
            home[id] = found.common(home[i] for i in inputs if home[i] is not None)
    return Scopes(found.scopes, tuple(home))


def _pruned(found: Scopes) -> Scopes:
    """Return the scopes without those that hold few nodes, all nodes of the scope around them, or the whole graph."""
    sizes = [0] * len(found.scopes)
    for home in found.home:
        for at in found.around(home):
            sizes[at] += 1
    total = sum(home is not None for home in found.home)
    instead: list[int | None] = []
    for at, scope in enumerate(found.scopes):
        around = None if scope.parent is None else instead[scope.parent]
        held = total if around is None else sizes[around]
        instead.append(around if sizes[at] < LEAST_IN_SCOPE or sizes[at] == held else at)
    scopes = tuple(
        replace(scope, parent=None if scope.parent is None else instead[scope.parent]) for scope in found.scopes
    )
    return Scopes(scopes, tuple(None if home is None else instead[home] for home in found.home))


READABLE = 300
"Most operators and kernels side by side that are readable in one picture."
PARTS = 60
"Most parts; more would again be too much to read."


def parts(graph: Graph, nodes: Collection[int]) -> dict[int, int]:
    """Return the part, from 0 on, of each of the `nodes`; empty where they are few enough to read without parts.

    A node without inputs is in the first part that reads it.

    >>> from workbench.graph.model import GraphBuilder
    >>> builder = GraphBuilder("chain", "relay")
    >>> node = builder.node("param", "x")
    >>> for _ in range(600):
    ...     node = builder.node("op", "exp", [node])
    >>> found = parts(builder.build(), range(601))
    >>> found[1], found[10], found[11], found[600]
    (0, 0, 1, 59)
    """
    if len(nodes) <= READABLE:
        return {}
    unit = unit_of(graph)
    items: dict[tuple[str, int], list[int]] = {}
    for id in nodes:
        kernel = unit[id]
        if graph.nodes[id].kind not in ("param", "constant"):
            items.setdefault(("node", id) if kernel is None else ("kernel", kernel), []).append(id)
    if len(items) <= READABLE:
        return {}
    # only its result leaves a kernel, so the kernel is in the part of its result
    order = sorted(items.values(), key=max)
    size = -(-len(order) // PARTS)
    found = {id: place // size for place, ids in enumerate(order) for id in ids}
    for id in nodes:
        if id not in found:
            readers = [found[user] for user, _ in graph.consumers[id] if user in found]
            found.update({id: min(readers)} if readers else {})
    return found
