"""Sibling branches that CombineParallelOps, a pass of ours, combines: any operator with a batched form.

Branches are stacked on a new first axis. An argument that all share is left as it is, since it broadcasts; the others
get the dimensions they lack, so that axes correspond. Attributes are kept. Cases that stacking could change
are refused: operators that count their axes from the front, other shapes, values that are used elsewhere too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from workbench.analysis.branches.calls import Branches, Calls, attribute, circular
from workbench.analysis.branches.rules import BROADCAST, MOVES_AXES, type_of
from workbench.analysis.outcome import Reason
from workbench.graph.identity import frozen
from workbench.graph.model import Graph, Node

MATMULS = {"nn.dense": "nn.batch_matmul", "nn.matmul": "nn.batch_matmul"}
"operators whose batched form has another name; an element-wise one is its own"
WITH_AXIS = ("nn.softmax", "nn.log_softmax")
"operators that work along one axis, whose axis moves by one"
_AXES = ("axis", "axes", "layout", "data_layout", "newaxis", "shape", "newshape", "exclude", "ndim")


@dataclass(frozen=True)
class Batch:
    """Sibling branches that are combined."""

    branches: Branches
    equal: bool
    "whether the first calls are equal, so that one of them is enough and nothing is stacked"


def batch_form(op: str, pattern: int | None) -> str | None:
    """Return the batched form of an operator; None if there is none that is always right."""
    if op in MATMULS:
        return MATMULS[op]
    if op in WITH_AXIS:
        return op
    element_wise = pattern is not None and pattern <= BROADCAST
    return op if element_wise and op not in (*MOVES_AXES, "nn.bias_add", "nn.prelu") else None


def batches(graph: Graph, op: str, least: int = 2) -> tuple[list[Batch], list[Reason]]:
    """Return the groups of `op` that can be combined, and the reasons for the others."""
    calls = Calls(graph)
    refused: list[Reason] = []
    found: list[Batch] = []
    for siblings in _siblings(calls, op):
        if len(siblings) >= least:
            found.append(_batch(calls, siblings))
        elif len(siblings) > 1:
            said = f"{len(siblings)} branches of {op}, and {least} are asked for"
            refused.append(Reason("below-min", said, tuple(siblings)))
    alone = circular(graph, [batch.branches for batch in found])
    for place in sorted(alone):
        heads = tuple(branch[0] for branch in found[place].branches)
        refused.append(Reason("sibling-dependency", f"one of these {op} needs what another one gives", heads))
    return [batch for place, batch in enumerate(found) if place not in alone], refused


def _siblings(calls: Calls, op: str) -> list[list[int]]:
    """Return sets of calls with one first argument that differ at most in the values of their other arguments."""
    groups: dict[tuple, list[int]] = {}
    for node in calls.graph.nodes:
        if node.kind == "op" and node.op == op and calls.graph.inputs[node.id] and _takes(calls, node):
            types = tuple(str(type_of(calls, source)) for source in calls.graph.inputs[node.id])
            key = (calls.scopes[node.id], node.group, calls.arguments(node.id)[0], frozen(node.attrs), types, node.type)
            groups.setdefault(key, []).append(node.id)
    return list(groups.values())


def _takes(calls: Calls, node: Node) -> bool:
    """Return whether the operator's batched form is right for this call."""
    if batch_form(node.op, node.pattern) is None or calls.is_let(node.id):
        return False
    kinds = [type_of(calls, i) for i in (node.id, *calls.graph.inputs[node.id])]
    if not all(kind.known for kind in kinds) or any(calls.is_let(i) for i in calls.graph.inputs[node.id]):
        return False
    if node.op in MATMULS:
        return len(kinds) == 3 and all(len(kind.shape) == 2 for kind in kinds)
    return node.op in WITH_AXIS or not any(name in node.attrs for name in _AXES)


def _batch(calls: Calls, heads: list[int]) -> Batch:
    """Return the branches that start at these calls, as far as all have the same operators."""
    graph = calls.graph
    equal = len({calls.arguments(head) for head in heads}) == 1
    branches = [[head] for head in heads]
    while not equal:
        after = [_only_user(calls, branch[-1]) for branch in branches]
        if None in after or len(set(after)) < len(after):
            break
        nodes = [graph.nodes[i] for i in after if i is not None]
        if not all(
            _follows(calls, nodes[0], branches[0][-1], node, branch[-1])
            for node, branch in zip(nodes, branches, strict=True)
        ):
            break
        inside = {i for branch in branches for i in branch} | {node.id for node in nodes}
        own = {branch[-1] for branch in branches}
        if any(calls.needs(source, inside) for node in nodes for source in graph.inputs[node.id] if source not in own):
            break
        for branch, node in zip(branches, nodes, strict=True):
            branch.append(node.id)
    return Batch(tuple(map(tuple, branches)), equal)


def _only_user(calls: Calls, node: int) -> int | None:
    """Return the one node that uses the value, if there is one and it uses it once."""
    graph = calls.graph
    returned = node in graph.outputs or any(group.output == node for group in graph.groups)
    users = graph.consumers[node]
    return users[0][0] if len(users) == 1 and not returned else None


def _follows(calls: Calls, first: Node, first_parent: int, node: Node, parent: int) -> bool:
    """Return whether an operator can be combined with its counterpart in the first branch."""
    graph = calls.graph
    ours, theirs = graph.inputs[first.id], graph.inputs[node.id]
    return (
        node.kind == "op"
        and node.op == first.op
        and not attribute(first, node)
        and node.group == first.group
        and node.op not in MATMULS
        and _takes(calls, node)
        and first.type == node.type
        and len(type_of(calls, node.id).shape) == len(type_of(calls, parent).shape)
        and len(ours) == len(theirs)
        and all((a == first_parent) == (b == parent) for a, b in zip(ours, theirs, strict=True))
        and all(type_of(calls, a) == type_of(calls, b) for a, b in zip(ours, theirs, strict=True))
    )


def operators(graph: Graph) -> Iterable[str]:
    """Return the operators of a graph that have a batched form, in order of first use."""
    return dict.fromkeys(
        node.op for node in graph.nodes if node.kind == "op" and batch_form(node.op, node.pattern) is not None
    )
