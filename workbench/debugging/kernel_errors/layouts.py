"""Layouts of the tensors of a graph, `NCHW` or `NCHW8c`, and values brought from one layout into another."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from workbench.graph.model import Graph, Node

_AXIS = re.compile(r"(?<!\d)(\d*)([A-Za-z])")
_DEFAULT = re.compile(r"nn\.(conv2d|(avg|max|global_avg|global_max|adaptive_avg|adaptive_max)_pool2d)|image\.resize2d")
"operators of images whose layout is NCHW if their attributes do not give one"
_KEEPS = (0, 1)
"pattern kinds of operators whose result has the layout of an input of its shape"


def layouts(graph: Graph) -> dict[int, str]:
    """Return the layouts of the nodes for which an operator at or before them names one.

    Examples
    --------
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
        if not named and node.pattern in _KEEPS:
            alike = (i for i in graph.inputs[node.id] if i in found and graph.nodes[i].type == node.type)
            named = found.get(next(alike, -1), "")
        if named:
            found[node.id] = named
    return found


def _named(node: Node) -> str:
    """Return the layout of an operator's result; empty if its attributes have none."""
    op = node.op.removeprefix("relax.")
    if op == "layout_transform":
        return str(node.attrs.get("dst_layout", ""))
    keys = ("out_layout", "data_layout", "layout")
    given = next((str(node.attrs[key]) for key in keys if node.attrs.get(key)), "")
    return given or ("NCHW" if _DEFAULT.fullmatch(op) else "")


def relaid(value: np.ndarray, before: str, after: str) -> np.ndarray | None:
    """Return a value in another layout; None if the layouts are not of the same axes, or an extent does not divide.

    Examples
    --------
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
    whole = _merged(value, ours, names)
    parts = {letter.upper(): int(size) for size, letter in theirs if letter.islower()}
    if any(extent % parts.get(name, 1) for name, extent in zip(names, whole.shape, strict=True)):
        return None
    return _split(whole, theirs, names, parts)


def _fit(axes: Sequence[tuple[str, str]], names: Sequence[str]) -> bool:
    """Return whether a layout has each of these axes once, with at most one part that was split off."""
    letters = [letter for _, letter in axes]
    outer = [letter for letter in letters if letter.isupper()]
    return (
        len(set(letters)) == len(letters)
        and sorted(outer) == sorted(names)
        and {x.upper() for x in letters} == set(names)
    )


def _merged(value: np.ndarray, axes: Sequence[tuple[str, str]], names: Sequence[str]) -> np.ndarray:
    """Return the value with the axes of these names, each in one piece."""
    letters = [letter for _, letter in axes]
    pieces = [[letters.index(part) for part in (name, name.lower()) if part in letters] for name in names]
    extents = [int(np.prod([value.shape[place] for place in places])) for places in pieces]
    return value.transpose([place for places in pieces for place in places]).reshape(extents)


def _split(
    whole: np.ndarray, axes: Sequence[tuple[str, str]], names: Sequence[str], parts: dict[str, int]
) -> np.ndarray:
    letters, extents = [], []
    for name, extent in zip(names, whole.shape, strict=True):
        inner = parts.get(name)
        letters += [name] if inner is None else [name, name.lower()]
        extents += [extent] if inner is None else [extent // inner, inner]
    return whole.reshape(extents).transpose([letters.index(letter) for _, letter in axes])
