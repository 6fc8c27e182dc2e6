"""The size of a program, by which two that show a symptom are compared."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from workbench.analysis.tensors import tensor, tensors
from workbench.dialects import arrays
from workbench.dialects.base import Workload
from workbench.dialects.nesting import drive
from workbench.graph.model import Graph, Node

FILLED = 1
"the value of each element of a simple constant"
SIMPLER = {"float64": "float32", "float16": "float32", "int64": "int32"}
"data type -> the one that is simpler, because each target and operator has it"


@dataclass(frozen=True, order=True)
class Size:
    """The size of a program. One with fewer operators is smaller; if they are equal, one with fewer elements; and so on."""

    operators: int
    "those of a function count at each call"
    functions: int
    "functions that are called, each drawn where it is called or once"
    elements: int
    "of the inputs, the constants and the results of operators; an unknown dimension counts 1"
    values: int
    "elements of the constants and the parameters that have values of their own"
    types: int
    "inputs, constants and results of a type for which there is a simpler one"
    text: int
    "characters of the program as TVM prints it"


def size_of(workload: Workload) -> Size:
    """Return the size of a program."""
    graph = workload.graph
    given = {name for name, array in workload.params.items() if not is_filled_array(array)}
    elements = values = types = 0
    for node in graph.nodes:
        kinds = tensors(node.type)
        types += any(each.dtype in SIMPLER for each in kinds)
        count = sum(prod(d for d in each.shape if isinstance(d, int)) for each in kinds) or 1
        elements += 0 if node.kind in ("tuple", "get_item") else count
        own = node.op in given if node.kind == "param" else node.kind == "constant" and not is_filled(node)
        values += count if own else 0
    functions = sum(group.kind in _FUNCTIONS for group in graph.groups) - 1
    return Size(count_operators(graph), max(0, functions), elements, values, types, len(workload.text()))


_FUNCTIONS = ("function", "primitive", "composite", "external")


def count_operators(graph: Graph) -> int:
    """Return the number of operators those of a function at each of its calls; a call within itself counts once."""
    if not any(node.kind == "call" for node in graph.nodes):
        return len(graph.ops)
    own: Counter[int] = Counter()
    calls: dict[int, list[int]] = {}
    # the entry is the first
    functions = {f"@{group.name}": group.id for group in graph.groups if group.parent is None}
    for node in graph.nodes:
        home = next((group.id for group in graph.ancestors(node.group) if group.parent is None), 0)
        own[home] += node.kind == "op"
        if node.kind == "call" and node.op in functions:
            calls.setdefault(home, []).append(functions[node.op])
    total: dict[int, int] = {}

    def count(group: int) -> Iterator[Any]:
        if group not in total:
            total[group] = own[group]
            for each in calls.get(group, ()):
                total[group] += yield count(each)
        return total[group]

    return drive(count(next(iter(functions.values()))))


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
