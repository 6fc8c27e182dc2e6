"""The kinds that AnnotateTIROpPattern finds in the PrimFuncs of Relax's operators: what FuseOps will see after LegalizeOps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workbench.graph.model import Edge, Graph

_KINDS = {
    0: (
        "abs acos asin atan ceil cos cosh erf exp floor log negative round rsqrt sigmoid sign sin sinh sqrt square tan tanh "
        "clip astype isnan isfinite isinf add subtract multiply divide maximum minimum power equal greater greater_equal "
        "less less_equal not_equal floor_divide mod floor_mod where tril triu nn.relu nn.gelu nn.gelu_tanh nn.silu "
        "nn.leakyrelu nn.softplus nn.selu"
    ),
    1: "expand_dims squeeze broadcast_to stack",
    2: "permute_dims reshape concat split flatten nn.pad tile repeat flip image.resize2d",
    3: "sum max min prod",
    4: (
        "mean std variance argmax argmin matmul nn.softmax nn.log_softmax nn.layer_norm nn.rms_norm nn.conv2d nn.max_pool2d "
        "nn.avg_pool2d nn.adaptive_avg_pool2d nn.batch_norm nn.group_norm nn.attention"
    ),
    8: "take",
}
KINDS = {f"relax.{op}": kind for kind, ops in _KINDS.items() for op in ops.split()}
"operator -> kind, as TVM 0.27 finds it; a test asks TVM"


def with_kinds(graph: Graph) -> Graph | None:
    """The graph as FuseOps will see it; None if an operator is not in the table.

    A tuple among the arguments of an operator is no argument of its PrimFunc: its fields are.
    """
    if any(node.kind == "op" and node.pattern is None and node.op not in KINDS for node in graph.nodes):
        return None
    nodes = (
        replace(node, pattern=KINDS[node.op]) if node.kind == "op" and node.pattern is None else node
        for node in graph.nodes
    )
    return replace(graph, nodes=tuple(nodes), edges=tuple(_flat(graph)))


def _flat(graph: Graph) -> Iterator[Edge]:
    """The edges, with those of tuples that only operators read replaced by their fields' own."""
    nodes = graph.nodes
    opened = {
        node.id
        for node in nodes
        if node.kind == "tuple"
        and not node.name
        and all(nodes[user].kind == "op" for user, _ in graph.consumers[node.id])
    } - {*graph.outputs, *(group.output for group in graph.groups)}
    for node in nodes:
        if node.id in opened:
            continue
        flat = [
            f for source in graph.inputs[node.id] for f in (graph.inputs[source] if source in opened else (source,))
        ]
        yield from (Edge(source, node.id, index, nodes[source].type) for index, source in enumerate(flat))
