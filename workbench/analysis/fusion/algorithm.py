"""The fusion algorithm as TVM runs it, with a reason for each verdict (src/relay/analysis/graph_partitioner.cc).

Every node starts as a kernel of its own. In three phases, each over all nodes in the order of TVM's visitor, a node
is merged with all nodes between it and its immediate post-dominator, if the tests of the phase hold. A node has its own
record (kind, anchor, count, parameters), and its kernel has another one; each rule specifies which of the two a test
reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from workbench.analysis.fusion.forward import (
    BROADCAST,
    COMM_REDUCE,
    ELEMWISE,
    INJECTIVE,
    OPAQUE,
    OUT_ELEMWISE,
    TUPLE,
    Arguments,
    Forward,
)

NONE = -1


@dataclass(frozen=True)
class Settings:
    """The settings of the pass."""

    opt_level: int = 2
    "0 merges nothing; 1 and more are the same"
    max_depth: int = 256
    "most nodes in a kernel"
    max_function_args: int = 0
    "most parameters of a kernel; 0 for no limit. TVM reads it from the target: 128 for opencl, 31 for metal"


class Verdict(NamedTuple):
    """The outcome for one node in one phase."""

    phase: int
    node: int
    dominator: int
    code: str
    "a key of reasons.REASONS"
    data: Any
    "the operands of the test"
    kinds: tuple[tuple[int, int], ...]
    "(node, kind of its kernel at that time) for each node that the test looked at"


class TwoAnchors(Exception):
    """TVM fails a check here: a postponed merge would join two kernels with an anchor each."""

    def __init__(self, node: int, dominator: int) -> None:
        super().__init__()
        self.node, self.dominator = node, dominator


class Partition:
    """One run of the algorithm."""

    def __init__(self, forward: Forward, settings: Settings) -> None:
        self.forward = forward
        self.settings = settings
        size = len(forward.kinds)
        self.kind = list(forward.kinds)
        self.anchor = [kind == OUT_ELEMWISE for kind in self.kind]
        self.count = [1] * size
        self.above = list(range(size))
        self.dominator = [NONE] * size
        self.dominator_kind = [OPAQUE] * size
        self.verdicts: list[Verdict] = []
        self.arguments: Arguments | None = None
        self.parameters: list[int] = []
        self.waiting: dict[int, list[int]] = {}
        self.put_off_to = NONE
        self._between: dict[int, list[int]] = {}
        if settings.max_function_args and forward.arguments:
            self.arguments = forward.arguments()
            self.parameters = list(self.arguments.own)
            extra = len(self.parameters) - size
            # records of calls are never merged; only their parameters are read
            self.above += range(size, size + extra)

    def run(self) -> None:
        """Merge nodes in all phases; raises TwoAnchors where TVM's own pass fails."""
        self._find_dominators()
        if self.settings.opt_level < 1:
            return
        candidates = [n for n, kind in enumerate(self.kind) if kind != OPAQUE and self.dominator[n] != NONE]
        for phase in (0, 1, 2):
            for node in range(len(self.kind)) if self.arguments else candidates:
                self._visit(node, phase)

    def root(self, node: int) -> int:
        """Return the node into which the whole kernel was merged."""
        above = self.above
        while above[node] != node:
            above[node] = above[above[node]]
            node = above[node]
        return node

    def between(self, node: int) -> list[int]:
        """Return the nodes on the paths from a node to its post-dominator, without either."""
        known = self._between.get(node)
        if known is None:
            end, users = self.dominator[node], self.forward.users
            seen, known = {node, end}, []
            waiting = [node]
            while waiting:
                for user, _ in users[waiting.pop()]:
                    if user not in seen:
                        seen.add(user)
                        known.append(user)
                        waiting.append(user)
            self._between[node] = known
        return known

    # -- post-dominators, with the largest kind on the path

    def _find_dominators(self) -> None:
        users, held, kinds = self.forward.users, self.forward.held, self.forward.kinds
        depth = [1] * len(kinds)
        produced = {user for uses in users for user, _ in uses}
        for node in range(len(kinds) - 1, -1, -1):
            # no test reads the dominator of an Opaque node without inputs
            if held[node] or not users[node] or (kinds[node] == OPAQUE and node not in produced):
                continue
            (parent, kind), *rest = users[node]
            for user, edge in rest:
                kind = max(kind, edge)
                parent, kind = self._meet(parent, user, kind, depth)
                if parent == NONE:
                    break
            if parent != NONE:
                self.dominator[node], self.dominator_kind[node] = parent, kind
                depth[node] = depth[parent] + 1

    def _meet(self, a: int, b: int, kind: int, depth: list[int]) -> tuple[int, int]:
        """Return the lowest common ancestor, and the largest of `kind` and the kinds on the paths to it."""
        parents, kinds = self.dominator, self.dominator_kind
        while a != b:
            if depth[a] < depth[b]:
                a, b = b, a
            level = depth[a] == depth[b]
            kind, a = max(kind, kinds[a]), parents[a]
            if level:
                kind, b = max(kind, kinds[b]), parents[b]
            if a == NONE or b == NONE:
                return NONE, kind
        return a, kind

    # -- one node in one phase

    def _visit(self, node: int, phase: int) -> None:
        self.put_off_to = NONE
        if node in self.waiting:
            self._merge_what_waited(node, phase)
        dominator = self.dominator[node]
        if self.kind[node] == OPAQUE or dominator == NONE:
            return
        code, data, kinds = self._judge(node, dominator, phase)
        if code == "fused" and self.put_off_to != NONE:
            self.waiting.setdefault(self.put_off_to, []).append(node)
            code, data = "postponed", self.put_off_to
        elif code == "fused":
            self._merge(node, dominator)
        self.verdicts.append(Verdict(phase, node, dominator, code, data, kinds))

    def _judge(self, node: int, dominator: int, phase: int) -> tuple[str, Any, tuple[tuple[int, int], ...]]:
        """Return the verdict, its operands, and the kinds that were read."""
        kind, root = self.kind[node], self.root(dominator)
        if self.root(node) == root:
            return "together", None, ()
        size = self.count[root] + self.count[node] + sum(self.count[n] for n in self.between(node))
        if size > self.settings.max_depth:
            return "max_depth", size, ()
        if self.arguments and (limit := self._limit(node)) > 0:
            needs = max(self._needs(user, put_off=True) for user in self._entered_first(node))
            if needs > limit:
                return "max_function_args", (needs, limit), ()
        if phase == 2:
            return self._judge_tuple(node, dominator, kind, root)
        if self.kind[dominator] == TUPLE:
            return "tuple", None, ()
        if kind == COMM_REDUCE:
            return "reduction", None, ()
        if kind == OUT_ELEMWISE:
            if phase != 0:
                return "phase", 0, ()
            if self.dominator_kind[node] != ELEMWISE:
                return "dominator_kind", self.dominator_kind[node], ()
            return self._along(node, dominator, BROADCAST, (BROADCAST,))
        if kind <= BROADCAST:
            if self.dominator_kind[node] > COMM_REDUCE:
                return "dominator_kind", self.dominator_kind[node], ()
            return self._along(node, dominator, INJECTIVE, (INJECTIVE, COMM_REDUCE, OUT_ELEMWISE))
        if phase != 1:
            return "phase", 1, ()
        return self._along(node, dominator, INJECTIVE, (INJECTIVE,))

    def _judge_tuple(self, node: int, dominator: int, kind: int, root: int) -> tuple[str, Any, Any]:
        """Return the verdict on an input of a kernel's tuple, such as a concatenate's, which may join in phase 2."""
        if self.kind[dominator] != TUPLE:
            return "phase", (0 if kind == OUT_ELEMWISE else 1), ()
        if kind > INJECTIVE:
            return "tuple_kind", kind, ()
        if self.kind[root] == TUPLE:
            return "tuple", None, ()
        if self.kind[root] > INJECTIVE:
            return "path_kind", (dominator, self.kind[root], INJECTIVE), ((dominator, self.kind[root]),)
        return self._along(node, dominator, INJECTIVE, (INJECTIVE,))

    def _along(self, node: int, dominator: int, most: int, ends: tuple[int, ...]) -> tuple[str, Any, Any]:
        """Test the kernels between a node and its post-dominator, and the post-dominator's."""
        seen: list[tuple[int, int]] = []
        for other in self.between(node):
            kind = self.kind[self.root(other)]
            seen.append((other, kind))
            if kind > most:
                return "path_kind", (other, kind, most), tuple(seen)
        kind = self.kind[self.root(dominator)]
        seen.append((dominator, kind))
        if kind > ends[0] and kind not in ends:
            return "path_kind", (dominator, kind, max(ends)), tuple(seen)
        return "fused", None, tuple(seen)

    # -- merging

    def _merge(self, node: int, dominator: int) -> None:
        for member in (node, *self.between(node)):
            self._join(member, dominator)

    def _join(self, child: int, parent: int) -> None:
        low, top = self.root(child), self.root(parent)
        if low == top:
            return
        if self.anchor[low] and self.anchor[top]:
            raise TwoAnchors(child, parent)
        self.above[low] = top
        self.count[top] += self.count[low]
        if self.arguments:
            self.parameters[top] += self.parameters[low]
        if self.anchor[low]:
            self.anchor[top] = True
            self.kind[top] = max(self.kind[top], self.kind[low])

    # -- max_function_args

    def _limit(self, node: int) -> int:
        """Return the limit of parameters, less those that each use of the node takes for its result."""
        assert self.arguments
        return max(0, self.settings.max_function_args - self.arguments.uses[node])

    def _entered_first(self, node: int) -> list[int]:
        """Return the consumers in TVM's order; a merge waits for the last one that is not known well enough."""
        assert self.arguments
        return sorted((user for user, _ in self.forward.users[node]), key=self.arguments.entered.__getitem__)

    def _needs(self, node: int, *, put_off: bool) -> int:
        """Return the number of parameters of a kernel with this node and its producers.

        If a producer's kernel has no parameters yet, its number is not known. With `put_off` the merge is postponed until this
        node is visited; without it, the producers of that producer are counted.
        """
        assert self.arguments
        needs, seen = self.parameters[node], {self.root(node)}
        for source in self.arguments.reads[node]:
            root = self.root(source)
            if root in seen:
                continue
            seen.add(root)
            if self.parameters[root] > 0:
                needs += self.parameters[root]
            elif put_off:
                self.put_off_to = node
            else:
                needs += self._needs(source, put_off=False)
        return needs

    def _merge_what_waited(self, node: int, phase: int) -> None:
        """Do the merges that were postponed until this node, the last first; paths and depth are not tested again."""
        for source in reversed(self.waiting.pop(node)):
            dominator = self.dominator[source]
            needs, limit = self._needs(node, put_off=False), self._limit(node)
            if needs > limit:
                self.verdicts.append(Verdict(phase, source, dominator, "max_function_args", (needs, limit), ()))
            elif self.anchor[dominator]:
                self.verdicts.append(Verdict(phase, source, dominator, "late_anchor", None, ()))
            else:
                self._merge(source, dominator)
                self.verdicts.append(Verdict(phase, source, dominator, "fused", "postponed", ()))

    @cached_property
    def anchors(self) -> dict[int, int]:
        """Return the complex operator of each kernel that has one, by the kernel's root, once the algorithm has run."""
        return {self.root(n): n for n, kind in enumerate(self.forward.kinds) if kind == OUT_ELEMWISE}

    def kernels(self) -> Iterator[list[int]]:
        """Yield the nodes of each kernel, ascending, in the order of their last node."""
        members: dict[int, list[int]] = {}
        for node in range(len(self.kind)):
            members.setdefault(self.root(node), []).append(node)
        for root in sorted(members):
            yield members[root]
