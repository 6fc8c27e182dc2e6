"""Times, bytes and FLOPs of kernels as values of a graph's boxes and nodes, for the pictures of widgets/."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.errors import UnknownName, WorkbenchError
from workbench.graph.diff import diff
from workbench.graph.model import Graph
from workbench.measurement.kernels import Kernels
from workbench.measurement.memory.plan import MemoryPlan

if TYPE_CHECKING:
    import pandas as pd

COMPUTING = ("op", "call")
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Overlay:
    """Values over one graph, at the places of their kernels."""

    title: str
    unit: str
    nodes: Mapping[int, float] = field(default_factory=dict)
    "by id: kernels of one node, which have no box"
    groups: Mapping[int, float] = field(default_factory=dict)
    "by id: kernels that the graph shows as a box"
    inside: Mapping[int, int] = field(default_factory=dict)
    "a node of each such group"

    def data(self) -> dict[str, Any]:
        groups = {str(id): [value, self.inside[id]] for id, value in self.groups.items()}
        values = {str(id): value for id, value in self.nodes.items()}
        return {"values": values, **({"groups": groups} if groups else {})}


def overlay_of(
    kernels: Kernels | MemoryPlan,
    what: str = "",
    *,
    times: pd.DataFrame | Iterable[Row] | None = None,
    onto: Graph | None = None,
) -> Overlay:
    """Return a value for each kernel, for `GraphView.overlay` and `CompareView.overlay`.

    Parameters
    ----------
    kernels
        The result of `wb.kernels`, or of `wb.memory`.
    what
        "bytes" (read and written, the default), "flops" (kernels whose FLOPs are unknown have no value), "launches", or "us". For
        a plan of `wb.memory` "live", the bytes of live tensors during each kernel.
    times
        For "us": a row of `wb.measure(..., per_kernel=True)`, the table of them, or one row's `per_kernel`.
    onto
        The graph to which the ids belong, `kernels.graph` by default. Another graph of the same program is matched by
        `wb.diff`; kernels that share a box there are summed in it.

    Raises
    ------
    WorkbenchError
        Another `what`, or "us" without times of kernels.

    Examples
    --------
    >>> w = wb.samples.load("parallel_cast")
    >>> built = wb.kernels(w)
    >>> bytes_of = wb.overlay_of(built, "bytes")
    >>> bytes_of.unit, len(bytes_of.groups)
    ('bytes', 3)
    """
    if not isinstance(kernels, (Kernels, MemoryPlan)):
        raise WorkbenchError(f"overlay_of takes the result of wb.kernels or of wb.memory, not {type(kernels).__name__}")
    graph = kernels.graph if onto is None else onto
    if isinstance(kernels, MemoryPlan):
        if what not in ("", "live"):
            raise UnknownName("value of a kernel in a memory plan", what, ["live"])
        live = {index: float(count) for index, count in enumerate(kernels.needed_bytes)}
        places = _computing({i: step.nodes for i, step in enumerate(kernels.steps)}, kernels.graph, graph)
        return _laid("live memory", "bytes", live, places, graph, max)
    what = what or "bytes"
    if what not in TITLES:
        raise UnknownName("value of a kernel", what, TITLES)
    found: dict[int, Any]
    if what == "us":
        found = {int(row["index"]): row.get("median_us") for row in timed(times)}
    else:
        counted = (row for row in kernels.rows if not row["noop"])
        both = what == "bytes"
        found = {int(row["index"]): row["bytes_read"] + row["bytes_written"] if both else row[what] for row in counted}
    values = {index: float(value) for index, value in found.items() if _is_finite(value)}
    return overlaid(*TITLES[what], values, kernels, graph, sum)


def overlaid(
    title: str,
    unit: str,
    values: Mapping[int, float],
    kernels: Kernels,
    onto: Graph | None,
    joined: Callable[[Sequence[float]], float],
) -> Overlay:
    """Return values of calls at the places of their kernels; those that share a place are joined."""
    graph = kernels.graph if onto is None else onto
    return _laid(title, unit, values, nodes_on(kernels, graph), graph, joined)


def _laid(
    title: str,
    unit: str,
    values: Mapping[int, float],
    places: Mapping[int, Sequence[int]],
    graph: Graph,
    joined: Callable[[Sequence[float]], float],
) -> Overlay:
    nodes: dict[int, list[float]] = {}
    groups: dict[int, list[float]] = {}
    inside: dict[int, int] = {}
    for index, value in values.items():
        found = places.get(index, [])
        box = {graph.kernel_of(node) for node in found}
        if len(box) == 1 and None not in box:
            (group,) = box
            assert group is not None
            groups.setdefault(group, []).append(value)
            inside[group] = found[-1]
        elif found:
            # the last one is the kernel's result, even if the graph has more nodes between it and the inputs
            nodes.setdefault(found[-1], []).append(value)
    at_nodes = {node: joined(each) for node, each in nodes.items()}
    return Overlay(title, unit, at_nodes, {group: joined(each) for group, each in groups.items()}, inside)


TITLES = {
    "bytes": ("read and written", "bytes"),
    "flops": ("arithmetic", "FLOP"),
    "launches": ("launches", ""),
    "us": ("time of each kernel", "µs"),
}


def nodes_on(kernels: Kernels, graph: Graph) -> dict[int, list[int]]:
    """Return for each call the nodes it computes, in its own graph or in another graph of the program."""
    own = {int(row["index"]): [int(node) for node in row["nodes"]] for row in kernels.rows}
    return _computing(own, kernels.graph, graph)


def _computing(own: Mapping[int, Sequence[int]], built: Graph, graph: Graph) -> dict[int, list[int]]:
    """Return the nodes of a graph that compute what the nodes of a build's graph do."""
    there = carried(built, graph)
    found = {index: sorted({other for node in nodes for other in there.get(node, ())}) for index, nodes in own.items()}
    computing = {node.id for node in graph.nodes if node.kind in COMPUTING}
    return {index: [node for node in nodes if node in computing] for index, nodes in found.items()}


def carried(built: Graph, graph: Graph) -> dict[int, list[int]]:
    """Return for each node of a build's graph its nodes in another graph of the program."""
    if graph is built:
        return {node.id: [node.id] for node in graph.nodes}
    back: dict[int, list[int]] = {}
    for node, there in diff(graph, built).mapping.items():
        for other in there:
            back.setdefault(other, []).append(node)
    return back


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def timed(times: Any) -> list[Row]:
    """Return the rows of kernels with times, from any result of `wb.measure`; refuse one in which no kernel was timed."""
    data: list[Row]
    if hasattr(times, "to_dict"):
        data = times.to_dict("records") if times.ndim == 2 else [times.to_dict()]
    else:
        data = list(times or ())
    if data and "per_kernel" in data[0]:
        data = next(
            (row["per_kernel"] for row in data if isinstance(row["per_kernel"], list) and row["per_kernel"]), []
        )
    if not data:
        raise WorkbenchError("no kernel was timed here: measure with per_kernel=True, on a device that is there")
    return data


def joined(kernels: Kernels, times: Any = None) -> pd.DataFrame:
    """Return the table of calls, with `median_us` and `share` of those that were timed.

    Parameters
    ----------
    times
        As `overlay_of` takes them; None for counts alone.

    Examples
    --------
    >>> w = wb.samples.load("parallel_cast")
    >>> wb.joined(wb.kernels(w))[["name", "bytes_read"]]
      name  bytes_read
    0   lv          64
    1   lv          64
    2  lv1          64
    3  lv6         272
    4   gv         288
    """
    if not isinstance(kernels, Kernels):
        raise WorkbenchError(f"joined takes the result of wb.kernels, not {type(kernels).__name__}")
    table = kernels.table
    if times is None:
        return table
    import pandas as pd

    found = pd.DataFrame(timed(times))
    found = found[found["index"].notna()].astype({"index": int})
    # a call in an arm of an `if` that ran twice was timed twice
    both = found.groupby("index", as_index=False)[["median_us", "share"]].sum()
    return table.merge(both, on="index", how="left")
