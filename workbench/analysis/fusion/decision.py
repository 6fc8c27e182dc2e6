"""One verdict of the fusion algorithm, with what it was decided on. Sentences are made when somebody reads them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.analysis.fusion.reasons import REASONS, sentence
from workbench.graph.nodes import PATTERNS, Node

if TYPE_CHECKING:
    from workbench.analysis.fusion.partition import Partition, Settings


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether one node joined its post-dominator, in one phase."""

    phase: int | None
    "0, 1 or 2; None for what no phase looks at"
    node: int
    "the producer"
    dominator: int | None
    "its immediate post-dominator, where all that uses its value leads"
    code: str
    "a key of reasons.REASONS"
    data: Any
    "what the test saw: a size, a node and its kind, (parameters, limit)"
    kinds: tuple[tuple[int, int], ...]
    "(node, pattern kind of its kernel then) for each node that the test looked at"
    _run: Partition = field(repr=False, compare=False)
    _nodes: tuple[Node, ...] = field(repr=False, compare=False)

    @property
    def fused(self) -> bool:
        return self.code == "fused"

    @property
    def reason(self) -> str:
        """The reason in short."""
        return REASONS[self.code]

    @property
    def sentence(self) -> str:
        """The reason in words, with the nodes' names."""
        return sentence(self)

    @property
    def between(self) -> list[int]:
        """The nodes on the ways from the node to its post-dominator, without either."""
        return [] if self.dominator is None else self._run.between(self.node)

    @property
    def path(self) -> tuple[tuple[int, int], ...]:
        """(node, own pattern kind) for the node, what lies between, and the post-dominator."""
        end = [] if self.dominator is None else [self.dominator]
        return tuple((n, self._run.forward.kinds[n]) for n in (self.node, *sorted(self.between), *end))

    @property
    def users(self) -> list[tuple[int, int]]:
        """(consumer, pattern kind of the use) pairs of the node."""
        return self._run.forward.users[self.node]

    @property
    def settings(self) -> Settings:
        return self._run.settings

    @property
    def own_kind(self) -> int:
        """The pattern kind of the node's own record: an operator that took in a complex one counts as complex."""
        return self._run.kind[self.node]

    @property
    def strongest_use(self) -> tuple[int, int, int]:
        """The (producer, consumer, kind) on the ways to the post-dominator with the largest kind, the nearest such."""
        users, between = self._run.forward.users, self.between
        uses = [(n, user, kind) for n in (self.node, *between) for user, kind in users[n]]
        return max(uses, key=lambda use: use[2])

    def complex_in_kernel_of(self, node: int) -> int | None:
        """The complex operator in the kernel that the node ended up in, if there is one."""
        return self._run.anchors.get(self._run.root(node))

    def named(self, node: int | None) -> str:
        """How sentences call a node."""
        if node is None:
            return "its consumers"
        found = self._nodes[node]
        what = {"get_item": f"field {found.op}", "constant": f"the constant {found.op}"}.get(found.kind, found.op)
        return f"{what} (node {node})"

    def to_data(self) -> dict[str, Any]:
        """Plain values, for a page or a file."""
        return {
            "phase": self.phase,
            "node": self.node,
            "dominator": self.dominator,
            "code": self.code,
            "fused": self.fused,
            "path": [{"node": node, "kind": PATTERNS[kind]} for node, kind in self.path],
            "seen": [{"node": node, "kind": PATTERNS[kind]} for node, kind in self.kinds],
            "sentence": self.sentence,
        }
