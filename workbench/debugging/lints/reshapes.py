"""The lint of reshapes that copy: a kernel of its own where TVM could pass the same memory on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from workbench.analysis.tensors import size_of
from workbench.debugging.lints.rules import Finding
from workbench.graph.model import Graph, Node
from workbench.measurement.memory.plan import MemoryPlan
from workbench.pipeline.trace import Trace

COPIED = "reshape-copies"
_RESHAPES = ("reshape", "expand_dims", "squeeze", "flatten")
_PASSED_ON = {"relax": "ConvertToDataflow,RemoveRedundantReshape"}
"""dialect -> passes after which a reshape is not a kernel. Relax makes calls without code of reshapes in dataflow blocks, but not of a block's
outputs and of two that are fused. Relay's graph executor runs no code for any reshape."""


def may_copy(made: Trace) -> bool:
    """Return whether a build may have a kernel that only reshapes."""
    # a fused kernel has the names of its operators
    names = " ".join(node.op for node in made.end.graph.ops)
    return made.dialect in _PASSED_ON and any(name in names for name in _RESHAPES)


def copying_reshapes(plan: MemoryPlan, dialect: str) -> Iterator[Finding]:
    """Yield the kernels of a build that only reshape, in the order of the run."""
    for nodes in _copies(plan):
        names = " -> ".join(plan.graph.nodes[node].op for node in nodes)
        said = f"{names} (node {nodes[-1]}) is a kernel that copies its input; {_PASSED_ON[dialect]} lets TVM pass the memory on"
        size = size_of(plan.graph.nodes[nodes[-1]].type)
        yield Finding(COPIED, said, _PASSED_ON[dialect], False, plan.graph, nodes, size)


def fixed_reshapes(found: list[Finding], after: MemoryPlan) -> Iterator[Finding]:
    """Yield the findings that a build with the fix does not have: the result of a program keeps its copy."""
    left = Counter(_key(after.graph, nodes) for nodes in _copies(after))
    for each in reversed(found):
        key = _key(each.graph, each.nodes)
        if left[key]:
            left[key] -= 1
        else:
            yield each


def _copies(plan: MemoryPlan) -> list[tuple[int, ...]]:
    """Return the nodes of each kernel that only reshapes; a step without code has a workspace of 0 bytes."""
    kernels = (step.nodes for step in plan.steps if step.workspace_bytes != 0)
    return [nodes for nodes in kernels if nodes and all(_is_reshape(plan.graph.nodes[node]) for node in nodes)]


def _key(graph: Graph, nodes: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(f"{_kind(graph.nodes[node])} {graph.nodes[node].type}" for node in nodes)


def _is_reshape(node: Node) -> bool:
    return _kind(node) in _RESHAPES


def _kind(node: Node) -> str:
    """Return the operator's name without the number that LegalizeOps gives the second function of a name."""
    return node.op.rpartition(".")[2].rstrip("0123456789")
