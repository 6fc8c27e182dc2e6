"""Scopes from the paths that an importer gave: `Node.scope`, or spans that are a path of modules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from workbench.graph.nodes import Node
from workbench.graph.scopes import Scope, Scopes, settled

if TYPE_CHECKING:
    from workbench.graph.model import Graph

LEAST = 4
"nodes in a scope; fewer go to the scope around it"
DEPTH = 64
"scopes around a node; what is further inside is in the innermost of them"

# TVM's importers from ONNX, TensorFlow and TFLite put a node's path where a source file would stand, at 0:0; the one from
# PyTorch puts the module there.
_IMPORTED = re.compile(r"(.*/.*):0:0", re.DOTALL)
_MODULE = re.compile(r"([^/ ]+\.[^/ ]+):0:0")
_NUMBER = re.compile(r"\.(?![0-9]+(?:\.|$))")


def path_of(node: Node) -> tuple[str, ...]:
    """The scopes a node is in, outermost first; empty where nothing tells.

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
    imported = _IMPORTED.fullmatch(node.span)
    if imported:
        return tuple(part for part in imported.group(1).split("/")[:-1] if part)
    # a parameter's span is its own name
    module = _MODULE.fullmatch(node.span) if node.kind == "op" else None
    return modules(module.group(1)) if module else ()


def modules(dotted: str) -> tuple[str, ...]:
    """The modules that a dotted name goes through; a number belongs to the list before it.

    >>> modules("encoder.layer.0.attention")
    ('encoder', 'layer.0', 'attention')
    """
    return tuple(part for part in _NUMBER.split(dotted) if part)


def named_scopes(graph: Graph) -> Scopes | None:
    """The importer's scopes; None where fewer than half of the operators have one."""
    paths = [path_of(node) if node.scope or node.span else () for node in graph.nodes]
    ops = graph.ops()
    if not ops or 2 * sum(bool(paths[op.id]) for op in ops) < len(ops):
        return None
    # as the program comes to them, a scope before what is in it
    names = dict.fromkeys(prefix for path in paths for prefix in _prefixes(path))
    places = {path: at for at, path in enumerate(names)}
    scopes = tuple(Scope(path[-1], places.get(path[:-1])) for path in names)
    return settled(graph, _pruned(_filled(graph, Scopes(scopes, tuple(places.get(path) for path in paths)))))


def _prefixes(path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    return (path[:end] for end in range(1, len(path) + 1))


def _filled(graph: Graph, found: Scopes) -> Scopes:
    """Nodes that a pass made bear no path: they are where all that use them are, else where what they use is."""
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
    """Without scopes that hold next to nothing, or everything that the scope around them holds, or the whole graph."""
    sizes = [0] * len(found.scopes)
    for home in found.home:
        for at in found.around(home):
            sizes[at] += 1
    total = sum(home is not None for home in found.home)
    instead: list[int | None] = []
    for at, scope in enumerate(found.scopes):
        around = None if scope.parent is None else instead[scope.parent]
        held = total if around is None else sizes[around]
        instead.append(around if sizes[at] < LEAST or sizes[at] == held else at)
    scopes = tuple(Scope(scope.name, None if scope.parent is None else instead[scope.parent]) for scope in found.scopes)
    return Scopes(scopes, tuple(None if home is None else instead[home] for home in found.home))
