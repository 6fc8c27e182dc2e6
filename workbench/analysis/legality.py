"""Checks of cuts, kernels and regions that a user requests on a graph, with reasons, before TVM runs.

A region must be convex: no path may leave it and re-enter, or its function would need its own result. A kernel has one
result and at most one complicated operator (a reduction or anything above it in TVM's order of pattern kinds), after which
only element-wise operators of its shape are allowed, because TVM's code generator schedules a fused function around one operator
(src/relay/backend/te_compiler_cache.cc).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.analysis.tensors import tensor
from workbench.errors import PipelineError, WorkbenchError
from workbench.graph.model import Edge, Graph, Node

COMPLICATED = 3
"CommReduce and above"
_MAKES_KERNELS = {"relay": "SimplifyInference (or the qnn passes)", "relax": "LegalizeOps,AnnotateTIROpPattern"}
_FUSED = ("primitive", "external", "composite")
"kinds of groups that are called in place"
CUT = "annotation.stop_fusion"
"the operator that keeps two kernels apart in Relay"
_SCALARS = {
    form.format(dtype)
    for dtype in ("int32", "int64", "float32", "float64", "bool")
    for form in ("{}", "Tensor[(), {}]")
}
"scalar constants of these types are written into a kernel; all others are its arguments"


class IllegalEdit(WorkbenchError):
    """A cut, a kernel or a region that cannot be made; the message says why."""


@dataclass(frozen=True)
class Selection:
    """A legal region."""

    nodes: tuple[int, ...]
    "ids in order: the chosen nodes, and the tuples, tuple fields and scalar constants that belong to them"
    inputs: tuple[int, ...]
    "nodes outside whose values enter, in order of first use"
    outputs: tuple[int, ...]
    "nodes inside whose values are used outside"
    group: int | None
    "the group that holds all of them"


def region(graph: Graph, nodes: Iterable[int]) -> Selection:
    """Return the region of these nodes, with the tuples, fields and scalar constants that belong to it.

    Raises IllegalEdit: nothing is computed in it, its nodes are in two functions or inside a kernel, or it is not convex.
    """
    chosen = _check_nodes(graph, nodes)
    ops = [i for i in chosen if graph.nodes[i].kind not in ("param", "constant")]
    if not any(graph.nodes[i].kind == "op" for i in ops):
        raise IllegalEdit("the selection holds no operator; select the operators that are to be together")
    group = _one_group(graph, ops)
    for i in ops:
        if graph.nodes[i].kind not in ("op", "tuple", "get_item"):
            raise IllegalEdit(
                f"{describe(graph, i)} is a {graph.nodes[i].kind}, and only operators, tuples and their fields can be put in a function"
            )
        if graph.nodes[i].op == CUT:
            raise IllegalEdit(f"a cut ({describe(graph, i)}) is inside the selection; take the cut away first")
    inside = _completed(graph, set(ops), group)
    _check_convex(graph, inside)
    nodes = tuple(sorted(inside))
    inputs = dict.fromkeys(source for i in nodes for source in graph.inputs[i] if source not in inside)
    return Selection(nodes, tuple(inputs), _outputs(graph, inside), group)


def kernel(graph: Graph, nodes: Iterable[int]) -> Selection:
    """Return the region of these nodes if it can be one kernel.

    Raises IllegalEdit: it is not a region, has more than one result, or holds two complicated operators.
    """
    found = region(graph, nodes)
    for i in found.nodes:
        if graph.nodes[i].kind == "op" and graph.nodes[i].pattern is None:
            raise IllegalEdit(
                f"{graph.nodes[i].op} has no fusion pattern and no code of its own; run {_MAKES_KERNELS[graph.dialect]} first"
            )
    complicated = [i for i in found.nodes if graph.nodes[i].kind == "op" and _rank(graph.nodes[i]) >= COMPLICATED]
    if len(complicated) > 1:
        raise IllegalEdit(
            f"{_and(graph, complicated)} are more complicated than element-wise, and a kernel is built around one such "
            "operator at most; leave all but one out, or outline the region instead"
        )
    late = _not_element_wise_behind(graph, found, complicated)
    if late is not None:
        raise IllegalEdit(
            f"{describe(graph, late)} follows {describe(graph, complicated[0])} and is not element-wise on its shape; "
            "TVM's schedules for such a kernel take nothing else, so leave it out"
        )
    if len(found.outputs) != 1:
        raise IllegalEdit(
            f"the values of {_and(graph, found.outputs)} are used outside the selection, and a kernel gives one "
            "result; add what uses them, or leave all but one out"
        )
    if graph.nodes[found.outputs[0]].kind == "tuple" or graph.nodes[found.outputs[0]].type.startswith("("):
        raise IllegalEdit(
            f"the result would be a tuple ({describe(graph, found.outputs[0])}), and a kernel gives one tensor; "
            "add what uses its fields, or leave it out"
        )
    return found


def cut(graph: Graph, edges: Iterable[Edge | tuple[int, ...]]) -> tuple[Edge, ...]:
    """Return the given edges as Edges if they can be cut. Each is an Edge, a pair, or a triple with the argument position.

    Raises IllegalEdit: the graph lacks one of them, or nothing would be fused across it.
    """
    found = tuple(edge for given in edges for edge in _edges(graph, given))
    if not found:
        raise IllegalEdit("no edge was chosen; select an edge between two operators")
    for edge in found:
        source, target = graph.nodes[edge.source], graph.nodes[edge.target]
        if source.kind in ("param", "constant", "function"):
            raise IllegalEdit(
                f"nothing is fused across the edge from {describe(graph, source.id)}, which is a {source.kind}; cut an edge between two operators"
            )
        if target.kind not in ("op", "tuple", "get_item", "call", "if"):
            raise IllegalEdit(f"an edge into a {target.kind} cannot be cut; cut an edge between two operators")
        fused = _fused_around(graph, target.group) or _fused_around(graph, source.group)
        if fused:
            raise IllegalEdit(f"the edge is inside or at {fused}, which is fused already; cut before FuseOps runs")
    return found


def check_names(graph: Graph, nodes: Sequence[int], names: Sequence[str], what: str) -> None:
    """Raise PipelineError if the ids name other operators in this graph than in the one they were recorded on."""
    if not names:
        return
    here = [graph.nodes[i].op if 0 <= i < len(graph.nodes) else "nothing" for i in nodes]
    if here != list(names):
        raise PipelineError(
            f"{what} was written for the nodes {_listed(names)}, and here these ids are {_listed(here)}; "
            "run it on the module that its ids were taken from"
        )


def why_not(check: Callable[[Graph, Any], object], graph: Graph, chosen: Any) -> str:
    """Return the objection of `kernel`, `region` or `cut`; empty if the edit is legal."""
    try:
        check(graph, chosen)
    except IllegalEdit as refused:
        return str(refused)
    return ""


def describe(graph: Graph, id: int) -> str:
    """Return a short description of a node: its operator and its id."""
    node = graph.nodes[id]
    return f"{node.name or node.op} (node {id})"


def _rank(node: Node) -> int:
    return 8 if node.pattern is None else node.pattern


def _not_element_wise_behind(graph: Graph, found: Selection, complicated: list[int]) -> int | None:
    """Return the first operator after the complicated one that changes the shape or is above broadcast, if any."""
    behind = set(complicated)
    for i in found.nodes:
        node = graph.nodes[i]
        if i in behind or not any(source in behind for source in graph.inputs[i]):
            continue
        behind.add(i)
        shapes = [tensor(graph.nodes[n].type) for n in (i, complicated[0])]
        same = shapes[0] is not None and shapes[1] is not None and shapes[0].shape == shapes[1].shape
        if node.kind != "op" or _rank(node) > 1 or not same:
            return i
    return None


def _check_nodes(graph: Graph, nodes: Iterable[int]) -> list[int]:
    chosen = sorted(set(nodes))
    for i in chosen:
        if isinstance(i, bool) or not isinstance(i, int) or not 0 <= i < len(graph.nodes):
            raise IllegalEdit(f"the graph has no node {i!r}; its nodes are 0 to {len(graph.nodes) - 1}")
    return chosen


def _one_group(graph: Graph, nodes: list[int]) -> int | None:
    groups = {graph.nodes[i].group for i in nodes}
    for group in groups:
        fused = _fused_around(graph, group)
        if fused:
            raise IllegalEdit(
                f"the selection reaches into {fused}, which is fused already; take the graph from before FuseOps, or run DefuseOps"
            )
    if len(groups) > 1:
        names = sorted({"nothing" if g is None else graph.groups[g].name or graph.groups[g].kind for g in groups})
        raise IllegalEdit(
            f"the selection is in several functions or branches ({', '.join(names)}); select nodes of one"
        )
    return groups.pop()


def _fused_around(graph: Graph, group: int | None) -> str:
    for around in graph.ancestors(group):
        if around.kind in _FUSED:
            return f"the {around.kind} function {around.name or around.id}"
    return ""


def _completed(graph: Graph, inside: set[int], group: int | None) -> set[int]:
    """Return the chosen nodes with the tuples and fields between them, and their scalar constants."""
    # upwards: a field of a chosen operator, a tuple whose users are all chosen
    for node in reversed(graph.nodes):
        users = [user for user, _ in graph.consumers[node.id]]
        if not users or node.group != group or node.id in graph.outputs:
            continue
        if node.kind == "tuple" and all(user in inside for user in users):
            inside.add(node.id)
        if node.kind == "get_item" and any(user in inside for user in users):
            source = graph.inputs[node.id][0]
            if source in inside and all(user in inside for user in users):
                inside.add(node.id)
        if node.kind == "constant" and node.type in _SCALARS and any(user in inside for user in users):
            inside.add(node.id)
    return inside


def _check_convex(graph: Graph, inside: set[int]) -> None:
    """Raise if a path leaves the region and re-enters it."""
    last = max(inside)
    came_from: dict[int, int] = {}
    for id in range(min(inside), last + 1):
        if id in inside:
            back = next((source for source in graph.inputs[id] if source in came_from), None)
            if back is not None:
                outside = [back]
                while came_from[outside[-1]] not in inside:
                    outside.append(came_from[outside[-1]])
                start = came_from[outside[-1]]
                raise IllegalEdit(
                    f"the path from {describe(graph, start)} to {describe(graph, id)} leaves the selection through "
                    f"{_and(graph, outside[::-1])}; select what is between too, or leave one of the ends out"
                )
            continue
        source = next((s for s in graph.inputs[id] if s in inside or s in came_from), None)
        if source is not None and graph.nodes[id].kind != "constant":
            came_from[id] = source


def _outputs(graph: Graph, inside: set[int]) -> tuple[int, ...]:
    returned = {*graph.outputs, *(group.output for group in graph.groups)}
    return tuple(
        i
        for i in sorted(inside)
        if graph.nodes[i].kind != "constant"
        and (i in returned or any(user not in inside for user, _ in graph.consumers[i]))
    )


def _edges(graph: Graph, given: Edge | tuple[int, ...]) -> list[Edge]:
    key = (given.source, given.target, given.index) if isinstance(given, Edge) else tuple(given)
    if len(key) not in (2, 3) or not all(isinstance(part, int) for part in key):
        raise IllegalEdit(f"{given!r} is not an edge; give an Edge of w.graph.edges, or (source, target[, position])")
    found = [e for e in graph.edges if (e.source, e.target, e.index)[: len(key)] == key]
    if not found:
        raise IllegalEdit(f"the graph has no edge {' -> '.join(map(str, key[:2]))}; give one of w.graph.edges")
    return found


def _listed(names: Sequence[str]) -> str:
    return ", ".join([*names[:6], "..."] if len(names) > 6 else names)


def _and(graph: Graph, nodes: Iterable[int]) -> str:
    names = [describe(graph, i) for i in nodes]
    shown = names if len(names) <= 4 else [*names[:3], f"{len(names) - 3} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
