"""The reasons why `dominates(parent, path, child)` fails at a child, and the region where it would hold.

TVM walks from the child up every input until it meets the parent: every expression between must match the path pattern, and a walk
that ends without the parent fails. Then the parent's value must have no path out except through the child.
"""

from __future__ import annotations

from dataclasses import dataclass

from workbench.analysis.patterns.groups import computes
from workbench.analysis.patterns.matcher import Matcher
from workbench.analysis.patterns.pattern import Pattern
from workbench.analysis.patterns.program import LEAVES, Program, as_leaves
from workbench.analysis.regions import Region
from workbench.graph.model import Edge
from workbench.graph.nodes import reached


@dataclass(frozen=True)
class Escape:
    """One path by which a region is not closed."""

    kind: str
    "`enters`: a value computed without the parent; `constant`: a constant; `leaves`; `off-path`"
    path: tuple[int, ...]
    "node ids in the direction of the data, from the source outside to the node inside, or from the parent to the node outside"
    through: int
    "the node where the path enters or leaves, or that the path pattern does not match"
    words: str


@dataclass(frozen=True)
class Domination:
    """The result of `dominates` at one child."""

    child: int
    parent: int | None
    "the nearest parent on the paths up"
    escapes: tuple[Escape, ...]
    region: Region | None
    "from the parent to the nearest match of the child pattern on all its paths: the nodes that may be outlined, and their inputs"
    would_match: bool | None
    "whether the pattern would match at the region's exit if its inputs were variables of the function, in TVM 0.17.0 or newer"


def domination(program: Program, pattern: Pattern, dominates: int, child: int) -> Domination:
    """Return the result of the sub-pattern `dominates` at a child (a row) that matches its child pattern."""
    finder = _Finder(program, pattern, dominates, child)
    return finder.found()


class _Finder:
    def __init__(self, program: Program, pattern: Pattern, dominates: int, child: int) -> None:
        self.program = program
        self.pattern = pattern
        self.dominates = dominates
        self.parent_pattern, self.path_pattern, self.child_pattern = pattern.nodes[dominates].children
        self.matcher = Matcher(program, pattern)
        self.child = child
        self.parents: set[int] = set()
        self.walked = self._walk_up()
        self.inside = self._below_parents()

    def found(self) -> Domination:
        parent = max(self.parents, default=None)
        region = None if parent is None else self._region(parent)
        escapes = [*self._entering(), *self._off_path(), *(self._leaving(parent) if parent is not None else ())]
        told, would = None, None
        if region is not None:
            told, would = self._region_of_ids(*region), self._would_match(*region)
        node = None if parent is None else self._node(parent)
        return Domination(self._node(self.child) or 0, node, tuple(escapes), told, would)

    def _node(self, row: int) -> int | None:
        return self.program.nodes[row][0] if self.program.nodes[row] else None

    def _nodes(self, rows: list[int]) -> tuple[int, ...]:
        return tuple(dict.fromkeys(node for row in rows if (node := self._node(row)) is not None))

    def _sources(self, row: int) -> tuple[int, ...]:
        """Return the rows that the walk up visits next; callees are left out."""
        here = self.program.rows[row]
        return tuple(i for i in here.inputs if not (here.kind == "call" and i == here.parts[0]))

    def _walk_up(self) -> set[int]:
        seen, stack = {self.child}, [self.child]
        while stack:
            for source in self._sources(stack.pop()):
                if source in seen:
                    continue
                seen.add(source)
                if self.matcher.match(source, self.parent_pattern) is not None:
                    self.parents.add(source)
                else:
                    stack.append(source)
        return seen

    def _below_parents(self) -> set[int]:
        """Return the visited rows that are computed from a parent."""
        inside: set[int] = set()
        for row in sorted(self.walked - self.parents):
            if any(i in inside or i in self.parents for i in self._sources(row)):
                inside.add(row)
        return inside

    def _of_constants(self, row: int) -> bool:
        sources = (self.program.rows[source] for source in reached([row], self._sources))
        return not any(source.kind == "var" and not source.inputs for source in sources)

    def _entering(self) -> list[Escape]:
        found: list[Escape] = []
        for row in sorted(self.inside or {self.child}):
            for source in self._sources(row):
                if source in self.inside or source in self.parents:
                    continue
                leaf = self.program.rows[source].kind in LEAVES and self.program.rows[row].kind == "call"
                if leaf and self.program.skips_leaves:
                    continue
                found.append(self._entry(source, row))
        return found

    def _entry(self, source: int, row: int) -> Escape:
        way = [row, source]
        while self._sources(way[-1]):
            # the path that leads to a variable shows best where the value comes from
            way.append(min(self._sources(way[-1]), key=self._of_constants))
        words = f"{self.program.named(source)}, enters at {self.program.named(row)}"
        start, kind = self.program.rows[way[-1]], self.program.rows[source].kind
        if kind == "constant":
            return Escape("constant", self._nodes(way[::-1]), self._node(row) or 0, f"a constant, {words}")
        if self._of_constants(source):
            words = f"a value computed from constants alone, {words}; FoldConstant makes one constant of it"
        else:
            words = f"a value computed without the parent, {words}"
        if start.kind == "var" and way[-1] != source:
            words += f"; it comes from the input {start.name}"
        return Escape("enters", self._nodes(way[::-1]), self._node(row) or 0, words)

    def _off_path(self) -> list[Escape]:
        found: list[Escape] = []
        for row in sorted(self.inside - {self.child}):
            if self.matcher.match(row, self.path_pattern) is None:
                path = self.pattern.nodes[self.path_pattern].label
                words = f"{self.program.named(row)} is on the way, and the path pattern ({path}) does not match it"
                if self.program.rows[row].kind in ("get_item", "tuple"):
                    words += "; wildcard() as the path matches tuples and their fields too"
                found.append(Escape("off-path", self._nodes([row]), self._node(row) or 0, words))
        return found

    def _leaving(self, parent: int) -> list[Escape]:
        if self.program.dominated(parent, self.child):
            return []
        held, found, seen = self.inside | {parent}, list[Escape](), set[int]()
        stack = [[parent]]
        while stack:
            way = stack.pop()
            for user in reversed(self.program.users[way[-1]]):
                if user in seen or user == self.child:
                    continue
                seen.add(user)
                if user in held:
                    stack.append([*way, user])
                    continue
                words = f"the value of {self.program.named(way[-1])} also goes to {self.program.named(user)}, which does not lead through here"
                found.append(Escape("leaves", self._nodes([*way, user]), self._node(user) or 0, words))
        return found

    # -- the region that would match

    def _region(self, parent: int) -> tuple[int, int, set[int]] | None:
        """Return the parent, its nearest post-dominator that matches the child pattern, and all rows between."""
        exit = self.program.above[parent]
        while exit >= 0 and self.matcher.match(exit, self.child_pattern) is None:
            exit = self.program.above[exit]
        if exit < 0:
            return None
        return parent, exit, reached([parent], lambda row: () if row == exit else self.program.users[row])

    def _edges(self, entry: int, held: set[int]) -> list[tuple[int, int, int]]:
        """Return (source, row, argument position) of each value that enters the region, except the entry's own inputs."""
        return [
            (source, row, place)
            for row in sorted(held - {entry})
            for place, source in enumerate(self._sources(row))
            if source not in held and self.program.rows[source].kind not in ("op", "global")
        ]

    def _region_of_ids(self, entry: int, exit: int, held: set[int]) -> Region:
        """Return the region in node ids."""
        graph = self.program.graph
        entering = [
            (self._node(s), self._node(r), place, self._of_constants(s)) for s, r, place in self._edges(entry, held)
        ]
        edges = [
            (Edge(s, r, place, graph.nodes[s].type), c)
            for s, r, place, c in entering
            if s is not None and r is not None
        ]
        into, out = self._node(entry) or 0, self._node(exit) or 0
        leaving = [Edge(out, user, place, graph.nodes[out].type) for user, place in graph.consumers[out]]
        return Region(
            into,
            out,
            tuple(sorted(set(self._nodes(sorted(held))))),
            tuple(edge for edge, constant in edges if not constant),
            tuple(edge for edge, constant in edges if constant),
            tuple(leaving),
        )

    def _would_match(self, entry: int, exit: int, held: set[int]) -> bool:
        entering = frozenset(s for s, _, _ in self._edges(entry, held) if computes(self.program.rows[s]))
        other = as_leaves(self.program, entering)
        other.skips_leaves = True
        return Matcher(other, self.pattern).match(exit, self.dominates) is not None
