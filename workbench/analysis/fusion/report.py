"""`explain_fusion`: the kernels that FuseOps makes of a graph, and why; and assertions about them for the user's tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

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

LISTED = 40
"Most kernels that a message of an assertion lists."
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


# -- assertions


def assert_fused(source: object, ops: Sequence[str], **settings: object) -> None:
    """Fail unless one kernel has a chain of these operators, each using the one before.

    Parameters
    ----------
    source
        A Graph or a Workload. Where FuseOps ran already, its kernels count; otherwise those that it would make
        (`wb.trace(w, "SimplifyInference").result` runs other passes first).
    ops
        Names of operators in order, `["nn.conv2d", "add", "nn.relu"]`. Fields of tuples and tuples between them are
        passed over.
    settings
        As for `explain_fusion`.

    Raises
    ------
    AssertionError
        There is none; the message gives the point where the longest matching prefix of the chain ends, and why.
    WorkbenchError
        `ops` is empty, or FuseOps fails on this graph.

    Examples
    --------
    >>> w = wb.load("def @main(%x: Tensor[(1, 8), float32]) { nn.softmax(nn.relu(exp(%x))) }")
    >>> wb.assert_fused(w, ["exp", "nn.relu"])
    """
    if not ops or isinstance(ops, str):
        raise WorkbenchError('assert_fused takes a list of operator names, such as ["nn.conv2d", "add", "nn.relu"]')
    report = _report(source, settings)
    best: tuple[int, ...] = ()
    apart: tuple[int, int] | None = None
    for chain in _chains(report.graph, ops):
        group = report.group_of(chain[0])
        joined = next((place for place, node in enumerate(chain) if node not in group.nodes), len(chain))
        if joined == len(ops):
            return
        if apart is None or joined > len(best):
            best = chain[:joined]
            apart = (chain[joined - 1], chain[joined]) if joined < len(chain) else None
    wanted = " -> ".join(ops)
    if apart is not None:
        raise AssertionError(f"{wanted} is not one kernel.\n{report.why(*apart).text}")
    raise AssertionError(_missing(report.graph, ops))


@runtime_checkable
class Planned(Protocol):
    """A MemoryPlan, of `wb.memory`."""

    @property
    def peak_bytes(self) -> int: ...
    @property
    def peak_step(self) -> int | None: ...
    def live(self, step: int) -> Sequence[Any]: ...


def assert_kernels(
    source: object, *, at_most: int | None = None, peak_bytes: int | None = None, **settings: object
) -> None:
    """Fail if there are more than `at_most` kernels, or if the memory plan has a higher peak than `peak_bytes`.

    Parameters
    ----------
    source, settings
        As for `assert_fused`. With `peak_bytes` a MemoryPlan of `wb.memory`, whose kernels are those of the build.

    Raises
    ------
    AssertionError
        There are more; the message lists the kernels, each with the reason why it ends there, or the tensors that are live at
        the peak.
    WorkbenchError
        FuseOps fails on this graph, or neither limit is given, or `peak_bytes` comes without a plan.

    Examples
    --------
    >>> w = wb.load("def @main(%x: Tensor[(1, 8), float32]) { nn.softmax(nn.relu(exp(%x))) }")
    >>> wb.assert_kernels(w, at_most=2)
    >>> wb.assert_kernels(wb.memory(wb.samples.load("mlp")), at_most=6, peak_bytes=4352)
    """
    if at_most is None and peak_bytes is None:
        raise WorkbenchError("assert_kernels has nothing to check; give at_most= or peak_bytes=")
    if peak_bytes is not None:
        _assert_peak(source, peak_bytes)
    if at_most is not None:
        _assert_count(_report(source, settings), at_most)


def _assert_peak(source: object, peak_bytes: int) -> None:
    if not isinstance(source, Planned):
        raise WorkbenchError("peak_bytes= needs a memory plan; give assert_kernels a plan, wb.memory(w)")
    if source.peak_bytes <= peak_bytes or source.peak_step is None:
        return
    step = source.peak_step
    largest = sorted(source.live(step), key=lambda tensor: -tensor.bytes)
    lines = [
        f"the peak is {source.peak_bytes:,} bytes at step {step}, and at most {peak_bytes:,} were wanted; live then:"
    ]
    lines += [f"  {tensor.name}: {tensor.bytes:,} bytes" for tensor in largest[:LISTED]]
    if len(largest) > LISTED:
        lines.append(f"  and {len(largest) - LISTED} more")
    raise AssertionError("\n".join(lines))


def _assert_count(report: FusionReport, at_most: int) -> None:
    if len(report.kernels) <= at_most:
        return
    lines = [f"{counted(len(report.kernels), 'kernel')}, and at most {at_most} were wanted:"]
    for group in report.kernels[:LISTED]:
        decision = report.decided(group.root)
        lines.append(f"  {' + '.join(group.ops)}: {decision.sentence if decision else ''}")
    if len(report.kernels) > LISTED:
        lines.append(f"  and {len(report.kernels) - LISTED} more")
    raise AssertionError("\n".join(lines))


def as_test(report: FusionReport, node: int) -> str:
    """Return a `wb.assert_fused` call for the longest chain of operators in the kernel of a node.

    Raises UnknownNode: the graph has no such node. Raises WorkbenchError: the node is in no kernel.
    """
    group = report.group_of(node)
    if not group.is_kernel:
        raise WorkbenchError(f"node {node} ({report.graph.nodes[node].op}) is in no kernel; choose an operator")
    longest: dict[int, list[str]] = {}
    for member in group.nodes:
        found = report.graph.nodes[member]
        before = max((longest[n] for n in report.graph.inputs[member] if n in longest), key=len, default=[])
        longest[member] = [*before, found.op] if found.kind == "op" else before
    chain = max(longest.values(), key=len)
    return f"wb.assert_fused(w, [{', '.join(map(repr, chain))}])"


def _report(source: Any, settings: dict[str, Any]) -> FusionReport:
    report = explain_fusion(source, **settings)
    if report.failure:
        raise WorkbenchError(report.failure)
    return report


def _chains(graph: Graph, ops: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """Yield the chains of uses that match a prefix of `ops`, each as long as possible."""
    waiting = [(node.id,) for node in reversed(graph.ops) if node.op == ops[0]]
    while waiting:
        chain = waiting.pop()
        after = [] if len(chain) == len(ops) else _users(graph, chain[-1], ops[len(chain)])
        if after:
            waiting += [(*chain, node) for node in reversed(after)]
        else:
            yield chain


def _users(graph: Graph, node: int, op: str) -> list[int]:
    """Return the operators of that name that use the node, directly or through tuples and their fields."""
    found: list[int] = []
    waiting = [node]
    while waiting:
        for user, _ in graph.consumers[waiting.pop()]:
            kind = graph.nodes[user].kind
            if kind == "op" and graph.nodes[user].op == op and user not in found:
                found.append(user)
            elif kind in ("tuple", "get_item"):
                waiting.append(user)
    return found


def _missing(graph: Graph, ops: Sequence[str]) -> str:
    known = {node.op for node in graph.ops}
    absent = [op for op in ops if op not in known]
    if absent:
        near = [
            name for name in sorted(known) if any(name.endswith(f".{op}") or op.endswith(f".{name}") for op in absent)
        ]
        hint = f"; it has {', '.join(near)}" if near else ""
        return f"{' -> '.join(ops)} is not one kernel: the graph has no operator {', '.join(absent)}{hint}."
    length = max((len(chain) for chain in _chains(graph, ops)), default=0)
    return f"{' -> '.join(ops)} is not one kernel: no {ops[length - 1]} at that place is used by a {ops[length]}."
