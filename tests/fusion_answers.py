"""Kernels of the fusion mirror in a form that compares with TVM's, for random programs of both dialects. Needs no TVM."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from answers import Record

import workbench as wb

RELAY = Record("relay", "fusion", ("relay/fusion_programs.py", "fusion_answers.py"))
RELAX = Record("relax", "fusion", ("relax/kernel_programs.py", "fusion_answers.py"))
LEVELS = tuple({"opt_level": level} for level in (0, 1, 2))
DEPTHS = tuple({"max_depth": depth} for depth in (1, 2, 4, 16, 256))
LIMITS = tuple({"max_function_args": most} for most in (2, 3, 4, 6, 9, 16))
TARGETS = ({"target": "opencl"}, {"target": "metal"})
RELAY_SETTINGS = (*LEVELS, *DEPTHS, *LIMITS, *TARGETS)
RELAX_SETTINGS = tuple({"opt_level": level, "max_depth": depth} for level in (0, 1, 2) for depth in (1, 2, 4, 16, 256))

RelayKernel = tuple[frozenset[str], tuple[int, int, int]]
"the spans of the operators; how many constants, tuples and fields of tuples"
RelaxKernel = tuple[tuple[str, ...], frozenset[str]]
"the operators; the variables of all but the one that ends the kernel, to which TVM gives another name"


def kernels_of(graph: wb.Graph, groups: Iterable[Iterable[int]]) -> set[RelayKernel]:
    """Return the kernels of Relay; a function called twice counts once."""
    found = set()
    for nodes in map(list, groups):
        spans = frozenset(graph.nodes[n].span for n in nodes if graph.nodes[n].kind == "op")
        kinds = Counter(graph.nodes[n].kind for n in nodes)
        found.add((spans, (kinds["constant"], kinds["tuple"], kinds["get_item"])))
    return found


def mirrored(graph: wb.Graph, **settings: Any) -> tuple[set[RelayKernel], str]:
    """Return the mirror's kernels of a Relay program, and why TVM would fail."""
    report = wb.explain_fusion(graph, **settings)
    return kernels_of(graph, [group.nodes for group in report.kernels]), report.failure


def relay_answer(kernels: set[RelayKernel], failure: str) -> list[Any] | None:
    """Return kernels as they are recorded; None where the pass fails."""
    return None if failure else sorted([sorted(spans), list(kinds)] for spans, kinds in kernels)


def kernel_of(graph: wb.Graph, nodes: Iterable[int], root: int | None) -> RelaxKernel:
    """Return a kernel of Relax."""
    ops = [graph.nodes[n] for n in nodes if graph.nodes[n].kind == "op"]
    return tuple(sorted(node.op for node in ops)), frozenset(node.name for node in ops if node.id != root)


def relax_mirrored(graph: wb.Graph, **settings: int) -> list[RelaxKernel]:
    """Return the mirror's kernels of a Relax program."""
    return [kernel_of(graph, group.nodes, group.root) for group in wb.explain_fusion(graph, **settings).kernels]


def relax_answer(kernels: list[RelaxKernel]) -> list[Any]:
    """Return kernels as they are recorded."""
    return sorted([list(ops), sorted(names)] for ops, names in kernels)


def relax_kernels(answer: list[Any]) -> list[RelaxKernel]:
    """Return the kernels of a recorded answer."""
    return [(tuple(ops), frozenset(names)) for ops, names in answer]


def agree(ours: list[RelaxKernel], theirs: list[RelaxKernel]) -> bool:
    """Return whether operators are equal, and variables but that TVM makes equal kernels one, with the first one's variables."""
    same = Counter(ops for ops, _ in ours) == Counter(ops for ops, _ in theirs)
    return same and {names for _, names in theirs} <= {names for _, names in ours}


def graph_of(row: Mapping[str, Any]) -> wb.Graph:
    """Return the program of a row."""
    return wb.Graph.from_json(json.dumps(row["graph"]))
