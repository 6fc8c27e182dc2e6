"""What a combiner makes of a group of branches: the nodes it puts down, one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.analysis.tensors import Tensor, tensor
from workbench.graph.model import Graph

Ref = tuple[str, int]
"`old` and a node's id, or `new` and the place of an item in its recipe"
INJECTIVE, BROADCAST = 2, 1


@dataclass(frozen=True)
class Item:
    """A node that a combiner makes."""

    kind: str
    op: str
    inputs: tuple[Ref, ...]
    type: str
    pattern: int | None = None
    attrs: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Recipe:
    """What one group of branches becomes."""

    graph: Graph
    items: list[Item] = field(default_factory=list)
    ends: dict[int, Ref] = field(default_factory=dict)
    "the last node of each branch -> what its users read instead"
    tidies: bool = False
    "whether the pass removes dead code afterwards"

    def add(self, kind: str, op: str, inputs: Iterable[Ref], type: Tensor | str, pattern: int | None = None) -> Ref:
        """Put an item down; gives its reference."""
        self.items.append(Item(kind, op, tuple(inputs), str(type), pattern))
        return ("new", len(self.items) - 1)

    def type(self, ref: Ref) -> Tensor:
        """The tensor type of a value."""
        text = self.graph.nodes[ref[1]].type if ref[0] == "old" else self.items[ref[1]].type
        found = tensor(text)
        assert found is not None, f"{text} is no tensor type"
        return found

    def tuple(self, fields: Sequence[Ref]) -> Ref:
        """A tuple of these values."""
        return self.add("tuple", "tuple", fields, f"({', '.join(str(self.type(f)) for f in fields)})")

    def concatenate(self, fields: Sequence[Ref], axis: int) -> Ref:
        """One after the other along an axis."""
        return self.add(
            "op", "concatenate", [self.tuple(fields)], joined([self.type(f) for f in fields], axis), INJECTIVE
        )

    def stack(self, fields: Sequence[Ref]) -> Ref:
        """One above the other, on a new axis in front."""
        one = self.type(fields[0])
        return self.add("op", "stack", [self.tuple(fields)], Tensor((len(fields), *one.shape), one.dtype), INJECTIVE)

    def like(self, node: int, inputs: Iterable[Ref], type: Tensor) -> Ref:
        """The operator of a node on other inputs."""
        model = self.graph.nodes[node]
        return self.add("op", model.op, inputs, type, model.pattern)

    def unstacked(self, whole: Ref, ends: Sequence[int]) -> None:
        """Split along the first axis and give each part, without that axis, to the users of an end."""
        kinds = [tensor(self.graph.nodes[end].type) for end in ends]
        ones = [Tensor((1, *kind.shape), kind.dtype) for kind in kinds if kind is not None]
        split = self.add("op", "split", [whole], f"({', '.join(map(str, ones))})", INJECTIVE)
        fields = [self.add("get_item", f".{place}", [split], kind) for place, kind in enumerate(ones)]
        for end, item in zip(ends, fields, strict=True):
            self.ends[end] = self.add("op", "squeeze", [item], self.graph.nodes[end].type, INJECTIVE)


def joined(kinds: Sequence[Tensor], axis: int) -> Tensor:
    """The type of these tensors joined along an axis."""
    shape = list(kinds[0].shape)
    shape[axis] = sum(d for d in (kind.shape[axis] for kind in kinds) if isinstance(d, int))
    return Tensor(tuple(shape), kinds[0].dtype)
