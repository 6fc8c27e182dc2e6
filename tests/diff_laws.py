"""Laws of the diff of any pass, counted apart from the diff's own value numbers."""

from __future__ import annotations

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


def check(before: Graph, after: Graph, d: GraphDiff) -> None:
    """Kept, merged and split nodes are equal, changed ones differ; a value in both is never removed and added."""
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

    assert all(equal(b, a) for b, a in d.kept)
    assert not any(equal(b, a) for b, a in d.changed)
    assert all(equal(b, a) for many, a in d.merged for b in many)
    assert all(equal(b, a) for b, many in d.split for a in many)
    gone = {was[b] for b in d.removed if before.nodes[b].kind != "constant"}
    assert not gone & {now[a] for a in d.added}
