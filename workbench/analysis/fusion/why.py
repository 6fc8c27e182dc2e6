"""The why-not card: two nodes, the boundaries between their kernels, and the decision that drew each."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from workbench.analysis.fusion.changes import Change, changes
from workbench.analysis.fusion.decision import Decision
from workbench.terminal import visible

if TYPE_CHECKING:
    from workbench.analysis.fusion.report import FusedGroup, FusionReport


@dataclass(frozen=True)
class Why:
    """The answer about two nodes, or about one node's kernel."""

    nodes: tuple[int, ...]
    together: bool
    headline: str
    "the answer in one sentence"
    decisions: tuple[Decision, ...]
    "what drew the boundaries between the two, the first boundary first; or what made the kernel"
    _report: FusionReport = field(repr=False)

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """What would put both into one kernel, the smallest change first; each was tried by running the algorithm again."""
        if self.together or len(self.nodes) < 2:
            return ()
        return changes(self._report, self.nodes[0], self.nodes[1], [d.node for d in self.decisions])

    @property
    def text(self) -> str:
        """The card as text."""
        lines = [self.headline, *(f"  {d.sentence}" for d in self.decisions[:6])]
        if len(self.decisions) > 6:
            lines.append(f"  and {len(self.decisions) - 6} more")
        if not self.together:
            lines += [f"  They would be one kernel if {change.sentence}." for change in self.changes[:3]]
        return "\n".join(lines)

    def __str__(self) -> str:
        return visible(self.text)

    def to_data(self) -> dict[str, Any]:
        """Plain values, for a page or a file."""
        return {
            "nodes": list(self.nodes),
            "together": self.together,
            "headline": self.headline,
            "decisions": [decision.to_data() for decision in self.decisions],
            "changes": [change.to_data() for change in self.changes],
        }


def why(report: FusionReport, a: int, b: int | None) -> Why:
    """The answer for two nodes, or for the kernel of one."""
    first = report.group_of(a)
    if b is None or a == b:
        return Why((a,), True, _size(report, first), _made(report, first), report)
    if b in first.nodes:
        headline = f"{_name(report, a)} and {_name(report, b)} are in one kernel: {_kernel(first)}."
        return Why((a, b), True, headline, _made(report, first), report)
    way = _way(report, a, b)
    if not way:
        way = _way(report, b, a)
        a, b = (b, a) if way else (a, b)
    if not way:
        ends = [report.group_of(a).root, report.group_of(b).root]
        said = f"No value flows from {_name(report, a)} to {_name(report, b)} or back, and they did not both join a later node."
        return Why((a, b), False, said, _settled(report, ends), report)
    ends = _boundaries(report, way)
    count = "one boundary" if len(ends) == 1 else f"{len(ends)} boundaries"
    said = f"{_name(report, a)} and {_name(report, b)} are not in one kernel: {count} between them."
    return Why((a, b), False, said, _settled(report, ends), report)


def _settled(report: FusionReport, nodes: list[int]) -> tuple[Decision, ...]:
    return tuple(d for d in map(report.decided, dict.fromkeys(nodes)) if d is not None and not d.fused)


def _made(report: FusionReport, group: FusedGroup) -> tuple[Decision, ...]:
    """The merges that made a kernel, and why it went no further."""
    merges = [d for d in report.decisions if d.fused and d.node in group.nodes]
    end = report.decided(group.root)
    return (*merges, end) if end is not None and not end.fused else tuple(merges)


def _size(report: FusionReport, group: FusedGroup) -> str:
    if not group.is_kernel:
        return f"{_name(report, group.root)} is no kernel: TVM makes kernels of operators."
    return f"The kernel of {_name(report, group.root)} holds {_kernel(group)}."


def _kernel(group: FusedGroup) -> str:
    return f"{len(group.ops)} operator{'s' * (len(group.ops) != 1)} ({', '.join(group.ops[:8])}{', ...' * (len(group.ops) > 8)})"


def _name(report: FusionReport, node: int) -> str:
    return f"{report.graph.nodes[node].op} (node {node})"


def _way(report: FusionReport, a: int, b: int) -> Sequence[int]:
    """A shortest way along uses from one node to another, both included; empty if there is none."""
    users = report.graph.consumers
    came: dict[int, int] = {a: a}
    waiting = deque([a])
    while waiting and b not in came:
        node = waiting.popleft()
        for user, _ in users[node]:
            if user <= b and user not in came:
                came[user] = node
                waiting.append(user)
    if b not in came:
        return ()
    way = [b]
    while way[-1] != a:
        way.append(came[way[-1]])
    return way[::-1]


def _boundaries(report: FusionReport, way: Sequence[int]) -> list[int]:
    """The nodes on a way after which the kernel changes."""
    return [node for node, after in pairwise(way) if report.group_of(node) is not report.group_of(after)]
