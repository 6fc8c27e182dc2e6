"""Scales and zero points of the quantised values of a graph, where they are scalar constants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.analysis.tensors import tensor
from workbench.debugging.kernel_errors.moves import number
from workbench.graph.model import Graph, Node

_UNARY = (
    "abs cos erf exp hardswish leaky_relu log rsqrt sigmoid sin softmax sqrt tanh avg_pool2d requantize concatenate"
)
_ARGUMENTS = {
    "qnn.quantize": (1, 2),
    "relax.quantize": (1, 2),
    **dict.fromkeys((f"qnn.{op}" for op in _UNARY.split()), (3, 4)),
    **dict.fromkeys(("qnn.add", "qnn.mul", "qnn.subtract"), (6, 7)),
}
"operator -> the arguments with the scale and the zero point of its result"
_PRODUCTS = {"qnn.conv2d": (4, 5), "qnn.dense": (4, 5), "qnn.batch_matmul": (4, 5)}
"operators whose result has the product of two scales, and no zero point"
_KEEPS = {"reshape", "transpose", "squeeze", "strided_slice", "clip", "nn.relu", "nn.max_pool2d", "nn.batch_flatten"}
"operators on integers whose result has the scale of their first argument"


@dataclass(frozen=True)
class Scale:
    """The real numbers that integers represent: `(value - zero_point) * scale`."""

    scale: float
    zero_point: int

    def real(self, values: np.ndarray) -> np.ndarray:
        """Return the real numbers."""
        return (values.astype("float64") - self.zero_point) * self.scale


def scales(graph: Graph) -> dict[int, Scale]:
    """Return the scales of the quantised values of a graph, by node."""
    found: dict[int, Scale] = {}
    for node in graph.nodes:
        scale = _of_operator(graph, node)
        if scale is None and node.op.removeprefix("relax.") in _KEEPS and _is_integer(node):
            scale = found.get(graph.inputs[node.id][0])
        if scale is not None:
            found[node.id] = scale
    return found


def _of_operator(graph: Graph, node: Node) -> Scale | None:
    inputs = graph.inputs[node.id]

    def at(place: int) -> float | None:
        return number(graph.nodes[inputs[place]]) if place < len(inputs) else None

    if node.op in _ARGUMENTS:
        scale, zero = (at(place) for place in _ARGUMENTS[node.op])
        return None if scale is None or zero is None else Scale(scale, int(zero))
    if node.op in _PRODUCTS:
        first, second = (at(place) for place in _PRODUCTS[node.op])
        return None if first is None or second is None else Scale(first * second, 0)
    return None


def _is_integer(node: Node) -> bool:
    kind = tensor(node.type)
    return kind is not None and "int" in kind.dtype
