"""The operators that are left of a graph once the branches of each group are one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from workbench.analysis.branches import BranchGroup
from workbench.graph.model import Graph
from workbench.graph.nodes import reached

NO_NAMES: Mapping[str, str] = {}


def operators_left(
    graph: Graph, groups: Sequence[BranchGroup], glue: Sequence[str], combined: Mapping[str, str] = NO_NAMES
) -> Counter[str]:
    """Count the operators, without `glue`, which joins and splits branches; `combined` has other names of combined ones."""
    group_of = {branch[-1]: group for group in groups for branch in group.branches}

    def value(node: int) -> int:
        return group_of[node].branches[0][-1] if node in group_of else node

    def inputs(node: int) -> Iterator[int]:
        for branch in group_of[node].branches if node in group_of else ((node,),):
            for before, inside in zip((None, *branch), branch, strict=False):
                yield from (value(source) for source in graph.inputs[inside] if source != before)

    # a node that was unused before is an effect, or dead code, which most passes leave
    kept = {*graph.outputs, *(group.output for group in graph.groups if group.output is not None)}
    kept |= {node.id for node in graph.nodes if not graph.consumers[node.id]}
    found: Counter[str] = Counter()
    for node in reached(map(value, kept), inputs):
        nodes = group_of[node].branches[0] if node in group_of else (node,)
        ops = [graph.nodes[n].op for n in nodes if graph.nodes[n].kind == "op"]
        found.update(combined.get(op, op) if node in group_of else op for op in ops if op not in glue)
    return found
