"""A group of sibling branches, and what a pass would make of it: the same for both dialects."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from workbench.analysis.branches.contraction import merged
from workbench.analysis.branches.cost import Change, change
from workbench.analysis.branches.finder import Reason
from workbench.graph.model import Graph
from workbench.terminal import visible

KINDS = ("identical", "combinable", "hazard", "near")


@dataclass(frozen=True)
class BranchGroup:
    """Sibling branches, and what a pass would make of them."""

    kind: str
    """identical: they compute the same, one will do. combinable: a pass makes one wider computation of them. hazard: a pass
    would take them, and crashes, raises or computes something else. near: no pass takes them"""
    producer: int | None
    "the node whose value the branches share; None if there is none"
    branches: tuple[tuple[int, ...], ...]
    "for each branch the nodes that are merged, from the producer on; those at one place become one"
    passes: str
    "the pass that merges them, as a Pipeline's text; of a near miss, the one that does not"
    opt_level: int = 4
    "the level from which TVM's Sequential runs the pass"
    reasons: tuple[Reason, ...] = ()
    "why no more is merged, or nothing; each with a code and a sentence"
    hazards: tuple[Reason, ...] = ()
    "what happens to the person who runs the pass"
    graph: Graph = field(default_factory=Graph, repr=False, compare=False)
    instead: Mapping[int, int] = field(default_factory=dict, repr=False, compare=False)
    "of identical branches, each node that goes and the equal node that stays"
    together: int = field(default=1, compare=False)
    "the groups that one run of the pass combines, this one included"
    apart: tuple[int, ...] = field(default=(), repr=False, compare=False)
    "kernels that the pass takes apart to fuse them again"

    @cached_property
    def change(self) -> Change | None:
        """Operators, kernels and bytes after less before, worked out when first asked for.

        Of combinable branches TVM runs the pass, so this is the change of all groups that the pass combines. None for a near miss or
        a hazard, and where there is no module to run the pass on.
        """
        if self.kind == "identical":
            return change(self.graph, merged(self.graph, self.instead), self._weights, self.apart)
        if self.kind != "combinable" or self.graph.ask_after is None:
            return None
        after = self.graph.ask_after(*_name_and_options(self.passes))
        return None if after is None else change(self.graph, after, self._weights)

    @property
    def _weights(self) -> list[int]:
        """The parameters that only enter the branches beside the producer's value, as they are or transposed and the like."""
        inside = {node for branch in self.branches for node in branch}
        beside = {s for node in inside for s in self.graph.inputs[node]} - inside - {self.producer}
        found = {source for s in beside if (source := self._start(s)) not in inside | {self.producer}}
        return sorted(s for s in found if self.graph.nodes[s].kind == "param")

    def _start(self, node: int) -> int:
        """Where a value comes from that operators with no other argument made of it."""
        nodes, inputs = self.graph.nodes, self.graph.inputs
        while nodes[node].kind == "op":
            values = [s for s in inputs[node] if nodes[s].kind not in ("constant", "shape")]
            if len(values) != 1:
                break
            (node,) = values
        return node

    @property
    def cost(self) -> str:
        """The operators, kernels and bytes that the merge costs or saves, in a sentence; empty for a near miss or a hazard."""
        if self.kind in ("near", "hazard"):
            return ""
        found = self.change
        if found is None:
            return "not tried: needs TVM" if self.graph.ask_after is None else "not known: the pass raises"
        others = f", with the other {self.together - 1} of this pass" if self.together > 1 else ""
        if found.kernels is None:
            why = "FuseOps fails on this graph before SimplifyInference"
            if self.graph.dialect == "relax":
                why = "an operator's kind for FuseOps is only known after LegalizeOps"
            return f"{_signed(found.ops, 'operator')}{others}; kernels are not known, as {why}"
        counts = (found.ops, "operator"), (found.kernels, "kernel"), (found.traffic_bytes or 0, "byte")
        said = ", ".join(_signed(*count) for count in counts) + others
        if found.kernels > 0:
            return f"{said}: what takes the branches apart again needs kernels of its own (slices-cost-kernels)"
        return said

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of all reasons and hazards."""
        return tuple(reason.code for reason in (*self.reasons, *self.hazards))

    def __str__(self) -> str:
        ops = " -> ".join(self.graph.nodes[node].op for node in self.branches[0])
        said = [f"{self.kind}: {len(self.branches)} branches of {ops} ({self.passes})"]
        said += [f"  {reason.code}: {reason.sentence}" for reason in (*self.hazards, *self.reasons)]
        return visible("\n".join([*said, f"  {self.cost}"] if self.cost else said))


def _name_and_options(passes: str) -> tuple[str, tuple[tuple[str, object], ...]]:
    """Return a pass's name and options, read from its text."""
    name, _, inside = passes.removesuffix("}").partition("{")
    call = ast.parse(f"options({inside})", mode="eval").body
    assert isinstance(call, ast.Call)
    return name, tuple((word.arg or "", ast.literal_eval(word.value)) for word in call.keywords)


def _signed(number: int, what: str) -> str:
    return f"{number:+,} {what}{'' if abs(number) == 1 else 's'}"


def producer(graph: Graph, branches: Sequence[Sequence[int]]) -> int | None:
    """The first value, other than a constant, that every branch starts from."""
    shared = set.intersection(*({s for n in branch for s in graph.inputs[n]} for branch in branches))
    inside = {node for branch in branches for node in branch}
    values = [s for s in graph.inputs[branches[0][0]] if s in shared - inside]
    values += sorted(shared - inside)
    return next((s for s in values if graph.nodes[s].kind != "constant"), None)
