"""The calls of a Relax build, counted: what the virtual machine does, one row a call."""

from __future__ import annotations

import re
from math import prod
from typing import Any

import tvm

from workbench.graph.model import Graph

# Calls that give a value another shape: the VM passes the same memory on.
_NOOPS = ("relax.reshape",)
_TENSOR = re.compile(r'R\.Tensor\(\(([^()]*)\), dtype="(\w+)"')


def call_rows(graph: Graph) -> list[dict[str, Any]]:
    """One row a call in the graph of a module that is ready for code generation, in order.

    A reshape that the VM does by passing the same memory on is a row with `noop` true. Both arms of an `if` are rows. A
    tensor whose shape is symbolic counts no bytes: how many there are is known only when it runs.
    """
    rows = []
    for node in graph.nodes:
        noop = node.op in _NOOPS
        if node.kind != "op" or (node.op.startswith("relax.") and not noop):
            continue
        inputs = [text for source in graph.inputs[node.id] for text in tensors(graph.nodes[source].type)]
        outputs = tensors(node.type)
        rows.append(
            {
                "name": node.name,
                "function": "__nop" if noop else node.op,
                "noop": noop,
                "bytes_read": sum(map(size_of, inputs)),
                "bytes_written": sum(map(size_of, outputs)),
                "inputs": inputs,
                "outputs": outputs,
            }
        )
    return rows


def tensors(type: str) -> list[str]:
    """The tensors of a type, a tuple's one by one, each as `(1, 64) float32`.

    >>> tensors('R.Tuple(R.Tensor((1, 64), dtype="float32"), R.Tensor((8,), dtype="int8"))')
    ['(1, 64) float32', '(8,) int8']
    """
    return [f"({shape}) {dtype}" for shape, dtype in _TENSOR.findall(type)]


def size_of(tensor: str) -> int:
    """Bytes of a tensor written as `tensors` writes it, 0 where a dimension is symbolic.

    >>> size_of("(1, 64) float32"), size_of("(n, 64) float32")
    (256, 0)
    """
    shape, _, dtype = tensor.rpartition(" ")
    dimensions = [part.strip() for part in shape.strip("()").split(",") if part.strip()]
    if not all(dimension.isdigit() for dimension in dimensions):
        return 0
    return prod(map(int, dimensions)) * -(-tvm.DataType(dtype).bits // 8)
