"""The rules: each finds one kind of avoidable cost in a trace, and names the passes that remove it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from workbench.analysis.chains import ConstantChain, constant_chains
from workbench.analysis.outcome import Remains
from workbench.analysis.tensors import size_of
from workbench.debugging.remarks.folds import after_passes
from workbench.debugging.remarks.fusion import FUSE_OPS, report_of
from workbench.debugging.remarks.steps import pass_of
from workbench.graph.model import Graph
from workbench.pipeline.spec import Pipeline
from workbench.pipeline.step import Step
from workbench.pipeline.trace import Trace

UNDONE, WITHOUT_KIND, UNFOLDED = "layouts-undo-each-other", "operator-without-kind", "weight-not-folded"
_LAYOUTS = ("transpose", "layout_transform", "relax.permute_dims", "relax.layout_transform")
BIND_AND_FOLD = "BindParams,FoldConstant"
"they run late: other passes, such as SimplifyInference, make operators on parameters too"


@dataclass(frozen=True)
class Finding:
    """An avoidable cost at a place of a graph."""

    name: str
    message: str
    passes: str
    "the passes that remove it, as a Pipeline's text"
    is_late: bool
    "whether they run right before FuseOps; otherwise first"
    graph: Graph
    nodes: tuple[int, ...]
    bytes: int | None = None
    "bytes of the values that need not be computed in each run; None where they are not known"


def undone_layouts(made: Trace, weights: Collection[str]) -> Iterator[Finding]:  # noqa: ARG001  every rule is called alike
    """Yield the chains of layout changes that lead back to the first layout."""
    graph = made.start.graph
    for chain in constant_chains(graph):
        if not _leads_back(graph, chain) or _is_removed(made, chain):
            continue
        names = " -> ".join(graph.nodes[node].op for node in chain.nodes)
        sizes = [size_of(graph.nodes[node].type) for node in chain.nodes]
        saved = sum(size for size in sizes if size is not None) if None not in sizes else None
        said = f"{names} lead back to the first layout; {chain.passes} removes them"
        yield Finding(UNDONE, said, chain.passes, False, graph, chain.nodes, saved)


def _leads_back(graph: Graph, chain: ConstantChain) -> bool:
    layouts = all(graph.nodes[node].op in _LAYOUTS for node in chain.nodes)
    return layouts and chain.folds and chain.safe and chain.left == 0


def _is_removed(made: Trace, chain: ConstantChain) -> bool:
    end = after_passes(made, [step.name for step in Pipeline.parse(chain.passes)])
    return end is not None and Remains(made.start.graph, end).left_of(chain.nodes) == 0


def operators_without_kind(made: Trace, weights: Collection[str]) -> Iterator[Finding]:  # noqa: ARG001
    """Yield each operator for which FuseOps knows no pattern kind: Relay's pass fails on it, Relax's leaves it alone."""
    step = _fuse_ops(made)
    if step is None:
        return
    report, graph = report_of(made, step), step.before
    unknown: dict[str, list[int]] = {}
    for decision in report.decisions:
        if decision.code in ("lacking", "unannotated"):
            unknown.setdefault(graph.nodes[decision.node].op, []).append(decision.node)
    for op, nodes in unknown.items():
        passes = "qnn.Legalize" if op.startswith("qnn.") else _PREPARING[made.dialect]
        said = f"{op} has no pattern kind when FuseOps runs, so it is not fused; {passes} before it gives one"
        yield Finding(WITHOUT_KIND, said, passes, True, graph, tuple(nodes))


_PREPARING = {"relay": "SimplifyInference", "relax": "LegalizeOps,AnnotateTIROpPattern"}
"dialect -> the passes after which operators have pattern kinds"


def unfolded_weights(made: Trace, weights: Collection[str]) -> Iterator[Finding]:
    """Yield the operators that compute the same value in each run, because their parameters are not constants."""
    step = _fuse_ops(made)
    graph = made.end.graph if step is None else step.before
    fixed = _computed_from(graph, weights)
    for node in graph.ops:
        users = [user for user, _ in graph.consumers[node.id]]
        if node.id not in fixed or all(user in fixed for user in users):
            continue
        inside = _inputs_within(graph, node.id, fixed)
        names = " -> ".join(graph.nodes[each].op for each in inside)
        said = f"{names} (node {node.id}) runs each time on parameters only; {BIND_AND_FOLD} computes it once"
        yield Finding(UNFOLDED, said, BIND_AND_FOLD, True, graph, inside, size_of(node.type))


def _computed_from(graph: Graph, weights: Collection[str]) -> frozenset[int]:
    """Return constants, these parameters, and the nodes that are computed from them alone."""
    found: set[int] = set()
    for node, inputs in zip(graph.nodes, graph.inputs, strict=True):
        given = node.kind in ("constant", "shape") or (node.kind == "param" and node.op in weights)
        if given or (inputs and found.issuperset(inputs)):
            found.add(node.id)
    return frozenset(found)


def _inputs_within(graph: Graph, root: int, fixed: Collection[int]) -> tuple[int, ...]:
    """Return the operators that a value is computed from, and its own, ascending."""
    found, waiting = {root}, [root]
    while waiting:
        new = [s for s in graph.inputs[waiting.pop()] if s in fixed and s not in found and graph.nodes[s].kind == "op"]
        found.update(new)
        waiting += new
    return tuple(sorted(found))


def _fuse_ops(made: Trace) -> Step | None:
    """Return the first FuseOps that is not switched off, also one that failed."""
    return next((s for s in made.steps if pass_of(s) == FUSE_OPS and s.status in ("changed", "same", "error")), None)


Rule = Callable[[Trace, Collection[str]], Iterator[Finding]]
RULES: Sequence[Rule] = (undone_layouts, operators_without_kind, unfolded_weights)


def findings(made: Trace, weights: Collection[str]) -> list[Finding]:
    """Return all findings in a trace.

    Parameters
    ----------
    weights
        Names of the parameters whose values are known.
    """
    return [found for rule in RULES for found in rule(made, weights)]


def fixed_pipeline(pipeline: str, found: Finding) -> str:
    """Return a pipeline with the passes that remove a finding.

    >>> from workbench.graph.model import Graph
    >>> fixed_pipeline("SimplifyInference,FuseOps", Finding("", "", "A", True, Graph(), ()))
    'SimplifyInference,A,FuseOps'
    """
    steps = list(Pipeline.parse(pipeline))
    names = [step.name for step in steps]
    place = names.index(FUSE_OPS) if found.is_late and FUSE_OPS in names else 0
    return str(Pipeline([*steps[:place], found.passes, *steps[place:]]))
