"""Edits of a program, each as one pass of ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from workbench.graph.model import Graph
from workbench.pipeline.spec import PassStep


def keep(graph: Graph, nodes: Iterable[int]) -> PassStep:
    """Return the pass that keeps these operators; the values that they read of others become inputs."""
    kept = sorted(nodes)
    return PassStep("KeepOperators", {"nodes": kept, "ops": _ops(graph, kept)})


def replace(graph: Graph, pairs: Sequence[tuple[int, int]]) -> PassStep:
    """Return the pass that reads the second node of each pair in the place of the first."""
    flat = [node for pair in pairs for node in pair]
    return PassStep("ReplaceValues", {"pairs": [list(pair) for pair in pairs], "ops": _ops(graph, flat)})


def resize(size: int, to: int, attributes: bool) -> PassStep:
    """Return the pass that changes the dimensions of one size, and the attributes that have this number."""
    return PassStep("ResizeDimensions", {"size": size, "to": to, "attributes": attributes})


def retype(dtype: str, to: str, nodes: Sequence[int] = ()) -> PassStep:
    """Return the pass that changes a data type: everywhere, or of these inputs and constants."""
    return PassStep("ChangeDtype", {"dtype": dtype, "to": to, **({"nodes": list(nodes)} if nodes else {})})


def inline(functions: Sequence[str] = ()) -> PassStep:
    """Return the pass that puts bodies of functions in the place of their calls: of these functions, or of all."""
    return PassStep("InlineFunctions", {"functions": list(functions)} if functions else {})


def fill(nodes: Sequence[int], value: int) -> PassStep:
    """Return the pass that gives each element of these constants one value."""
    return PassStep("FillConstants", {"nodes": list(nodes), "value": value})


def _ops(graph: Graph, nodes: Iterable[int]) -> list[str]:
    return [graph.nodes[node].op for node in nodes]
