"""The kernels that the fusion algorithm makes of one graph, and its decisions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from workbench.analysis.fusion.algorithm import NONE, Partition, Settings, TwoAnchors
from workbench.analysis.fusion.forward import OPAQUE, Forward, blocked_by, relax_forward, relay_forward
from workbench.analysis.fusion.reasons import Decision
from workbench.graph.model import Graph, Group, known_node

FORWARD = {"relay": relay_forward, "relax": relax_forward}


@dataclass(frozen=True)
class FusedGroup:
    """Nodes that became one kernel, or a node outside all kernels."""

    root: int
    "the node whose value it returns"
    nodes: tuple[int, ...]
    "ascending"
    ops: tuple[str, ...]
    "names of its operators, in order"
    is_kernel: bool
    """whether TVM makes a function of it; not for parameters, constants and tuples alone, memory, checks and annotations, nor for
    operators that Relax's FuseOps merged and dropped because nothing uses them"""
    given: bool = False
    "whether it was a kernel before FuseOps"


@dataclass(frozen=True, eq=False)
class Fusion:
    """The kernels and decisions of the fusion algorithm on one graph, computed on first use."""

    graph: Graph
    settings: Settings

    @cached_property
    def forward(self) -> Forward:
        return FORWARD[self.graph.dialect](self.graph)

    @cached_property
    def failure(self) -> str:
        """The reason why the real pass fails on this graph; empty if it runs."""
        return self._ran[1]

    @property
    def run(self) -> Partition:
        return self._ran[0]

    @cached_property
    def _ran(self) -> tuple[Partition, str]:
        run = Partition(self.forward, self.settings)
        said = self.graph.answers.unfusible
        try:
            run.run()
        except TwoAnchors as error:
            ops = self.graph.nodes
            said = (
                f"FuseOps fails here: a merge that was put off would join {ops[error.node].op} (node {error.node}) to a "
                "kernel that has a complex operator too; raise max_function_args or set max_depth to 1"
            )
        function = "" if said or self.graph.dialect != "relax" else blocked_by(self.graph, run.root)
        if function:
            said = (
                f"FuseOps fails here: the local function {function} has a dataflow block and is bound in one, before a kernel "
                "that FuseOps makes there; run LambdaLift first, or bind the function outside of the block"
            )
        if self.forward.lacking:
            named = sorted({self.graph.nodes[n].op for n in self.forward.lacking})
            said = (
                f"FuseOps fails on {', '.join(named)}: the operator registered no pattern kind; "
                "run SimplifyInference (or qnn.Legalize for quantised operators) before it"
            )
        return run, said

    @cached_property
    def groups(self) -> tuple[FusedGroup, ...]:
        """The groups, by their last nodes; every node is in exactly one."""
        frozen = set(self.forward.frozen)
        made = [self._group(tuple(nodes)) for nodes in self.run.kernels() if nodes[-1] not in frozen]
        if frozen:
            made += self._frozen_groups(frozen)
            made.sort(key=lambda group: group.nodes[-1])
        return tuple(made)

    @cached_property
    def kernels(self) -> tuple[FusedGroup, ...]:
        """The groups that TVM makes into kernels."""
        return tuple(group for group in self.groups if group.is_kernel)

    def group_of(self, node: int) -> FusedGroup:
        """Return the group that holds a node. Raises UnknownNode: the graph has no such node."""
        return self.groups[self._place[known_node(self.graph, node)]]

    @cached_property
    def _place(self) -> dict[int, int]:
        return {node: place for place, group in enumerate(self.groups) for node in group.nodes}

    def _group(self, nodes: tuple[int, ...]) -> FusedGroup:
        root = self.run.root(nodes[0])
        ops = tuple(self.graph.nodes[n].op for n in nodes if self.graph.nodes[n].kind == "op")
        field = self.graph.nodes[root].kind == "get_item" and any(s in nodes for s in self.graph.inputs[root])
        seen = self.forward
        is_dropped = self.graph.dialect == "relax" and len(nodes) > 1 and not (seen.users[root] or seen.held[root])
        is_made = (seen.computes[root] or field) and not is_dropped
        return FusedGroup(root, nodes, ops, is_made and self._has_work(nodes))

    def _has_work(self, nodes: Sequence[int]) -> bool:
        return any(self.graph.is_work(self.graph.nodes[node]) for node in nodes)

    def _frozen_groups(self, frozen: set[int]) -> Iterator[FusedGroup]:
        held: dict[int | None, list[int]] = {}
        for node in sorted(frozen):
            held.setdefault(self.graph.kernel_of(node), []).append(node)
        for group, nodes in held.items():
            ops = tuple(self.graph.nodes[n].op for n in nodes if self.graph.nodes[n].kind == "op")
            if group is None:
                # a function with the attribute SkipOptimization
                yield from (FusedGroup(n, (n,), (), False, given=True) for n in nodes)
                continue
            output = self.graph.groups[group].output
            root = nodes[-1] if output is None else output
            yield FusedGroup(root, tuple(nodes), ops, self._has_work(nodes), given=True)

    # -- decisions

    @cached_property
    def without_kind(self) -> tuple[int, ...]:
        """The operators that have no pattern kind where the pass asks for one: Relay's fails there, Relax's leaves them alone."""
        held, lacking = self.forward.held, set(self.forward.lacking)
        merges = self.settings.opt_level > 0
        unknown = (node.id for node in self.graph.ops if node.pattern is None and held[node.id] != "kernel")
        return tuple(id for id in unknown if id in lacking or (merges and held[id] != "local"))

    @cached_property
    def decisions(self) -> tuple[Decision, ...]:
        """Every decision in order: first for nodes that no phase looks at, then phase by phase."""
        nodes, run = self.graph.nodes, self.run
        still = [Decision(None, n, None, code, data, (), run, nodes) for n, code, data in self._still()]
        return (*still, *(Decision(*verdict, run, nodes) for verdict in run.verdicts))

    @cached_property
    def refuses_by_depth(self) -> bool:
        """Return whether max_depth keeps any two nodes apart."""
        return any(verdict.code == "max_depth" for verdict in self.run.verdicts)

    def _still(self) -> Iterator[tuple[int, str, Any]]:
        """Yield the decisions on operators that no phase looks at; parameters, constants and variables need no reason."""
        seen, run, lacking, unknown = self.forward, self.run, set(self.forward.lacking), set(self.without_kind)
        for node in self.graph.nodes:
            if node.kind in ("param", "constant", "function", "shape", "global"):
                continue
            id = node.id
            if seen.held[id] == "kernel":
                yield id, "kernel", None
            elif id in unknown:
                yield id, "lacking" if id in lacking else "unannotated", None
            elif self.settings.opt_level < 1:
                yield id, "level", None
            elif seen.held[id] == "local":
                yield id, "held", "local"
            elif seen.kinds[id] == OPAQUE:
                yield id, "opaque", None
            elif run.dominator[id] == NONE:
                held = seen.held[id]
                yield id, "held" if held else "apart" if seen.users[id] else "unused", held or None

    @cached_property
    def _decisive(self) -> dict[int, Decision]:
        """The decisive decision for each node."""
        found: dict[int, Decision] = {}
        for decision in self.decisions:
            known = found.get(decision.node)
            if known is None or _weight(decision) >= _weight(known):
                found[decision.node] = decision
        return found

    def decided(self, node: int) -> Decision | None:
        """Return the decision that settled whether a node joins its users; None for parameters and constants alone.

        Raises UnknownNode: the graph has no such node.
        """
        return self._decisive.get(known_node(self.graph, node))


def _weight(decision: Decision) -> int:
    """Return the rank of a decision: a merge, then a merge already done, then a refusal, then waiting for a phase."""
    return {"fused": 3, "together": 2, "phase": 0, "postponed": 0}.get(decision.code, 1)


def kernel_graph(report: Fusion) -> Graph:
    """Return the graph before fusion with a group around each future kernel; node ids do not change.

    Examples
    --------
    >>> from workbench.analysis.fusion import explain_fusion
    >>> from workbench.graph.model import GraphBuilder
    >>> b = GraphBuilder("two", "relay")
    >>> x = b.node("param", "x", type="Tensor[(4), float32]")
    >>> b.outputs = [b.node("op", "nn.relu", [b.node("op", "exp", [x], pattern=0)], pattern=0)]
    >>> [group.name for group in kernel_graph(explain_fusion(b.build())).groups]
    ['fused_exp_nn_relu']
    """
    graph = report.graph
    groups = list(graph.groups)
    home = {node.id: node.group for node in graph.nodes}
    for kernel in report.kernels:
        if kernel.given:
            continue
        # a kernel is in the group of its result: a value that only a branch uses is computed in the branch
        box = Group(len(groups), "primitive", called(kernel), graph.nodes[kernel.root].group, output=kernel.root)
        groups.append(box)
        home |= dict.fromkeys(kernel.nodes, box.id)
    nodes = tuple(node if home[node.id] == node.group else replace(node, group=home[node.id]) for node in graph.nodes)
    return replace(graph, nodes=nodes, groups=tuple(groups)).follow(lambda: graph)


def called(kernel: FusedGroup) -> str:
    """Return the name that TVM gives a kernel, without the number that makes it unique."""
    return "_".join(["fused", *(op.replace(".", "_") for op in kernel.ops)])
