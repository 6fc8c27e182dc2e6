"""Laws of the diff of any two graphs, counted apart from the diff's own value numbers."""

from __future__ import annotations

from collections import Counter

from workbench.graph.changes import GraphDiff
from workbench.graph.model import Graph, Node


def what(node: Node) -> tuple[object, ...]:
    """A node by itself; a tensor constant by its values."""
    own = (node.attrs["digest"],) if "digest" in node.attrs else (node.op, repr(sorted(node.attrs.items())))
    return (node.kind, node.type, *own)


def terms(known: dict[object, int], graph: Graph) -> list[int]:
    """A number for what each node computes."""
    found: list[int] = []
    for node, inputs in zip(graph.nodes, graph.inputs, strict=True):
        found.append(known.setdefault((*what(node), *(found[i] for i in inputs)), len(known)))
    return found


def check(before: Graph, after: Graph, d: GraphDiff, *, composed: bool = False) -> None:
    """Each node is in one class, and is what the class says; a value in both graphs is never removed and added.

    In a composed diff, what a step merged or split may have changed in another.
    """
    known: dict[object, int] = {}
    was, now = terms(known, before), terms(known, after)

    def equal(b: int, a: int) -> bool:
        """The same operator, attributes, type, and inputs that are each other's image, or one value."""
        inputs = before.inputs[b], after.inputs[a]
        return (
            what(before.nodes[b]) == what(after.nodes[a])
            and len(inputs[0]) == len(inputs[1])
            and all(j in d.mapping.get(i, ()) or was[i] == now[j] for i, j in zip(*inputs, strict=True))
        )

    both = [*d.kept, *d.changed]
    ours = [*(b for b, _ in both), *d.removed, *(b for many, _ in d.merged for b in many), *(b for b, _ in d.split)]
    theirs = [*(a for _, a in both), *d.added, *(a for _, a in d.merged), *(a for _, many in d.split for a in many)]
    assert Counter(ours) == Counter(range(len(before.nodes)))
    assert Counter(theirs) == Counter(range(len(after.nodes)))
    assert all(equal(b, a) for b, a in d.kept)
    assert not any(equal(b, a) for b, a in d.changed)
    assert all(len(many) >= 2 for many in (*(many for many, _ in d.merged), *(many for _, many in d.split)))
    assert composed or all(equal(b, a) for many, a in d.merged for b in many)
    assert composed or all(equal(b, a) for b, many in d.split for a in many)
    gone = {was[b] for b in d.removed if before.nodes[b].kind != "constant"}
    assert not gone & {now[a] for a in d.added}
