"""`explain_fusion`: the kernels that FuseOps makes of a graph, and why."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from workbench.analysis.fusion.algorithm import Settings
from workbench.analysis.fusion.boundaries import Handover, handovers
from workbench.analysis.fusion.kernels import FORWARD, Fusion
from workbench.analysis.fusion.reasons import Decision
from workbench.analysis.fusion.what_if import Why, why
from workbench.errors import WorkbenchError
from workbench.graph.model import Graph, HasGraph, graph_of, known_node
from workbench.target_text import TargetLike, kind_of, target_text
from workbench.terminal import html_table
from workbench.wording import counted

LIMITS = {"opencl": 128, "metal": 31}
"Target kind -> its default limit of parameters."


def explain_fusion(
    source: Graph | HasGraph,
    opt_level: int = 2,
    max_depth: int = 256,
    max_function_args: int | None = None,
    target: TargetLike = "",
) -> FusionReport:
    """Return the kernels that FuseOps makes of a graph, and why. Needs no TVM.

    Parameters
    ----------
    source
        A Graph or a Workload, before FuseOps. Functions that are kernels already stay as they are.
    opt_level
        0 merges nothing; 1 and more are the same.
    max_depth
        Most nodes in a kernel; `relay.FuseOps.max_depth` of a PassContext.
    max_function_args
        Most parameters of a kernel, 0 for no limit; by default the target's limit.
    target
        The target, or its kind; `opencl` (128) and `metal` (31) limit the parameters. Relax has no such limit.

    Raises
    ------
    WorkbenchError
        The source is not a graph of a known dialect, or a setting is out of range.

    Examples
    --------
    >>> w = wb.load("def @main(%x: Tensor[(1, 8), float32]) { nn.softmax(nn.relu(exp(%x))) }")
    >>> report = wb.explain_fusion(w)
    >>> [kernel.ops for kernel in report.kernels]
    [('exp', 'nn.relu'), ('nn.softmax',)]
    >>> report.why(2, 3).headline
    'nn.relu (node 2) and nn.softmax (node 3) are not in one kernel: one boundary between them.'
    """
    graph = graph_of(source, "explain_fusion")
    if graph.dialect not in FORWARD:
        raise WorkbenchError(
            f"{graph.name} is {graph.dialect or 'of no dialect'}, and explain_fusion takes a Workload or a Graph of "
            f"{' or '.join(FORWARD)}; load the graph from a module of one of these"
        )
    if min(opt_level, max_depth, max_function_args or 0) < 0:
        raise WorkbenchError("opt_level, max_depth and max_function_args must not be negative; 0 args means no limit")
    if max_function_args is None:
        max_function_args = LIMITS.get(kind_of(target_text(target)), 0) if target and graph.dialect == "relay" else 0
    return FusionReport(graph, Settings(opt_level, max_depth, max_function_args))


@dataclass(frozen=True, eq=False, repr=False)
class FusionReport(Fusion):
    """The outcome of the fusion algorithm on one graph, with the answers about it."""

    def __repr__(self) -> str:
        fails = ", the pass fails" if self.failure else ""
        unknown = sum(decision.code == "unannotated" for decision in self.decisions)
        lacks = (
            f", {counted(unknown, 'operator')} without a kind, see LegalizeOps,AnnotateTIROpPattern" if unknown else ""
        )
        return (
            f"FusionReport({self.graph.name!r}, {self.settings}: {counted(len(self.kernels), 'kernel')}{fails}{lacks})"
        )

    def _repr_html_(self) -> str:
        rows = (
            {"kernel": place, "operators": ", ".join(kernel.ops), "nodes": len(kernel.nodes), "result": kernel.root}
            for place, kernel in enumerate(self.kernels)
        )
        return html_table(self.failure or f"{self.graph.name}: {counted(len(self.kernels), 'kernel')}", rows)

    @cached_property
    def handovers(self) -> tuple[Handover, ...]:
        """The values that kernels pass to other kernels, the largest first: the boundaries that cost most."""
        return handovers(self)

    @property
    def frames(self) -> tuple[Decision, ...]:
        """The decisions that a player shows: not those that wait for another phase or find a merge already done."""
        return tuple(d for d in self.decisions if d.code not in ("phase", "together"))

    def find(self, code: str = "", op: str = "", fused: bool | None = None) -> tuple[Decision, ...]:
        """Return the frames with this reason code and operator (producer or post-dominator), merged or not."""

        def concerns(d: Decision) -> bool:
            ends = (self.graph.nodes[d.node].op, "" if d.dominator is None else self.graph.nodes[d.dominator].op)
            return (not code or d.code == code) and (not op or op in ends) and (fused is None or d.fused == fused)

        return tuple(filter(concerns, self.frames))

    def roots_after(self, count: int) -> tuple[int, ...]:
        """Return, for each node, the root of its kernel after `count` decisions: a frame of the player."""
        above = list(range(len(self.graph.nodes)))

        def root(node: int) -> int:
            while above[node] != node:
                above[node] = above[above[node]]
                node = above[node]
            return node

        for decision in self.decisions[:count]:
            if decision.fused and decision.dominator is not None:
                for node in (decision.node, *decision.between):
                    if root(node) != root(decision.dominator):
                        above[root(node)] = root(decision.dominator)
        return tuple(map(root, above))

    def why(self, a: int, b: int | None = None) -> Why:
        """Return why two nodes share a kernel or not; for one node, why its kernel ends where it does.

        Raises UnknownNode: the graph has no such node.
        """
        known_node(self.graph, a)
        return why(self, a, None if b is None else known_node(self.graph, b))
