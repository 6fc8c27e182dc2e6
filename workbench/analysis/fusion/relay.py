"""The forward graph of a Relay program (src/relay/transforms/fuse_ops.cc, TVM 0.17).

Each function's parameters, bodies of functions, branches and values of lets are used from outside; what is inside a branch
or a closure stands in the same graph as what is outside, and may take it in.
"""

from __future__ import annotations

import re

from workbench.analysis.fusion.forward import (
    BROADCAST,
    ELEMWISE,
    INJECTIVE,
    OPAQUE,
    TUPLE,
    Forward,
)
from workbench.analysis.fusion.relay_arguments import arguments
from workbench.analysis.fusion.relay_types import fields, is_tensor, shape
from workbench.graph.model import Graph

FOLDED = ("int32", "int64", "float32", "float64", "bool")
"Scalar constants of these types are written into the kernel; any other constant is an argument."

UNWRAPPED = re.compile(r"on_device|vm\..*|memory\..*|call_lowered|annotation\.stop_fusion")
"Operators that compute nothing, which no kernel is made of."

_TAKEN_BY = {"if": "condition", "match": "match", "ref": "reference"}


def forward(graph: Graph) -> Forward:
    """The forward graph of a Relay Graph."""
    nodes = graph.nodes
    seen = Forward([OPAQUE] * len(nodes), [[] for _ in nodes], [""] * len(nodes), [False] * len(nodes))
    kinds, users, held = seen.kinds, seen.users, seen.held
    for node, inputs in zip(nodes, graph.inputs, strict=True):
        id, kind = node.id, node.kind
        if node.held:
            held[id] = node.held
        if kind == "op":
            if node.pattern is None:
                seen.lacking.append(id)
            else:
                kinds[id] = node.pattern
            seen.computes[id] = not UNWRAPPED.fullmatch(node.op)
            edge, own = kinds[id], shape(node.type) if kinds[id] == BROADCAST else None
            for source in inputs:
                same = own is not None and shape(nodes[source].type) == own
                users[source].append((id, ELEMWISE if same else edge))
        elif kind == "constant":
            kinds[id] = ELEMWISE if node.type in FOLDED else OPAQUE
        elif kind == "tuple":
            kinds[id] = TUPLE
            for source in inputs:
                if is_tensor(nodes[source].type):
                    users[source].append((id, INJECTIVE))
                else:
                    held[source] = held[source] or "mixed"
        elif kind == "get_item" and inputs:
            whole = nodes[inputs[0]].type
            if all(map(is_tensor, fields(whole))):
                kinds[id] = INJECTIVE
                users[inputs[0]].append((id, INJECTIVE))
            else:
                held[inputs[0]] = held[inputs[0]] or "mixed"
        elif kind == "call":
            for source in inputs:
                users[source].append((id, OPAQUE))
        elif kind in _TAKEN_BY:
            for source in inputs:
                held[source] = held[source] or _TAKEN_BY[kind]
    _hold_boundaries(graph, seen)
    for id, how in enumerate(held):
        if how in ("let", "body"):
            # the variable is used, or the let, and not the value
            users[id].clear()
    seen.arguments = lambda: arguments(graph)
    return seen


def _hold_boundaries(graph: Graph, seen: Forward) -> None:
    """Mark what functions return and are given, and freeze the functions that the pass leaves alone."""
    held = seen.held
    for output in graph.outputs:
        held[output] = "result"
    if not graph.groups:
        return
    leaves = [False] * len(graph.groups)
    for group in graph.groups:
        if group.output is not None:
            held[group.output] = held[group.output] or ("branch" if group.kind == "branch" else "result")
        for source in group.inputs:
            held[source] = held[source] or "argument"
        above = group.parent is not None and leaves[group.parent]
        leaves[group.id] = above or group.kind in ("primitive", "external") or "SkipOptimization" in group.attrs
    if any(leaves):
        for node in graph.nodes:
            if node.group is not None and leaves[node.group]:
                seen.kinds[node.id], held[node.id] = OPAQUE, "kernel"
                seen.frozen.append(node.id)
        outside = set(seen.frozen)
        seen.lacking[:] = [id for id in seen.lacking if id not in outside]
