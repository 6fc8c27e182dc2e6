"""Sibling branches in Relax: equal values, products, and convolutions that our CombineParallelConv2D combines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workbench.analysis.branches.calls import Calls, Key, attribute
from workbench.analysis.branches.equal import equal_branches, nearly_equal
from workbench.analysis.branches.matmul import matmul_groups
from workbench.analysis.branches.report import BranchGroup, alone, few, producer
from workbench.analysis.branches.rules import attr, type_of
from workbench.analysis.outcome import Reason
from workbench.graph.model import Graph, Node

SAME = "EliminateCommonSubexpr"


CONV = "relax.nn.conv2d"


def relax_branches(calls: Calls, least: int) -> Iterator[BranchGroup]:
    """Yield the branch groups of a Relax graph, in no order."""
    graph = calls.graph
    for branches in equal_branches(calls):
        yield BranchGroup("identical", producer(graph, branches), branches, SAME, 1, graph=graph)
    yield from (_misplaced(graph, node) for node, first in (graph.answers.merged or {}).items() if first == -1)
    yield from matmul_groups(calls, least)
    yield from conv_groups(calls, least)
    for nodes, reasons in nearly_equal(calls):
        yield BranchGroup("near", producer(graph, alone(nodes)), alone(nodes), SAME, 1, reasons, graph=graph)


def _misplaced(graph: Graph, node: int) -> BranchGroup:
    """Return the hazard of a value that the pass replaces by a variable of a local function."""
    name = graph.nodes[node].name or graph.nodes[node].op
    sentence = (
        f"TVM replaces {name} by a variable of a local function that is bound at the start of a scope, so the result is not "
        "well-formed; run LambdaLift first, or bind the function after another value"
    )
    hazards = (Reason("out-of-scope", sentence, (node,)),)
    return BranchGroup("hazard", producer(graph, ((node,),)), ((node,),), SAME, 1, hazards=hazards, graph=graph)


def conv_groups(calls: Calls, least: int) -> Iterator[BranchGroup]:
    """Yield the groups of our CombineParallelConv2D, and its near misses."""
    text = f"CombineParallelConv2D{{min_num_branches={least}}}"
    siblings: dict[tuple[object, Key], list[int]] = {}
    for node in calls.graph.ops:
        if node.op == CONV:
            siblings.setdefault((calls.stretches[node.id], calls.arguments(node.id)[0]), []).append(node.id)
    for nodes in siblings.values():
        if len(nodes) < 2:
            continue
        groups, refused = _grouped(calls, nodes)
        root = calls.graph.inputs[nodes[0]][0]
        taken = [group for group in groups if len(group) >= least]
        for group in taken:
            yield BranchGroup("combinable", root, alone(group), text, 0, graph=calls.graph)
        refused += [few(group, least) for group in groups if 1 < len(group) < least]
        left = [node for node in nodes if not any(node in group for group in taken)]
        if left and refused:
            yield BranchGroup("near", root, alone(left), text, 0, tuple(dict.fromkeys(refused)), graph=calls.graph)


def _grouped(calls: Calls, siblings: Sequence[int]) -> tuple[list[list[int]], list[Reason]]:
    """Return groups of convolutions that can be combined, and the reasons for the others."""
    groups: list[list[int]] = []
    refused: list[Reason] = []
    for node in siblings:
        refusal = _refusal(calls, calls.graph.nodes[node])
        if refusal is not None:
            refused.append(refusal)
            continue
        for group in groups:
            reason = _differ(calls, group[0], node)
            if reason is None:
                if any(calls.needs(source, group) for source in calls.graph.inputs[node]):
                    said = "one branch's filter is made from another one's result"
                    refused.append(Reason("sibling-dependency", said, (group[0], node)))
                else:
                    group.append(node)
                break
            refused.append(reason)
        else:
            groups.append([node])
    return groups, refused


def _refusal(calls: Calls, node: Node) -> Reason | None:
    """Return why a convolution is never combined; None where it may be."""
    filters = type_of(calls, calls.graph.inputs[node.id][1])
    kernel, out = str(attr(node, "kernel_layout", "OIHW")), _out(node)
    if not filters.known:
        return Reason("dynamic-shape", "the filter's shape is not known here", (node.id,))
    if attr(node, "groups", 1) != 1:
        return Reason("attr:groups", "only convolutions of groups=1 are combined", (node.id,))
    if not (kernel + out).isalpha() or "C" not in out or "O" not in kernel:
        return Reason("packed-layout", "a packed layout is left as it is", (node.id,))
    if (len(filters.shape), len(type_of(calls, node.id).shape)) != (len(kernel), len(out)):
        return Reason("dynamic-shape", "the shapes are not those of the layouts", (node.id,))
    return None


def _out(node: Node) -> str:
    return str(attr(node, "out_layout", "") or attr(node, "data_layout", "NCHW"))


def _differ(calls: Calls, first: int, other: int) -> Reason | None:
    nodes, inputs = calls.graph.nodes, calls.graph.inputs
    different = attribute(nodes[first], nodes[other])
    if different:
        shown = " and ".join(str(nodes[n].attrs.get(different, "the default")) for n in (first, other))
        return Reason(f"attr:{different}", f"they differ in {different}: {shown}", (first, other))
    ours, theirs = (type_of(calls, inputs[n][1]) for n in (first, other))
    if ours.dtype != theirs.dtype:
        return Reason("weight-dtype", f"the filters are {ours} and {theirs}", (first, other))
    axis = str(attr(nodes[first], "kernel_layout", "OIHW")).index("O")
    if any(a != b for i, (a, b) in enumerate(zip(ours.shape, theirs.shape, strict=True)) if i != axis):
        said = f"the filters are {ours} and {theirs}, and only filters of one size are put together"
        return Reason("kernel-size", said, (first, other))
    return None
