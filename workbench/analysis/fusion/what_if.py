"""The boundaries between the kernels of two nodes, their decisions, and changes that join both in one kernel.

Each change is verified by running the algorithm again with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from workbench.analysis.fusion.algorithm import Partition, Settings, TwoAnchors
from workbench.analysis.fusion.forward import BROADCAST, ELEMWISE, OPAQUE, OUT_ELEMWISE, Forward
from workbench.analysis.fusion.kernels import FusedGroup, Fusion
from workbench.analysis.fusion.reasons import Decision
from workbench.terminal import visible


@dataclass(frozen=True)
class Why:
    """The answer about two nodes, or about one node's kernel."""

    nodes: tuple[int, ...]
    together: bool
    headline: str
    "the answer in one sentence"
    decisions: tuple[Decision, ...]
    "the decisions that set the boundaries between the two, in order; or those that made the kernel"
    _report: Fusion = field(repr=False)

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """The changes that put both into one kernel, the smallest first; each verified by running the algorithm again."""
        if self.together or len(self.nodes) < 2:
            return ()
        return changes(self._report, self.nodes[0], self.nodes[1], [d.node for d in self.decisions])

    @property
    def text(self) -> str:
        """Return the card as text."""
        lines = [self.headline, *(f"  {d.sentence}" for d in self.decisions[:6])]
        if len(self.decisions) > 6:
            lines.append(f"  and {len(self.decisions) - 6} more")
        if not self.together:
            lines += [f"  They would be one kernel if {change.sentence}." for change in self.changes[:3]]
        return "\n".join(lines)

    def __str__(self) -> str:
        return visible(self.text)


def why(report: Fusion, a: int, b: int | None) -> Why:
    """Return the answer for two nodes, or for the kernel of one."""
    first = report.group_of(a)
    if b is None or a == b:
        return Why((a,), True, _size(report, first), _decisions_about(report, first), report)
    if b in first.nodes:
        headline = f"{_name(report, a)} and {_name(report, b)} are in one kernel: {_kernel(first)}."
        return Why((a, b), True, headline, _decisions_about(report, first), report)
    way = _way(report, a, b)
    if not way:
        way = _way(report, b, a)
        a, b = (b, a) if way else (a, b)
    if not way:
        ends = [report.group_of(a).root, report.group_of(b).root]
        said = f"No value flows from {_name(report, a)} to {_name(report, b)} or back, and they did not both join a later node."
        return Why((a, b), False, said, _settled(report, ends), report)
    ends = [node for node, after in pairwise(way) if report.group_of(node) is not report.group_of(after)]
    count = "one boundary" if len(ends) == 1 else f"{len(ends)} boundaries"
    said = f"{_name(report, a)} and {_name(report, b)} are not in one kernel: {count} between them."
    return Why((a, b), False, said, _settled(report, ends), report)


def _settled(report: Fusion, nodes: list[int]) -> tuple[Decision, ...]:
    return tuple(d for d in map(report.decided, dict.fromkeys(nodes)) if d is not None and not d.fused)


def _decisions_about(report: Fusion, group: FusedGroup) -> tuple[Decision, ...]:
    """Return the merges that made a kernel, and the decisions that ended it."""
    merges = [d for d in report.decisions if d.fused and d.node in group.nodes]
    end = report.decided(group.root)
    return (*merges, end) if end is not None and not end.fused else tuple(merges)


def _size(report: Fusion, group: FusedGroup) -> str:
    if not group.is_kernel:
        return f"{_name(report, group.root)} is not a kernel: TVM makes kernels of operators."
    return f"The kernel of {_name(report, group.root)} holds {_kernel(group)}."


def _kernel(group: FusedGroup) -> str:
    return f"{len(group.ops)} operator{'s' * (len(group.ops) != 1)} ({', '.join(group.ops[:8])}{', ...' * (len(group.ops) > 8)})"


def _name(report: Fusion, node: int) -> str:
    return f"{report.graph.nodes[node].op} (node {node})"


def _way(report: Fusion, a: int, b: int) -> Sequence[int]:
    """Return a shortest path along uses from one node to another, including both; empty if there is none."""
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


MOST_DEPTH = 4096
"The largest max_depth that is tried."


MOST_ARGUMENTS = 1 << 16
"The largest max_function_args that is tried, besides no limit."


@dataclass(frozen=True)
class Change:
    """One change that lets two nodes share a kernel."""

    kind: str
    "`opt_level`, `max_depth`, `max_function_args`, `cut`, `copy` or `shape`"
    node: int | None
    "the node that changes, for the last three"
    value: Any
    "the new setting; for a copy, the consumer that gets one of its own"
    sentence: str
    "a clause that follows `if`"


def changes(report: Fusion, a: int, b: int, boundaries: list[int]) -> tuple[Change, ...]:
    """Return the changes that put both into one kernel, the smallest first; at `boundaries` a kernel ends between them."""
    found = list(_settings(report, a, b))
    if not report.settings.max_function_args:
        # parameters of the kernels of a changed program are not computed here
        found += [
            *_cuts(report, a, b, boundaries),
            *_copies(report, a, b, boundaries),
            *_shapes(report, a, b, boundaries),
        ]
    return tuple(found)


def _together(forward: Forward, settings: Settings, a: int, b: int) -> bool:
    run = Partition(forward, settings)
    try:
        run.run()
    except TwoAnchors:
        return False
    return run.root(a) == run.root(b)


# -- settings


def _settings(report: Fusion, a: int, b: int) -> Iterator[Change]:
    forward, settings = report.forward, report.settings

    def works(**changed: int) -> bool:
        return _together(forward, replace(settings, **changed), a, b)

    if settings.opt_level == 0:
        if works(opt_level=1):
            yield Change("opt_level", None, 1, "fuse_opt_level were at least 1")
        return
    # without a refusal by max_depth a larger one changes nothing
    if report.refuses_by_depth and works(max_depth=MOST_DEPTH):
        depth = _least(settings.max_depth, MOST_DEPTH, lambda depth: works(max_depth=depth))
        yield Change("max_depth", None, depth, f"max_depth were {depth} instead of {settings.max_depth}")
    if settings.max_function_args and works(max_function_args=0):
        was = settings.max_function_args
        if works(max_function_args=MOST_ARGUMENTS):
            least = _least(was, MOST_ARGUMENTS, lambda most: works(max_function_args=most))
            yield Change("max_function_args", None, least, f"max_function_args were {least} instead of {was}")
        else:
            yield Change("max_function_args", None, 0, f"max_function_args were not limited, instead of {was}")


def _least(fails: int, works: int, test: Callable[[int], bool]) -> int:
    """Return a value that works, where the value below it does not."""
    while works - fails > 1:
        middle = (fails + works) // 2
        if test(middle):
            works = middle
        else:
            fails = middle
    return works


# -- the program


def _copies(report: Fusion, a: int, b: int, boundaries: list[int]) -> Iterator[Change]:
    """Yield copies, for nodes that other uses keep apart: the consumer on the path gets its own producer."""
    nodes = report.graph.nodes
    for node in boundaries:
        users = list(dict.fromkeys(user for user, _ in report.forward.users[node]))
        shared = len(users) > 1 or report.forward.held[node] in ("result", "branch", "block")
        if not shared or nodes[node].kind != "op":
            continue
        for user in users:
            # the outcome can depend on the copy's place in the order: right after the first, or just before its use
            copies = {place: copied(report.forward, node, user, place) for place in (node, user - 1)}
            if all(
                _together(made, report.settings, at + 1 if a == node else _moved(a, at), _moved(b, at))
                for at, made in copies.items()
            ):
                used = f"{nodes[node].op} (node {node}) were used only by {nodes[user].op} (node {user})"
                yield Change("copy", node, user, f"{used}, for instance computed twice")


def _cuts(report: Fusion, a: int, b: int, boundaries: list[int]) -> Iterator[Change]:
    """Yield cuts, where another complex operator joined first: stop_fusion after it prevents that."""
    for node in boundaries:
        decision = report.decided(node)
        if decision is None or decision.code != "path_kind":
            continue
        rival = decision.complex_in_kernel_of(decision.data[0])
        if rival is None or rival in (a, b):
            continue
        if _together(cut(report.forward, rival), report.settings, _moved(a, rival), _moved(b, rival)):
            named = f"{report.graph.nodes[rival].op} (node {rival})"
            how = "a cut" if report.graph.dialect == "relax" else "annotation.stop_fusion"
            yield Change("cut", rival, None, f"{named} were split out ({how} behind it)")


def _shapes(report: Fusion, a: int, b: int, boundaries: list[int]) -> Iterator[Change]:
    """Yield shapes, for broadcast operands: with the result's shape the use would be element-wise."""
    for node in boundaries:
        forward = report.forward
        if report.run.kind[node] != OUT_ELEMWISE or not any(kind == BROADCAST for _, kind in forward.users[node]):
            continue
        users = [list(uses) for uses in forward.users]
        users[node] = [(user, ELEMWISE if kind == BROADCAST else kind) for user, kind in users[node]]
        if _together(replace(forward, users=users), report.settings, a, b):
            user = next(user for user, kind in forward.users[node] if kind == BROADCAST)
            ops = report.graph.nodes
            yield Change("shape", node, user, f"{ops[node].op} (node {node}) had the shape of {ops[user].op}'s result")


def copied(forward: Forward, node: int, user: int, place: int) -> Forward:
    """Return the forward graph with a copy of `node` right after `place`, which `user` reads; others keep the first."""
    grown = _with_one_more(forward, place, forward.kinds[node])
    copy, mine, uses = place + 1, _moved(user, place), grown.users[node]
    grown.users[copy] = [use for use in uses if use[0] == mine]
    for other in grown.users[:node]:
        other += [(copy, kind) for target, kind in other if target == node]
    grown.users[node] = [use for use in uses if use[0] != mine]
    return grown


def cut(forward: Forward, node: int) -> Forward:
    """Return the forward graph with stop_fusion right after `node`."""
    grown = _with_one_more(forward, node, OPAQUE)
    grown.users[node], grown.users[node + 1] = [(node + 1, OPAQUE)], grown.users[node]
    grown.held[node], grown.held[node + 1] = "", grown.held[node]
    return grown


def _moved(node: int, after: int) -> int:
    return node + (node > after)


def _with_one_more(forward: Forward, after: int, kind: int) -> Forward:
    """Return the forward graph with a new node after `after`, and all later nodes moved by one."""
    place = after + 1
    users = [[(_moved(user, after), edge) for user, edge in uses] for uses in forward.users]
    return Forward(
        [*forward.kinds[:place], kind, *forward.kinds[place:]],
        [*users[:place], [], *users[place:]],
        [*forward.held[:place], "", *forward.held[place:]],
        [*forward.computes[:place], True, *forward.computes[place:]],
    )
