"""The memory plan of a build in the same terms for every dialect, before it is joined with the graph."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any

from workbench.analysis.tensors import Tensor
from workbench.dialects.compiler.counted import OUTSIDE, Program

LASTING = ("input", "output", "parameter", "constant")
"roles of tensors that are needed until the end of the run"


@dataclass
class Value:
    """A tensor of a run."""

    tensor: Tensor
    role: str
    "as in PlannedTensor"
    name: str = ""
    "empty: that of the kernel that makes it"
    born: int = OUTSIDE
    "the call that makes it"
    storage: int | None = None
    bytes: int | None = None
    "with an upper bound if open, 0 if it has none; None: those of `tensor`"
    expression: str = ""
    "of an open size"
    readers: list[int] = field(default_factory=list)
    "calls, in order"


@dataclass(frozen=True)
class Block:
    """A storage."""

    id: int
    bytes: int
    device: str
    expression: str = ""
    scope: str = "global"
    planned: bool = True


@dataclass(frozen=True)
class Planned:
    """The calls of a run, its tensors, and the blocks of memory that the executor allocates for them."""

    program: Program
    steps: int
    "the number of calls that are planned, the first ones of the program"
    module: Any
    "with a function of operators for each kernel, to be drawn"
    values: list[Value]
    blocks: list[Block]
    allocated_first: bool
    "whether the executor allocates all blocks before the first step"
    freed: bool
    "whether it frees a block after the last use of its tensors"
    notes: tuple[str, ...] = ()
    unproven: frozenset[str] = frozenset()
    "keys of kernels, or of the whole program, for which only a build shows that TVM compiles them"

    def failed(self, reason: str, ours: bool = False) -> Planned:
        """Return the plan of a program that no build takes; with `ours` of one that the workbench does not build."""
        program = replace(self.program, **{"unbuilt" if ours else "failing": reason})
        return replace(self, program=program, notes=(reason, *self.notes))

    def dies(self, value: Value) -> int:
        """Return the last step that needs a tensor."""
        return self.steps - 1 if value.role in LASTING else max(value.readers, default=value.born)

    @cached_property
    def held_bytes(self) -> list[int]:
        """For each step the bytes of the blocks that the executor holds."""
        spans: dict[int, tuple[int, int]] = {}
        for value in self.values:
            if value.storage is not None:
                born, dies = spans.get(value.storage, (self.steps, OUTSIDE))
                spans[value.storage] = min(born, value.born), max(dies, self.dies(value))
        change = [0] * (self.steps + 1)
        for block in (each for each in self.blocks if each.id in spans):
            born, dies = spans[block.id]
            change[0 if self.allocated_first else max(born, 0)] += block.bytes
            change[dies + 1 if self.freed else self.steps] -= block.bytes
        return list(accumulate(change[:-1]))

    @property
    def peak_bytes(self) -> int | None:
        """The largest of `held_bytes`; None if the plan is not exact."""
        return None if self.notes else max(self.held_bytes, default=0)

    def counts(self) -> dict[str, Any]:
        """Return the counts of `wb.count`."""
        return {**self.program.counts(), "peak_bytes": self.peak_bytes}
