"""The calls of a graph as TVM's passes see them: by object, function by function.

The graph draws a called function in place, so that its arguments flow straight into its body. A pass that looks at
expressions sees a variable in the body and one call of a function outside. A value that `let` binds is used through its
variable. Tensor constants with the same text are one object, scalars are not.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

from workbench.analysis.outcome import Reason
from workbench.graph.identity import frozen
from workbench.graph.model import Graph, Group, Node
from workbench.graph.nodes import reached

Key = Hashable
Branches = tuple[tuple[int, ...], ...]
CLOSURE = "fn"
"the group name of a function that is a value and is not called where it is written"


@dataclass(frozen=True)
class Use:
    """One consuming call of a value."""

    node: int
    "the calling node; any node of the called function, where a function is called in place"
    is_function: bool
    "whether the callee is a function and not an operator"


@dataclass(frozen=True)
class Calls:
    """The calls of a graph."""

    graph: Graph

    @cached_property
    def functions(self) -> tuple[int | None, ...]:
        """For each group, the innermost function at or around it that has parameters of its own.

        Closures and branches count as part of the function around them: they use its values directly.
        """
        kinds = ("function", "primitive", "composite", "external")
        return self._innermost(lambda group: group.kind in kinds and group.name != CLOSURE)

    @cached_property
    def scopes(self) -> tuple[int | None, ...]:
        """For each node, the innermost function around it (see `functions`)."""
        return tuple(None if node.group is None else self.functions[node.group] for node in self.graph.nodes)

    @cached_property
    def _arms(self) -> tuple[int | None, ...]:
        """For each group, the innermost branch or closure at or around it."""
        return self._innermost(lambda group: group.kind == "branch" or group.name == CLOSURE)

    def _innermost(self, chosen: Callable[[Group], bool]) -> tuple[int | None, ...]:
        found: list[int | None] = [None] * len(self.graph.groups)
        for group in self.graph.outside_in:
            around = None if group.parent is None else found[group.parent]
            found[group.id] = group.id if chosen(group) else around
        return tuple(found)

    @cached_property
    def stretches(self) -> tuple[Hashable, ...]:
        """For each node, the stretch of bindings that a pass looks at together; all of Relay is one."""
        if self.graph.dialect != "relax":
            return (None,) * len(self.graph.nodes)
        turn: dict[Hashable, int] = {}
        found: list[Hashable] = []
        for node in self.graph.nodes:
            here = self.scopes[node.id], None if node.group is None else self._arms[node.group]
            # a stretch ends at an `if`, and at a call that may have an effect
            if node.kind == "if" or (node.kind == "call" and not node.op.startswith("@")):
                turn[here] = turn.get(here, 0) + 1
            found.append((*here, turn.get(here, 0)))
        return tuple(found)

    def sees(self, a: int, b: int) -> bool:
        """Return whether node `b` is in the arm or closure of `a`, or in an arm inside it."""
        around = self.graph.nodes[a].group
        inner = None if around is None else self._arms[around]
        arms = [g for g in self.graph.ancestors(self.graph.nodes[b].group) if g.kind == "branch" or g.name == CLOSURE]
        outside = list(itertools.takewhile(lambda group: group.id != inner, arms))
        return (inner is None or len(outside) < len(arms)) and all(group.kind == "branch" for group in outside)

    def key(self, source: int, target: int) -> Key:
        """Return the identity of an argument for a pass that looks at `target`: equal keys are one object."""
        return self._key(source, self.scopes[target])

    def _key(self, source: int, scope: int | None) -> Key:
        node = self.graph.nodes[source]
        if node.kind == "constant":
            return ("constant", node.op) if node.op.startswith("meta[") else source
        if self.scopes[source] != scope:
            return ("parameter", scope, source)
        return ("let", source) if self.is_let(source) else source

    def is_let(self, source: int) -> bool:
        """Return whether a let binds the value, so that its uses are uses of a variable; always true in Relax."""
        node = self.graph.nodes[source]
        return bool(node.name) and node.kind != "param" and self.graph.dialect != "relax"

    def arguments(self, node: int) -> tuple[Key, ...]:
        """Return the arguments of a call, as keys."""
        return tuple(self.key(source, node) for source in self.graph.inputs[node])

    @cached_property
    def called(self) -> tuple[tuple[int, Key], ...]:
        """(node, argument) for each argument of a function that is called in place; the node is the call's value."""
        return tuple(
            (group.output, self._key(source, self.functions[group.parent]))
            for group in self.graph.groups
            if group.output is not None and group.parent is not None
            for source in group.inputs
            if self.graph.nodes[source].kind != "constant"
        )

    def share_second(self, op: str) -> Iterator[tuple[list[int], Reason]]:
        """Yield the calls of an operator that share their second argument only, which no combiner looks at."""
        shared: dict[Key, list[int]] = {}
        for node in self.graph.ops:
            if node.op == op:
                shared.setdefault(self.arguments(node.id)[1], []).append(node.id)
        for nodes in shared.values():
            if len({self.arguments(node)[0] for node in nodes}) > 1:
                said = f"these {op} share their second argument; TVM combines only what shares the first"
                yield nodes, Reason("not-arg0", said, tuple(nodes))

    def needs(self, node: int, others: Collection[int]) -> bool:
        """Return whether a value is one of these or is computed from one."""
        inputs, least = self.graph.inputs, min(others)
        return not reached([node], lambda at: (s for s in inputs[at] if s >= least)).isdisjoint(others)


def attribute(a: Node, b: Node) -> str:
    """Return the first attribute in which two nodes differ; empty if there is none."""
    for name in sorted({*a.attrs, *b.attrs}):
        if frozen(a.attrs.get(name)) != frozen(b.attrs.get(name)) or (name in a.attrs) != (name in b.attrs):
            return name
    return ""


def circular(graph: Graph, groups: Sequence[Branches]) -> set[int]:
    """Return the indexes of groups that cannot be combined together with those before them: a value would need itself."""
    if not groups or _is_acyclic(graph, groups):
        return set()
    used: list[Branches] = []
    bad: set[int] = set()
    for place, branches in enumerate(groups):
        if _is_acyclic(graph, [*used, branches]):
            used.append(branches)
        else:
            bad.add(place)
    return bad


def _is_acyclic(graph: Graph, groups: Sequence[Branches]) -> bool:
    """Return whether the branches of each group can become one node; negative numbers are these nodes."""
    ends = {branch[-1]: -1 - place for place, branches in enumerate(groups) for branch in branches}
    made: TopologicalSorter[int] = TopologicalSorter()
    inner = [node for branches in groups for branch in branches for node in branch]
    # a producer has a smaller id, so only the new nodes lead back, and only to nodes between the first and the last of these
    for node in range(min(inner), max(inner) + 1):
        if node not in ends:
            made.add(node, *(ends.get(source, source) for source in graph.inputs[node]))
    for place, branch in ((place, branch) for place, branches in enumerate(groups) for branch in branches):
        for before, inside in zip((None, *branch), branch, strict=False):
            outside = (source for source in graph.inputs[inside] if source != before)
            made.add(-1 - place, *(ends.get(source, source) for source in outside))
    try:
        made.prepare()
    except CycleError:
        return False
    return True
