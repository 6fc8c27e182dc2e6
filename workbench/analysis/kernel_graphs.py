"""The kernels of two builds of one model as two graphs, one node a kernel, with the difference that their alignment gives.

The difference uses the marks of a pass: `kept` are kernels that compute the same by the same operators, `changed` those that
compute the same by other operators, `split` and `merged` as the alignment has them. `removed` and `added` are kernels that
only one build has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from workbench.analysis import cost
from workbench.analysis.alignment import MANY, MERGED, ONE, SPLIT, Aligned, Alignment
from workbench.analysis.units import Side
from workbench.graph.changes import GraphDiff
from workbench.graph.model import Graph, GraphBuilder
from workbench.graph.scopes import common_path, modules

Ids = tuple[int, ...]


@dataclass(frozen=True)
class KernelGraphs:
    """Two graphs of kernels."""

    left: Graph
    right: Graph
    changes: GraphDiff
    nodes: tuple[Mapping[int, int], Mapping[int, int]]
    "for each graph: place of a kernel in `Side.kernels` -> its node"


def kernel_graphs(alignment: Alignment) -> KernelGraphs:
    """Return the graphs of two aligned builds. Inputs of the model are drawn where both builds have them by one name."""
    shared = _inputs(alignment.left.graph) & _inputs(alignment.right.graph)
    left, right = (_Drawing(side, shared) for side in (alignment.left, alignment.right))
    changes = _changes(alignment, left, right)
    return KernelGraphs(left.graph, right.graph, changes, (left.of, right.of))


def _inputs(graph: Graph) -> frozenset[str]:
    return frozenset(node.op for node in graph.nodes if node.kind == "param")


class _Drawing:
    """The graph of the kernels of one build."""

    def __init__(self, side: Side, shared: frozenset[str]) -> None:
        self.side = side
        self.builder = GraphBuilder(side.graph.name, side.graph.dialect)
        self.of: dict[int, int] = {}
        "place of a kernel -> its node"
        self.inputs: dict[str, int] = {}
        "name of an input -> its node"
        self.graph = self.drawn(shared)

    def ids(self, places: Ids) -> Ids:
        return tuple(self.of[place] for place in places)

    def drawn(self, shared: frozenset[str]) -> Graph:
        graph, kernels = self.side.graph, self.side.kernels
        kernel = {id: place for place, unit in enumerate(kernels) for id in unit.nodes}
        read: list[dict[int, None]] = [{} for _ in kernels]
        values: list[Ids] = []
        "for each node of the build the drawn nodes that its value comes from"
        for node, inputs in zip(graph.nodes, graph.inputs, strict=True):
            place = kernel.get(node.id)
            if node.kind == "param" and node.op in shared:
                self.inputs[node.op] = self.builder.node("param", node.op, type=node.type)
                values.append((self.inputs[node.op],))
            elif place is None:
                values.append(tuple(dict.fromkeys(value for id in inputs for value in values[id])))
            else:
                read[place].update(dict.fromkeys(value for id in inputs for value in values[id]))
                if node.id == kernels[place].output:
                    self.of[place] = self.kernel(place, tuple(read[place]))
                values.append((self.of[place],) if place in self.of else ())
        self.builder.outputs = list(dict.fromkeys(value for id in graph.outputs for value in values[id]))
        return self.builder.build()

    def kernel(self, place: int, inputs: Ids) -> int:
        graph, unit = self.side.graph, self.side.kernels[place]
        many = Counter(
            cost.canonical(graph.nodes[id].op) for id in unit.nodes if graph.nodes[id].kind in ("op", "call")
        )
        others = many.total() - 1
        names = sorted(self.side.computed[place] or self.side.sources[place])
        attrs: dict[str, object] = {"computes": ", ".join(names)}
        if others > 0:
            attrs["operators"] = ", ".join(op if number == 1 else f"{op} x {number}" for op, number in many.items())
        if (flops := self.side.flops[place]) is not None:
            attrs["operations"] = flops
        around = [modules(name)[:-1] for name in names]
        return self.builder.node(
            "call",
            f"{unit.op(graph)} + {others}" if others > 0 else unit.op(graph),
            inputs,
            name=unit.name(graph),
            type=graph.nodes[unit.output].type,
            attrs=attrs,
            source=tuple(names),
            scope="/".join(common_path(around)),
        )


def _changes(alignment: Alignment, left: _Drawing, right: _Drawing) -> GraphDiff:
    kept = [(id, right.inputs[name]) for name, id in left.inputs.items()]
    changed: list[tuple[int, int]] = []
    merged: list[tuple[Ids, int]] = []
    split: list[tuple[int, Ids]] = []
    for group in alignment.groups:
        ours, theirs = left.ids(group.left), right.ids(group.right)
        if group.kind == ONE:
            (kept if _same_form(alignment, group) else changed).append((ours[0], theirs[0]))
        elif group.kind == MERGED:
            merged.append((ours, theirs[0]))
        elif group.kind == SPLIT:
            split.append((ours[0], theirs))
        elif group.kind == MANY:
            # a diff has no entry for several on both sides: all but the last of the shorter side are pairs, in order
            most = min(len(ours), len(theirs)) - 1
            changed += zip(ours[:most], theirs[:most], strict=True)
            if len(ours) >= len(theirs):
                merged.append((ours[most:], theirs[most]))
            else:
                split.append((ours[most], theirs[most:]))
    paired = [
        *kept,
        *changed,
        *((b, a) for many, a in merged for b in many),
        *((b, a) for b, many in split for a in many),
    ]
    before, after = ({pair[at] for pair in paired} for at in (0, 1))
    return GraphDiff(
        kept=tuple(sorted(kept)),
        changed=tuple(sorted(changed)),
        removed=tuple(_others(left.graph, before)),
        added=tuple(_others(right.graph, after)),
        merged=tuple(merged),
        split=tuple(split),
    )


def _same_form(alignment: Alignment, group: Aligned) -> bool:
    (ours,), (theirs,) = group.left, group.right
    return alignment.left.form(ours) == alignment.right.form(theirs)


def _others(graph: Graph, paired: set[int]) -> Iterator[int]:
    return (node.id for node in graph.nodes if node.id not in paired)
