"""Identity of nodes: labels for a node by itself, value numbers for the value it computes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

from workbench.graph.model import Graph, Node

Label = tuple[Hashable, ...]


def label(node: Node) -> Label:
    """Return a node's identity without inputs: kind, operator or name, attributes, type; a constant's values."""
    if node.kind == "constant":
        return (node.kind, node.attrs.get("digest", node.op), node.type)
    return (node.kind, node.op, frozen(node.attrs), node.type)


def labels(before: Graph, after: Graph) -> tuple[list[Label], list[Label]]:
    """Return the labels of the nodes of both graphs; parameters that share a name also have an index.

    Where the graphs differ in the number of parameters of one name, the indexes are meaningless and are left out.
    """
    placed = _placed(before), _placed(after)
    first, second = (Counter(node for node in side if node[0][0] == "param") for side in placed)
    uneven = {label for label, _ in (first - second) + (second - first)}
    ours, theirs = ([(*label, n) if n and label not in uneven else label for label, n in side] for side in placed)
    return ours, theirs


def _placed(graph: Graph) -> list[tuple[Label, int]]:
    """Return each node's label, and the number of parameters with that label before it in the functions around it; once a graph."""
    if _placed in graph.memory:
        return graph.memory[_placed]
    seen: Counter[tuple[Label, int | None]] = Counter()
    found: list[tuple[Label, int]] = []
    for node in graph.nodes:
        name, place = label(node), 0
        if node.kind == "param":
            place = sum(seen[name, group.id] for group in graph.ancestors(node.group)) + seen[name, None]
            seen[name, node.group] += 1
        found.append((name, place))
    graph.memory[_placed] = found
    return found


def frozen(value: object) -> Hashable:
    """Return attributes as a hashable value; 1 and True, 1 and 1.0 stay distinct, as in TVM."""
    if isinstance(value, Mapping):
        return tuple(sorted((key, frozen(item)) for key, item in value.items()))
    if isinstance(value, (list, tuple)):
        return tuple(frozen(item) for item in value)
    return (type(value).__name__, value)


class ValueNumbers:
    """Hash-consing over several graphs: equal numbers mean equal programs from the inputs up to that node.

    Alpern, Wegman, Zadeck: Detecting equality of variables in programs, POPL 1988 (the acyclic case).
    """

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def of(self, graph: Graph, labels: Sequence[Label]) -> list[int]:
        """Return the value number of each node, in node order."""
        numbers: list[int] = []
        for node, inputs in zip(graph.nodes, graph.inputs, strict=True):
            key = (labels[node.id], tuple(numbers[i] for i in inputs))
            numbers.append(self._numbers.setdefault(key, len(self._numbers)))
        return numbers


def contexts(graph: Graph, numbers: Sequence[int]) -> list[Hashable]:
    """Return the uses of each node: its consumers' value numbers and argument positions; a result counts as used."""
    returned = set(graph.outputs)
    return [
        (node.id in returned, tuple(sorted((numbers[consumer], index) for consumer, index in graph.consumers[node.id])))
        for node in graph.nodes
    ]
