"""Relay's operators that only move the elements of a tensor, repeated on a value."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from workbench.analysis.tensors import tensor
from workbench.debugging.kernel_errors.layouts import relaid
from workbench.graph.model import Graph, Node

_NUMBER = re.compile(r"-?\d+(\.\d*)?(e[-+]?\d+)?")


def number(node: Node) -> float | None:
    """Return the value of a scalar constant; None for another node."""
    found = _NUMBER.match(node.op) if node.kind == "constant" else None
    return None if found is None else float(found.group())


def moves(graph: Graph, node: int) -> bool:
    """Return whether `moved` can repeat the operator of a node."""
    return graph.dialect == "relay" and graph.nodes[node].kind == "op" and graph.nodes[node].op in _MOVES


def moved(graph: Graph, node: int, value: np.ndarray) -> np.ndarray | None:
    """Return the result of a node's operator on a value; None where its attributes are not plain."""
    return _MOVES[graph.nodes[node].op](graph, graph.nodes[node], value)


def _reshape(_graph: Graph, node: Node, value: np.ndarray) -> np.ndarray | None:
    type = tensor(node.type)
    shape = [extent for extent in type.shape if isinstance(extent, int)] if type is not None and type.known else None
    return value.reshape(shape) if shape is not None and np.prod(shape) == value.size else None


def _layout(_graph: Graph, node: Node, value: np.ndarray) -> np.ndarray | None:
    return relaid(value, str(node.attrs.get("src_layout", "")), str(node.attrs.get("dst_layout", "")))


def _transpose(_graph: Graph, node: Node, value: np.ndarray) -> np.ndarray:
    return value.transpose(node.attrs.get("axes"))


def _pad(graph: Graph, node: Node, value: np.ndarray) -> np.ndarray | None:
    _, filler = graph.inputs[node.id]
    filled = number(graph.nodes[filler])
    width = node.attrs.get("pad_width")
    if filled is None or width is None or node.attrs.get("pad_mode", "constant") != "constant":
        return None
    return np.pad(value, [tuple(pair) for pair in width], constant_values=value.dtype.type(filled))


_MOVES: dict[str, Callable[[Graph, Node, np.ndarray], np.ndarray | None]] = {
    **dict.fromkeys(("reshape", "squeeze", "expand_dims", "nn.batch_flatten"), _reshape),
    "layout_transform": _layout,
    "transpose": _transpose,
    "nn.pad": _pad,
}
