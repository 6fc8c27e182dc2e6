"""The forward graph of the fusion algorithm: kinds of nodes and edges, and values used from outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from workbench.graph.model import Graph, Group

ELEMWISE, BROADCAST, INJECTIVE, COMM_REDUCE, OUT_ELEMWISE, TUPLE, OPAQUE = 0, 1, 2, 3, 4, 7, 8
"Pattern kinds, as TVM numbers them. A kernel has the largest kind of its nodes, and most tests compare with <=."


@dataclass(slots=True)
class Arguments:
    """The counts that are compared with max_function_args."""

    own: list[int]
    "parameters that each node's record starts with"
    reads: list[tuple[int, ...]]
    "for each call and tuple, its arguments that are not variables"
    uses: list[int]
    "parameters that each node's uses take: one each, and one for each dynamic dimension of a call's result"
    entered: list[int]
    "when TVM's visitor first enters each node, which is before it enters the inputs of the node"


@dataclass(slots=True)
class Forward:
    """The forward graph, with the Graph's node ids, as plain lists for speed."""

    kinds: list[int]
    "pattern kind of each node"
    users: list[list[tuple[int, int]]]
    "(consumer, kind of the edge) pairs of each node, an argument used twice twice"
    held: list[str]
    "why the algorithm cannot follow a node's value, a key of HELD; empty if it can"
    computes: list[bool]
    "whether a node that ends up alone, or at the end of its kernel, is made into a kernel"
    lacking: list[int] = field(default_factory=list)
    "operators that registered no pattern, for which the pass fails"
    frozen: list[int] = field(default_factory=list)
    "nodes in functions that the pass leaves as they are: kernels already made, offloaded regions"
    arguments: Callable[[], Arguments] | None = None
    "computes the counts for max_function_args; None where the dialect has no such limit"


HELD = {
    "result": "is returned by its function",
    "branch": "is what a branch returns",
    "condition": "decides an if",
    "let": "is bound by a let",
    "body": "is what a let gives",
    "block": "is used outside its dataflow block",
    "alias": "has a second name, which FuseOps takes for an operator that it does not know (CanonicalizeBindings removes it)",
    "argument": "is passed to a function that is called as a whole",
    "reference": "goes into a reference",
    "match": "is taken apart by a match",
    "mixed": "is in a tuple with values that are not tensors",
    "local": "is in an arm of an `if` or in a local function, where FuseOps merges nothing",
    "kernel": "is in a function that the pass leaves as it is",
}
"Reasons for which FuseOps treats a value as extern: something other than an operator takes it."


def hold(graph: Graph, seen: Forward, leaves: Callable[[Group], bool]) -> None:
    """Mark results and arguments of functions, and the nodes of functions that the pass leaves as they are."""
    held = seen.held
    for output in graph.outputs:
        held[output] = "result"
    if not graph.groups:
        return
    left = [False] * len(graph.groups)
    for group in graph.groups:
        if group.output is not None:
            held[group.output] = held[group.output] or ("branch" if group.kind == "branch" else "result")
        for source in group.inputs:
            held[source] = held[source] or "argument"
        above = group.parent is not None and left[group.parent]
        left[group.id] = above or group.kind in ("primitive", "external") or leaves(group)
    if any(left):
        for node in graph.nodes:
            if node.group is not None and left[node.group]:
                seen.kinds[node.id], held[node.id] = OPAQUE, "kernel"
                seen.frozen.append(node.id)
        outside = set(seen.frozen)
        seen.lacking[:] = [id for id in seen.lacking if id not in outside]
