"""The inputs of a program that hold indices, and the sizes of the dimensions that they index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workbench.analysis.tensors import tensor
from workbench.graph.model import Graph, Node

INDEXING = {
    *("take", "gather", "gather_nd", "gather_elements", "adv_index", "index_tensor"),
    *("index_put", "scatter", "scatter_elements", "scatter_nd", "nn.nll_loss"),
}
"operators that read or write their first argument at the indices in the second"


def indexes(kernel: str) -> bool:
    """Return whether a kernel, by its name, has an operator that indexes a tensor.

    >>> indexes("tvmgen_default_fused_gather_nd_add"), indexes("nn_dense")
    (True, False)
    """
    return any(name.rpartition(".")[2] in kernel for name in (*INDEXING, "strided_slice"))


def index_limits(graph: Graph) -> dict[str, int]:
    """Return the inputs whose values become indices, each with the size of the smallest dimension that it indexes.

    Examples
    --------
    >>> from workbench.graph.model import GraphBuilder
    >>> b = GraphBuilder("embedding", "relay")
    >>> table = b.node("param", "table", type="Tensor[(100, 8), float32]")
    >>> ids = b.node("param", "ids", type="Tensor[(4), int64]")
    >>> node = b.node("op", "take", (table, ids), attrs={"axis": 0})
    >>> index_limits(b.build())
    {'ids': 100}
    """
    found: dict[str, int] = {}
    for node in graph.ops:
        inputs = graph.inputs[node.id]
        if node.op.removeprefix("relax.") not in INDEXING or not inputs:
            continue
        # adv_index takes one tuple of the data and the indices
        (data, *indices) = graph.inputs[inputs[0]] if graph.nodes[inputs[0]].kind == "tuple" else inputs[:2]
        size = _indexed_size(graph.nodes[data].type, node.attrs.get("axis"))
        for name in _integer_inputs(graph, indices):
            found[name] = min(size, found.get(name, size))
    return found


def _indexed_size(type: str, axis: object) -> int:
    kind = tensor(type)
    shape = kind.shape if kind is not None else ()
    if isinstance(axis, int) and -len(shape) <= axis < len(shape):
        shape = (shape[axis],)
    return min((size for size in shape if isinstance(size, int)), default=1)


def _field(graph: Graph, node: Node) -> Iterator[str]:
    """Yield the name of the input's field that a node is, `t.0`; nothing if it is a field of another value."""
    path = ""
    while node.kind == "get_item":
        path = f"{node.op}{path}"
        node = graph.nodes[graph.inputs[node.id][0]]
    if node.kind == "param":
        yield f"{node.op}{path}"


def _integer_inputs(graph: Graph, nodes: Sequence[int]) -> Iterator[str]:
    """Yield the names of the parameters that the nodes are computed from through integers alone."""
    waiting, seen = list(nodes), set(nodes)
    while waiting:
        node = graph.nodes[waiting.pop()]
        kind = tensor(node.type)
        if node.kind not in ("tuple", "get_item") and (kind is None or "int" not in kind.dtype):
            continue
        if node.kind == "param":
            yield node.op
        if node.kind == "get_item":
            yield from _field(graph, node)
        fresh = set(graph.inputs[node.id]) - seen
        seen |= fresh
        waiting.extend(fresh)
