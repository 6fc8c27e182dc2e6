"""Remarks of constants: operators that FoldConstant computed, and chains of operators with constants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workbench.analysis.branches.relax import is_lowered
from workbench.analysis.chains import ConstantChain, constant_chains
from workbench.analysis.outcome import Remains
from workbench.analysis.tensors import size_of
from workbench.debugging.remarks.merges import LEFT, NOT_RUN
from workbench.debugging.remarks.places import Places, places
from workbench.debugging.remarks.remark import ANALYSIS, MISSED, PASSED, Remark
from workbench.debugging.remarks.steps import pass_of, ran
from workbench.graph.model import Graph
from workbench.pipeline.spec import Pipeline
from workbench.pipeline.step import Step
from workbench.pipeline.trace import Trace
from workbench.wording import counted

FOLD = "FoldConstant"
FOLDED, SHORTENED, LOWERED = "folded", "shortened", "lowered"
"reason codes: operators on constants became a constant; a chain became shorter; the passes run too late to follow a chain"
CANONICAL = "canonical"
"the reason code of a chain that is as short as it gets"


def fold_remarks(trace: Trace, step: Step) -> Iterator[Remark]:
    """Yield a remark for each constant that a step computed, if its pass is FoldConstant."""
    if pass_of(step) != FOLD or not step.changed:
        return
    here, graph = places(trace, step.state_before), step.before
    gone = {node.id for node in graph.ops if node.id not in step.diff.mapping}
    for node in sorted(gone):
        if all(user in gone for user, _ in graph.consumers[node]) and graph.consumers[node]:
            continue
        folded = _inside(graph, node, gone)
        names = ", ".join(graph.nodes[n].op for n in folded)
        said = f"{counted(len(folded), 'operator')} on constants ({names}) became a constant."
        size = size_of(graph.nodes[node].type)
        yield here.located(Remark(PASSED, FOLD, FOLDED, said, bytes=size), folded)


def chain_remarks(trace: Trace) -> Iterator[Remark]:
    """Yield a remark for each chain of operators with constants in the trace's first graph."""
    graph = trace.start.graph
    if graph.dialect:
        here = places(trace, trace.start)
        yield from (_chain(trace, here, chain) for chain in constant_chains(graph))


def _inside(graph: Graph, root: int, gone: set[int]) -> tuple[int, ...]:
    """Return the removed nodes that a removed node is computed from, and the node, ascending."""
    found, waiting = {root}, [root]
    while waiting:
        new = [source for source in graph.inputs[waiting.pop()] if source in gone and source not in found]
        found.update(new)
        waiting += new
    return tuple(sorted(found))


def _chain(trace: Trace, here: Places, chain: ConstantChain) -> Remark:
    kind, name, said = _verdict(trace, here.graph, chain)
    subject = " -> ".join(here.graph.nodes[node].op for node in chain.nodes)
    change = f"{chain.passes} ran" if name == NOT_RUN else ""
    return here.located(Remark(kind, chain.passes or FOLD, name, f"{subject}: {said}.", change=change), chain.nodes)


def _verdict(trace: Trace, graph: Graph, chain: ConstantChain) -> tuple[str, str, str]:
    """Return the kind of remark, its reason code, and the reason."""
    why = "; ".join(reason.sentence for reason in chain.reasons)
    codes = [reason.code for reason in chain.reasons]
    if not chain.safe:
        return ANALYSIS, next(code for code in codes if code.startswith("unsafe-")), why
    if not chain.folds:
        return ANALYSIS if CANONICAL in codes else MISSED, codes[0] if codes else LEFT, why
    end = after_passes(trace, [step.name for step in Pipeline.parse(chain.passes)])
    if end is None:
        return MISSED, NOT_RUN, f"no steps run {chain.passes}, which leave {chain.left} of {len(chain.nodes)} operators"
    if is_lowered(end):
        return ANALYSIS, LOWERED, "the passes run on PrimFuncs, where the chain is not followed"
    left = Remains(graph, end).left_of(chain.nodes)
    said = f"{left} of {counted(len(chain.nodes), 'operator')} are left"
    return (PASSED, SHORTENED, said) if left < len(chain.nodes) else (MISSED, LEFT, said)


def after_passes(trace: Trace, names: Sequence[str]) -> Graph | None:
    """Return the graph after these passes, if the trace runs them in this order."""
    wanted, last = list(names), None
    for step in trace.steps:
        if wanted and ran(step) and pass_of(step) == wanted[0]:
            wanted, last = wanted[1:], step
    return last.after if last is not None and not wanted else None
