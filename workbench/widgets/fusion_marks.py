"""What is shaded and marked on the graph: a region, a decision of the algorithm, parallel branches, chains.

`wash` nodes stand on a wash, `entry` and `exit` between braces; `signs` are (node, sign, colour, dotted).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.analysis.branches import BranchGroup
from workbench.analysis.chains import ConstantChain
from workbench.analysis.fusion.decision import Decision
from workbench.analysis.regions import Region
from workbench.widgets.fusion_bench import Fused
from workbench.widgets.fusion_lists import marks

MOST = 2000
"signs at once"


def region(found: Region) -> dict[str, Any]:
    """The wash of a region."""
    return {"wash": list(found.nodes), "entry": found.entry, "exit": found.exit}


def decision(fused: Fused, frame: Decision) -> dict[str, Any]:
    """A decision: where it looks, and what has been merged by then."""
    place = next(i for i, d in enumerate(fused.report.decisions) if d is frame)
    roots = fused.report.roots_after(place + 1)
    held: dict[int, int] = {}
    for root in roots:
        held[root] = held.get(root, 0) + 1
    path = [n for n, _ in frame.path]
    sign = ["+", "added"] if frame.fused else ["!", "removed"]
    return {
        "wash": path,
        "entry": frame.node,
        "exit": -1 if frame.dominator is None else frame.dominator,
        "signs": [[frame.node, *sign, False]],
        "done": [n for n, root in enumerate(roots) if held[root] > 1],
    }


def branches(groups: Sequence[BranchGroup]) -> dict[str, Any]:
    """The same letter on each branch of a group; the first group that has a node marks it."""
    signs: dict[int, list[Any]] = {}
    for group, sign in zip(groups, marks(groups), strict=True):
        look = "removed" if group.kind == "hazard" else "orange"
        for node in (n for branch in group.branches for n in branch):
            signs.setdefault(node, [node, sign, look, group.kind == "near"])
    return {"signs": list(signs.values())[:MOST]}


def chains(found: Sequence[ConstantChain]) -> dict[str, Any]:
    """The operators of chains that fold, and dotted those of chains that do not."""
    signs: dict[int, list[Any]] = {}
    for chain in found:
        sign, look = (
            ("c", "orange") if chain.folds and chain.safe else ("!", "removed") if chain.folds else ("?", "orange")
        )
        for node in chain.nodes:
            signs.setdefault(node, [node, sign, look, not chain.folds])
    return {"signs": list(signs.values())[:MOST]}
