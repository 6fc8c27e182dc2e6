"""The result of a comparison of two graphs, by `diff` or by `compose`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from workbench.graph.nodes import CallableDict
from workbench.terminal import html_table
from workbench.wording import counted

Mark = Literal["kept", "changed", "removed", "added", "merged", "split"]
MARKS: tuple[Mark, ...] = get_args(Mark)
"the fields of GraphDiff; the page has them from js/model/messages.ts"


@dataclass(frozen=True)
class GraphDiff:
    """The difference of two graphs, in node ids of the graph before and of the graph after."""

    kept: tuple[tuple[int, int], ...]
    "(before, after): the same operator, attributes, type and inputs"
    changed: tuple[tuple[int, int], ...]
    "(before, after): the same node with other attributes, type or inputs, or a variant of its operator"
    removed: tuple[int, ...]
    added: tuple[int, ...]
    merged: tuple[tuple[tuple[int, ...], int], ...]
    "(before ids, after): several nodes became one"
    split: tuple[tuple[int, tuple[int, ...]], ...]
    "(before, after ids): one node became several"

    @cached_property
    def mapping(self) -> dict[int, tuple[int, ...]]:
        """Before id -> after ids, for every node that was not removed."""
        found: dict[int, tuple[int, ...]] = {b: (a,) for b, a in (*self.kept, *self.changed)}
        found.update((b, (a,)) for many, a in self.merged for b in many)
        found.update(self.split)
        return found

    @property
    def empty(self) -> bool:
        """Return whether nothing changed."""
        return not (self.changed or self.removed or self.added or self.merged or self.split)

    @property
    def edits(self) -> int:
        """The number of nodes changed, removed, added, or lost and gained in merges and splits."""
        extra = sum(len(many) - 1 for many, _ in self.merged) + sum(len(many) - 1 for _, many in self.split)
        return len(self.changed) + len(self.removed) + len(self.added) + extra

    @cached_property
    def counts(self) -> CallableDict[Mark, int]:
        """The number of entries of each kind; a merge or a split counts once."""
        return CallableDict({mark: len(getattr(self, mark)) for mark in MARKS})

    def inverse(self) -> GraphDiff:
        """Return the difference from after to before."""
        return GraphDiff(
            kept=tuple(sorted((a, b) for b, a in self.kept)),
            changed=tuple(sorted((a, b) for b, a in self.changed)),
            removed=self.added,
            added=self.removed,
            merged=tuple(sorted(((many, b) for b, many in self.split), key=lambda merge: merge[1])),
            split=tuple(sorted((a, many) for many, a in self.merged)),
        )

    def __repr__(self) -> str:
        return f"GraphDiff({', '.join(f'{kind} {n}' for kind, n in self.counts.items() if n)})"

    def _repr_html_(self) -> str:
        return html_table(
            "no change" if self.empty else counted(self.edits, "edit"),
            [{str(mark): n for mark, n in self.counts.items()}],
        )
