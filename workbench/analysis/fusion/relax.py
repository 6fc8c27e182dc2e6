"""The forward graph of a Relax program (src/relax/transform/fuse_ops.cc, TVM 0.27).

All functions that are not kernels themselves are in one graph. Only `call_tir` and `call_tir_inplace` have a kind, the one
that AnnotateTIROpPattern found; a value that leaves its dataflow block is used from outside; fields of a tuple argument are
arguments of their own, so tuples play no part. In an arm of an `if` and in a local function nothing merges.
"""

from __future__ import annotations

from workbench.analysis.fusion.forward import INJECTIVE, OPAQUE, Forward
from workbench.graph.model import Graph

_INPLACE = "relax.call_tir_inplace"
"the one caller besides `call_tir` that FuseOps knows; any other, such as `call_tir_with_grad`, is opaque to it"


def forward(graph: Graph) -> Forward:
    """The forward graph of a Relax Graph."""
    nodes = graph.nodes
    held = [node.held for node in nodes]
    computes = [node.kind == "op" for node in nodes]
    seen = Forward([OPAQUE] * len(nodes), [[] for _ in nodes], held, computes)
    local = _local(graph)
    for node, inputs in zip(nodes, graph.inputs, strict=True):
        if node.group in local:
            held[node.id] = "local"
        elif node.kind == "op" and node.pattern is not None and node.attrs.get("called_by", _INPLACE) == _INPLACE:
            seen.kinds[node.id] = node.pattern
        elif node.kind == "get_item" and inputs and nodes[inputs[0]].kind != "param":
            seen.kinds[node.id] = INJECTIVE
        for source in inputs:
            seen.users[source].append((node.id, seen.kinds[node.id]))
    for output in graph.outputs:
        held[output] = "result"
    _freeze(graph, seen)
    return seen


def _local(graph: Graph) -> set[int | None]:
    """Return the groups inside an arm of an `if` or a local function, and these themselves."""
    found: set[int | None] = set()
    for group in graph.outside_in:
        if group.parent in found or group.kind == "branch" or (group.kind == "function" and group.parent is not None):
            found.add(group.id)
    return found


def _freeze(graph: Graph, seen: Forward) -> None:
    """Mark what functions return and are given, and what is in kernels already."""
    leaves = [False] * len(graph.groups)
    for group in graph.groups:
        if group.output is not None:
            seen.held[group.output] = seen.held[group.output] or ("branch" if group.kind == "branch" else "result")
        for source in group.inputs:
            seen.held[source] = seen.held[source] or "argument"
        above = group.parent is not None and leaves[group.parent]
        leaves[group.id] = above or group.kind in ("primitive", "external")
    if any(leaves):
        for node in graph.nodes:
            if node.group is not None and leaves[node.group]:
                seen.kinds[node.id], seen.held[node.id] = OPAQUE, "kernel"
                seen.frozen.append(node.id)
