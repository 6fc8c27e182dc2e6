"""A group of sibling branches, and the cost of merging them in operators, kernels and bytes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from workbench.analysis.fusion import explain_fusion
from workbench.analysis.outcome import FAILED, LEFT, MERGED, Outcome, Reason, failed, remains
from workbench.analysis.tensors import nbytes
from workbench.graph.model import Graph, Node
from workbench.terminal import columns_svg, visible
from workbench.wording import counted

KINDS = ("identical", "combinable", "hazard", "near")
EQUAL_PASSES = ("EliminateCommonSubexpr", "MergeIdenticalKernels")
"passes that merge equal branches"
KINDS_OF_RELAX = "LegalizeOps,AnnotateTIROpPattern"
"the passes that run before FuseOps in Relax, which reads the kinds that they find"


@dataclass(frozen=True)
class BranchGroup:
    """Sibling branches, with the pass that merges them, its reasons and hazards."""

    kind: str
    """identical: they compute the same, one is enough. combinable: a pass makes one wider computation of them. hazard: a pass
    would take them, and crashes, raises or computes something else. near: no pass takes them"""
    producer: int | None
    "the node whose value the branches share; None if there is none"
    branches: tuple[tuple[int, ...], ...]
    "for each branch the nodes that are merged, from the producer on; those at one position become one"
    passes: str
    "the pass that merges them, as a Pipeline's text; for a near miss, the one that does not"
    opt_level: int = 4
    "the level from which TVM's Sequential runs the pass"
    reasons: tuple[Reason, ...] = ()
    "why no more is merged, or nothing at all; each with a code and a sentence"
    hazards: tuple[Reason, ...] = ()
    "what goes wrong when the pass runs"
    graph: Graph = field(default_factory=Graph, repr=False, compare=False)
    together: int = field(default=0, compare=False)
    "the groups that one run of the pass merges by the rules, this one included if it is one"

    @cached_property
    def outcome(self) -> Outcome:
        """The result of the pass on the graph's module, computed on first use: TVM runs it in a child process."""
        found = failed(self.graph, self.passes)
        if found is not None:
            return replace(found, contradicts=found.status == FAILED and self.kind in ("identical", "combinable"))
        return self._outcome()

    def _outcome(self) -> Outcome:
        merged = self._merged()
        if self.kind in ("identical", "combinable"):
            if merged:
                return Outcome(MERGED, "merged as stated")
            said = "not merged: the rules allow it, and TVM's pass leaves some of the branches"
            return Outcome(LEFT, said, contradicts=True)
        if not merged:
            return Outcome(LEFT, "not merged")
        if self.kind == "hazard":
            return Outcome(MERGED, "merged, without an error of TVM")
        if self.together:
            return Outcome(MERGED, "each is merged, with other branches")
        return Outcome(MERGED, "merged: the rules refuse it, and TVM's pass does it", contradicts=True)

    def _merged(self) -> bool:
        after, lasts = remains(self.graph, self.passes), [branch[-1] for branch in self.branches]
        if self.passes in EQUAL_PASSES:
            return after.merges(lasts) and (self.kind == "identical" or after.leaves_one(lasts[0]))
        # a diff may pair nodes wrongly where several differ in their inputs only, so the counts of operators are a second sign
        signs = after.replaces(lasts), after.leaves_fewer(lasts)
        return any(signs) if self.kind == "combinable" else all(signs)

    @cached_property
    def change(self) -> Change | None:
        """Difference in operators, kernels and bytes (after minus before) of all groups that the pass merges.

        TVM runs the pass on first use. None for a near miss or a hazard, and where TVM does not merge these branches or
        there is no module to run the pass on.
        """
        if self.kind not in ("identical", "combinable") or self.outcome.status != MERGED:
            return None
        ops = len(remains(self.graph, self.passes).graph.ops) - len(self.graph.ops)
        weights = self._weights
        bound = [place for place, node in enumerate(_params(self.graph)) if node in weights]
        ours, theirs = (fused(self._lowered(passes), bound) for passes in ("", self.passes))
        if ours is None or theirs is None:
            return Change(ops, None, None)
        return Change(ops, theirs[0] - ours[0], theirs[1] - ours[1])

    def _lowered(self, passes: str) -> Graph | None:
        """Return the graph after passes as FuseOps sees it; in Relax, operators have a kind only as PrimFuncs."""
        lower = KINDS_OF_RELAX if self.graph.dialect == "relax" and not is_lowered(self.graph) else ""
        steps = ",".join(filter(None, (passes, lower)))
        if not steps or self.graph.ask_after is None:
            return self.graph
        found = self.graph.ask_after(steps).graph
        return None if found is None or (lower and any(node.pattern is None for node in found.ops)) else found

    @property
    def _weights(self) -> list[int]:
        """Return the parameters that enter only the branches, directly or through a transpose and the like."""
        inside = {node for branch in self.branches for node in branch}
        beside = {s for node in inside for s in self.graph.inputs[node]} - inside - {self.producer}
        found = {source for s in beside if (source := self._start(s)) not in inside | {self.producer}}
        return sorted(s for s in found if self.graph.nodes[s].kind == "param")

    def _start(self, node: int) -> int:
        """Return the source of a value, past operators with one argument."""
        nodes, inputs = self.graph.nodes, self.graph.inputs
        while nodes[node].kind == "op":
            values = [s for s in inputs[node] if nodes[s].kind not in ("constant", "shape")]
            if len(values) != 1:
                break
            (node,) = values
        return node

    @property
    def cost(self) -> str:
        """The cost of the merge in operators, kernels and bytes, as a sentence; empty for a near miss or a hazard.

        Where TVM does not merge the branches, the sentence is the outcome.
        """
        if self.kind in ("near", "hazard"):
            return ""
        found = self.change
        if found is None:
            return self.outcome.sentence
        others = f", with the other {self.together - 1} of this pass" if self.together > 1 else ""
        if found.kernels is None:
            why = "FuseOps fails on this graph before SimplifyInference"
            if self.graph.dialect == "relax":
                why = f"{KINDS_OF_RELAX} do not give every operator a kind"
            return f"{_signed(found.ops, 'operator')}{others}; kernels are not known, as {why}"
        counts = (found.ops, "operator"), (found.kernels, "kernel"), (found.traffic_bytes or 0, "byte")
        said = ", ".join(_signed(*count) for count in counts) + others
        if found.kernels > 0:
            return f"{said}: what takes the branches apart again needs kernels of its own (slices-cost-kernels)"
        return said

    def line(self) -> dict[str, object]:
        """Return the row of a table, without asking TVM."""
        ops = [self.graph.path(branch) for branch in self.branches]
        shared = "" if self.producer is None else f"{self.graph.path([self.producer])} → "
        why = "; ".join(reason.sentence for reason in (*self.hazards, *self.reasons))
        return {
            "branches": f"{shared}({' | '.join(ops)})",
            "kind": self.headline,
            "pass": self.passes,
            "reason": why,
        }

    def picture(self) -> str:
        """Return SVG of the shared value and, below it, the operators of each branch."""
        name, most = self.graph.path, 6
        columns = [[name([node]) for node in branch[:most]] for branch in self.branches[:most]]
        more = len(self.branches) - most
        top = "" if self.producer is None else name([self.producer])
        named = f"{self.kind}: {counted(len(self.branches), 'branch')}" + (f", {more} not drawn" if more > 0 else "")
        return columns_svg(named, top, columns)

    @property
    def results(self) -> tuple[str, ...]:
        """The outcome, and the cost where TVM merges the branches; TVM runs the pass on first use."""
        return tuple(dict.fromkeys((self.outcome.sentence, *filter(None, [self.cost]))))

    @property
    def asked(self) -> bool:
        """Return whether `results` are known without asking TVM now."""
        return "outcome" in vars(self) and ("change" in vars(self) or self.kind in ("near", "hazard"))

    @property
    def headline(self) -> str:
        """The kind, or the outcome where it is known and contradicts the kind."""
        if "outcome" not in vars(self) or not self.outcome.contradicts:
            return self.kind
        return f"{self.outcome.status} by TVM, {self.kind} by the rules"

    @property
    def codes(self) -> tuple[str, ...]:
        """Return the codes of all reasons and hazards."""
        return tuple(reason.code for reason in (*self.reasons, *self.hazards))

    def __str__(self) -> str:
        ops = " -> ".join(self.graph.nodes[node].op for node in self.branches[0])
        results = self.results  # before the headline, which then knows the outcome
        said = [f"{self.headline}: {counted(len(self.branches), 'branch')} of {ops} ({self.passes})"]
        said += [f"{reason.code}: {reason.sentence}" for reason in (*self.hazards, *self.reasons)]
        return visible("\n  ".join([*said, *results]))


def _signed(number: int, what: str) -> str:
    return f"{number:+,} {what}{'' if abs(number) == 1 else 's'}"


def alone(nodes: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return branches of one node each."""
    return tuple((node,) for node in nodes)


def few(nodes: Sequence[int], least: int) -> Reason:
    """Return the reason why siblings that fit together are not combined: there are too few."""
    return Reason("below-min", f"{len(nodes)} branches fit together, and {least} are asked for", tuple(nodes))


def producer(graph: Graph, branches: Sequence[Sequence[int]]) -> int | None:
    """Return the first value, other than a constant, that every branch starts from."""
    shared = set.intersection(*({s for n in branch for s in graph.inputs[n]} for branch in branches))
    inside = {node for branch in branches for node in branch}
    values = [s for s in graph.inputs[branches[0][0]] if s in shared - inside]
    values += sorted(shared - inside)
    return next((s for s in values if graph.nodes[s].kind != "constant"), None)


@dataclass(frozen=True)
class Change:
    """The difference that a pass makes: after minus before."""

    ops: int
    "operator calls"
    kernels: int | None
    "kernels that FuseOps makes, with weights bound and constants folded; None where FuseOps fails on the graph or an operator's kind is not known"
    traffic_bytes: int | None
    "bytes that these kernels read and write; None like kernels"


def fused(graph: Graph | None, bound: Collection[int]) -> tuple[int, int] | None:
    """Return the kernels that FuseOps makes and their traffic in bytes; None where it fails, or where its input is not known.

    `bound`: places among the parameters of those that are constants once they are bound.
    """
    if graph is None:
        return None
    graph = _folded(graph, graph.constants(node for place, node in enumerate(_params(graph)) if place in bound))
    report = explain_fusion(graph)
    if report.failure:
        return None
    traffic = 0
    for kernel in report.kernels:
        inside = set(kernel.nodes)
        read = {source for node in kernel.nodes for source in graph.inputs[node] if source not in inside}
        traffic += sum(nbytes(graph.nodes[node].type) for node in (*read, kernel.root))
    return len(report.kernels), traffic


def _folded(graph: Graph, constant: Collection[int]) -> Graph:
    """Return the graph with these values as constants, which is what FoldConstant makes of them; bound parameters stay."""
    made = {node.id: node for node in graph.nodes if node.id in constant and node.kind != "param"}
    nodes = (
        Node(node.id, "constant", node.op, node.type, node.attrs, node.group) if node.id in made else node
        for node in graph.nodes
    )
    return replace(graph, nodes=tuple(nodes), edges=tuple(edge for edge in graph.edges if edge.target not in made))


def _params(graph: Graph) -> list[int]:
    return [node.id for node in graph.nodes if node.kind == "param"]


def is_lowered(graph: Graph) -> bool:
    """Return whether the operators of a Relax graph are PrimFuncs already, which no combiner looks at."""
    return graph.dialect == "relax" and any(node.kind == "op" and node.pattern is not None for node in graph.nodes)
