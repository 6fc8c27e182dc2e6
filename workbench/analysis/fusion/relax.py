"""The forward graph of a Relax program (src/relax/transform/fuse_ops.cc, TVM 0.27).

All functions that are not kernels are in one graph. Only `call_tir` and `call_tir_inplace` have a kind, the one
that AnnotateTIROpPattern found; a value that leaves its dataflow block is used from outside; fields of a tuple argument are
separate arguments, so tuples have no effect. Nothing merges in an arm of an `if` or in a local function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from workbench.analysis.fusion.forward import INJECTIVE, OPAQUE, Forward, hold
from workbench.graph.model import Graph, Node
from workbench.graph.nodes import reached

_INPLACE = "relax.call_tir_inplace"
"the only call besides `call_tir` that FuseOps knows; any other, such as `call_tir_with_grad`, is opaque to it"


def forward(graph: Graph) -> Forward:
    """Return the forward graph of a Relax Graph."""
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
    hold(graph, seen, lambda _: False)
    return seen


def blocked_by(graph: Graph, root: Callable[[int], int]) -> str:
    """Return the name of a local function that makes FuseOps lose kernels and raise; or "".

    The pass drops its kernels when it visits a dataflow block inside the function, and fails at the next kernel that it has not
    emitted.

    `root`: the node whose value a node's kernel returns.
    """
    local = _local(graph)
    for function in graph.nodes:
        if function.kind == "function" and function.block > 0 and function.group not in local:
            rows = [node.id for node in graph.nodes if node.block == function.block and node.group == function.group]
            if _has_dataflow(graph, function) and _after(graph, rows, function.id, root):
                return function.name or "fn"
    return ""


def _has_dataflow(graph: Graph, function: Node) -> bool:
    """Return whether a local function has a dataflow block."""
    inner = {g.id for g in graph.groups if g.parent == function.group and g.name in (function.name, "fn")}
    return any(
        node.block > 0 and any(group.id in inner for group in graph.ancestors(node.group))
        for node in graph.nodes[: function.id]
    )


def _after(graph: Graph, rows: Sequence[int], function: int, root: Callable[[int], int]) -> bool:
    """Return whether a kernel of several nodes among these is emitted after the function."""
    needs: dict[int, set[int]] = {}
    sizes = Counter(root(row) for row in rows)
    for row in rows:
        needs.setdefault(root(row), set()).update(root(source) for source in graph.inputs[row])
    done = reached((root(row) for row in rows if row < function), lambda kernel: needs.get(kernel, ()))
    return any(size > 1 and kernel not in done for kernel, size in sizes.items())


def _local(graph: Graph) -> set[int | None]:
    """Return the groups that are, or are inside, an arm of an `if` or a local function."""
    found: set[int | None] = set()
    for group in graph.outside_in:
        if group.parent in found or group.kind == "branch" or (group.kind == "function" and group.parent is not None):
            found.add(group.id)
    return found
