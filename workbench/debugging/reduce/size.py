"""The size of a program, by which two that show a symptom are compared."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from workbench.analysis.tensors import tensor, tensors
from workbench.dialects import arrays
from workbench.dialects.base import Workload
from workbench.graph.model import Graph, Node

FILLED = 1
"the value of each element of a simple constant"


@dataclass(frozen=True, order=True)
class Size:
    """The size of a program. One with fewer operators is smaller; if they are equal, one with fewer elements; and so on."""

    operators: int
    elements: int
    "of the inputs, the constants and the results of operators; an unknown dimension counts 1"
    values: int
    "elements of the constants and the parameters that have values of their own"
    text: int
    "characters of the program as TVM prints it"


def size_of(workload: Workload) -> Size:
    """Return the size of a program."""
    graph = workload.graph
    given = {name for name, array in workload.params.items() if not is_filled_array(array)}
    elements = values = 0
    for node in graph.nodes:
        count = sum(prod(d for d in each.shape if isinstance(d, int)) for each in tensors(node.type)) or 1
        elements += 0 if node.kind in ("tuple", "get_item") else count
        own = node.op in given if node.kind == "param" else node.kind == "constant" and not is_filled(node)
        values += count if own else 0
    return Size(len(graph.ops), elements, values, len(workload.text()))


def has_empty(graph: Graph) -> bool:
    """Return whether a tensor has a dimension of size 0 or less."""
    shapes = (each.shape for node in graph.nodes for each in tensors(node.type))
    return any(d == 0 or str(d).startswith("-") for shape in shapes for d in shape)


def is_filled(constant: Node) -> bool:
    """Return whether a constant is a number, or a tensor of which each element is FILLED."""
    kind, digest = tensor(constant.type), constant.attrs.get("digest")
    if not digest or kind is None:
        return True
    plain = filled([d for d in kind.shape if isinstance(d, int)], kind.dtype)
    return plain is not None and f"{zlib.crc32(plain.tobytes()):08x}" == digest


def is_filled_array(array: Any) -> bool:
    """Return whether each element of a parameter is FILLED."""
    plain = filled(tuple(array.shape), str(array.dtype))
    return plain is not None and plain.tobytes() == arrays.bytes_of(array).tobytes()


def filled(shape: Sequence[int], dtype: str) -> np.ndarray | None:
    """Return an array of which each element is FILLED; None for a type that numpy lacks."""
    try:
        return np.full(shape, FILLED, dtype)
    except TypeError:
        return None
