"""The form of a tensor's values: layouts, moved elements, scales of quantised numbers; each read from a graph and repeated on a value."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.analysis.tensors import tensor
from workbench.graph.model import Graph, Node

_AXIS = re.compile(r"(?<!\d)(\d*)([A-Za-z])")
_DEFAULT = re.compile(r"nn\.(conv2d|(avg|max|global_avg|global_max|adaptive_avg|adaptive_max)_pool2d)|image\.resize2d")
"operators of images whose layout is NCHW if their attributes do not give one"
_KEEP_LAYOUT = (0, 1)
"pattern kinds of operators whose result has the layout of an input of its shape"


def layouts(graph: Graph) -> dict[int, str]:
    """Return the layouts of the nodes for which an operator at or before them names one.

    >>> from workbench.graph.model import GraphBuilder
    >>> b = GraphBuilder("one", "relay")
    >>> x = b.node("param", "x", type="Tensor[(1, 16, 4, 4), float32]")
    >>> packed = {"src_layout": "NCHW", "dst_layout": "NCHW8c"}
    >>> y = b.node("op", "layout_transform", (x,), attrs=packed, type="Tensor[(1, 2, 4, 4, 8), float32]")
    >>> z = b.node("op", "nn.relu", (y,), pattern=0, type="Tensor[(1, 2, 4, 4, 8), float32]")
    >>> layouts(b.build())
    {1: 'NCHW8c', 2: 'NCHW8c'}
    """
    found: dict[int, str] = {}
    for node in graph.nodes:
        named = _named(node) if node.kind == "op" else ""
        if not named and node.pattern in _KEEP_LAYOUT:
            alike = (i for i in graph.inputs[node.id] if i in found and graph.nodes[i].type == node.type)
            named = found.get(next(alike, -1), "")
        if named:
            found[node.id] = named
    return found


def _named(node: Node) -> str:
    op = node.op.removeprefix("relax.")
    if op == "layout_transform":
        return str(node.attrs.get("dst_layout", ""))
    keys = ("out_layout", "data_layout", "layout")
    given = next((str(node.attrs[key]) for key in keys if node.attrs.get(key)), "")
    return given or ("NCHW" if _DEFAULT.fullmatch(op) else "")


def relaid(value: np.ndarray, before: str, after: str) -> np.ndarray | None:
    """Return a value in another layout; None if the layouts are not of the same axes, or an extent does not divide.

    >>> image = np.arange(16).reshape(1, 4, 2, 2)
    >>> relaid(image, "NCHW", "NCHW2c").shape
    (1, 2, 2, 2, 2)
    >>> bool((relaid(relaid(image, "NCHW", "NCHW2c"), "NCHW2c", "NCHW") == image).all())
    True
    """
    ours, theirs = _AXIS.findall(before), _AXIS.findall(after)
    names = [letter for _, letter in ours if letter.isupper()]
    if len(ours) != value.ndim or not _fit(ours, names) or not _fit(theirs, names):
        return None
    # first each axis in one piece, then the pieces of the other layout
    letters = [letter for _, letter in ours]
    pieces = [[letters.index(part) for part in (name, name.lower()) if part in letters] for name in names]
    extents = [int(np.prod([value.shape[place] for place in places])) for places in pieces]
    whole = value.transpose([place for places in pieces for place in places]).reshape(extents)
    parts = {letter.upper(): int(size) for size, letter in theirs if letter.islower()}
    if any(extent % parts.get(name, 1) for name, extent in zip(names, extents, strict=True)):
        return None
    found: dict[str, int] = {}
    for name, extent in zip(names, extents, strict=True):
        inner = parts.get(name)
        found |= {name: extent} if inner is None else {name: extent // inner, name.lower(): inner}
    order = list(found)
    return whole.reshape(list(found.values())).transpose([order.index(letter) for _, letter in theirs])


def _fit(axes: Sequence[tuple[str, str]], names: Sequence[str]) -> bool:
    """Return whether a layout has each of these axes once, with at most one part that was split off."""
    letters = [letter for _, letter in axes]
    is_unique = len(set(letters)) == len(letters)
    outer = sorted(letter for letter in letters if letter.isupper())
    return is_unique and outer == sorted(names) and {letter.upper() for letter in letters} == set(names)


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
_KEEP_SCALE = {
    "reshape",
    "transpose",
    "squeeze",
    "strided_slice",
    "clip",
    "nn.relu",
    "nn.max_pool2d",
    "nn.batch_flatten",
}
"operators on integers whose result has the scale of their first argument"


@dataclass(frozen=True)
class Scale:
    """The real numbers that integers represent: `(value - zero_point) * scale`."""

    scale: float
    zero_point: int

    def real(self, values: np.ndarray) -> np.ndarray:
        return (values.astype("float64") - self.zero_point) * self.scale


def scales(graph: Graph) -> dict[int, Scale]:
    """Return the scales of the quantised values of a graph, by node."""
    found: dict[int, Scale] = {}
    for node in graph.nodes:
        scale, kind = _of_operator(graph, node), tensor(node.type)
        is_kept = node.op.removeprefix("relax.") in _KEEP_SCALE and kind is not None and "int" in kind.dtype
        if scale is None and is_kept:
            scale = found.get(graph.inputs[node.id][0])
        if scale is not None:
            found[node.id] = scale
    return found


def _of_operator(graph: Graph, node: Node) -> Scale | None:
    inputs = graph.inputs[node.id]

    def at(place: int) -> float | None:
        return number(graph.nodes[inputs[place]]) if place < len(inputs) else None

    places = _ARGUMENTS.get(node.op) or _PRODUCTS.get(node.op)
    first, second = map(at, places) if places else (None, None)
    if first is None or second is None:
        return None
    return Scale(first, int(second)) if node.op in _ARGUMENTS else Scale(first * second, 0)
