"""Lowering in a difference: an operator of Relax that became a call of its own function, and the runtime's calls around kernels.

It says how a node is written, not what the program computes, so the page shows it only on request. Relay lowers nothing in its graph.
"""

from __future__ import annotations

from workbench.graph.changes import MARKS, GraphDiff
from workbench.graph.model import Graph

RUNTIME = ("relax.vm.", "relax.memory.", "relax.builtin.", "vm.builtin.")
"beginnings of the names of calls of the runtime; js/graph/basis.ts leaves them out of a picture"


def lowered(changes: GraphDiff, before: Graph, after: Graph) -> tuple[set[int], set[int]]:
    """Return the nodes before and after whose change is lowering, with the shapes and constants that only such nodes read."""
    pairs = [(b, a) for b, a in changes.changed if _is_lowered(before, after, b, a)]
    return (
        _with_arguments(before, {b for b, _ in pairs}, changes.removed),
        _with_arguments(after, {a for _, a in pairs}, changes.added),
    )


def quiet_counts(changes: GraphDiff, before: Graph, after: Graph) -> dict[str, int]:
    """Return the number of entries of each mark without lowering, and of the operators that were lowered."""
    old, new = lowered(changes, before, after)
    counts: dict[str, int] = {mark: len(getattr(changes, mark)) for mark in MARKS}
    counts["lowered"] = sum(b in old for b, _ in changes.changed)
    counts["changed"] -= counts["lowered"]
    counts["removed"] -= len(old.intersection(changes.removed))
    counts["added"] -= len(new.intersection(changes.added))
    return counts


def _is_lowered(before: Graph, after: Graph, b: int, a: int) -> bool:
    old, new = before.nodes[b], after.nodes[a]
    if old.kind != "op" or new.kind != "op":
        return False
    if new.op.startswith(RUNTIME):
        return True
    if new.op == old.op:
        # a kernel that now writes into storage that the runtime gives it
        return any(after.nodes[i].op.startswith(RUNTIME) for i in after.inputs[a])
    return old.op.startswith("relax.") and not new.op.startswith("relax.") and old.type == new.type


def _with_arguments(graph: Graph, known: set[int], others: tuple[int, ...]) -> set[int]:
    """Add what the runtime does among other nodes, and what only lowered nodes read; consumers come after their producers."""
    found = set(known)
    for node in sorted(others, reverse=True):
        readers = {reader for reader, _ in graph.consumers[node]}
        argument = graph.nodes[node].kind in ("shape", "tuple", "constant") and readers and readers <= found
        if argument or graph.nodes[node].op.startswith(RUNTIME):
            found.add(node)
    return found
