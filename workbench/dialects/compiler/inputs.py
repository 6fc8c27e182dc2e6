"""Random inputs that are the same for two builds of one workload, for any dialect and order of parameters."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from workbench.analysis.tensors import tensor
from workbench.graph.model import Graph

if TYPE_CHECKING:
    from workbench.dialects.base import Workload

INDEXING = {
    *("take", "gather", "gather_nd", "gather_elements", "adv_index", "index_tensor"),
    *("index_put", "scatter", "scatter_elements", "scatter_nd", "nn.nll_loss"),
}
"operators that read or write their first argument at the indices in the second"


def random_values(name: str, shape: Sequence[int], dtype: str, seed: int, below: int | None = None) -> np.ndarray:
    """Return values for an input: floats in [-3, 3), integers in [-4, 4] (unsigned ones from 0), truth values.

    They are negative and fractional to expose a cast that drops a sign or a rounding.

    Parameters
    ----------
    below
        For an input of indices, the size of the indexed dimension: a larger index reads memory outside the program's.
    """
    random = np.random.default_rng([seed, _key(name)])
    if dtype.startswith("bool"):
        return random.integers(0, 2, shape).astype("bool")
    if dtype.startswith(("int", "uint")) and below is not None:
        return random.integers(0, max(1, min(5, below)), shape).astype(dtype)
    if dtype.startswith("uint"):
        return random.integers(0, 5, shape).astype(dtype)
    if dtype.startswith("int"):
        return random.integers(-4, 5, shape).astype(dtype)
    return random.uniform(-3, 3, shape).astype(dtype)


def plain_name(name: str) -> str:
    """Return the name that TVM's ONNX importer of Relax gives an input; Relay's keeps the model's own.

    >>> plain_name("input.1"), plain_name("1")
    ('input_1', 'input_1')
    """
    plain = name.replace(".", "_")
    return plain if plain[:1].isalpha() or plain[:1] == "_" else f"input_{plain}"


def _key(name: str) -> int:
    """Return a number for the input's name that is the same in both dialects."""
    return zlib.crc32(plain_name(name).encode())


def random_code(name: str, shape: Sequence[int], dtype: str, seed: int, below: int | None = None) -> str:
    """Return a Python expression, with numpy as `np`, of the array that `random_values` returns.

    >>> values = random_values("x", (2, 2), "int8", 7)
    >>> bool((eval(random_code("x", (2, 2), "int8", 7)) == values).all())
    True
    """
    random = f"np.random.default_rng([{seed}, {_key(name)}])"
    sizes = tuple(shape)
    if dtype.startswith("bool"):
        return f"{random}.integers(0, 2, {sizes}).astype('bool')"
    if dtype.startswith(("int", "uint")):
        low, high = (0, 5) if dtype.startswith("uint") else (-4, 5)
        if below is not None:
            low, high = 0, max(1, min(5, below))
        return f"{random}.integers({low}, {high}, {sizes}).astype({dtype!r})"
    return f"{random}.uniform(-3, 3, {sizes}).astype({dtype!r})"


def limit_of(workload: Workload, name: str, dtype: str) -> int | None:
    """Return the size of the dimension that an input indexes, or None; only integers are looked up."""
    return workload.limits.get(name) if "int" in dtype else None


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
        fresh = set(graph.inputs[node.id]) - seen
        seen |= fresh
        waiting.extend(fresh)
