"""`wb.constant_chains`: consecutive operators with constants, and the passes that fold them into fewer."""

from __future__ import annotations

from workbench.analysis.arguments import checked_graph
from workbench.analysis.chains.relax import RelaxChains
from workbench.analysis.chains.relay import ConstantChain as ConstantChain
from workbench.analysis.chains.relay import RelayChains
from workbench.graph.model import Graph, HasGraph
from workbench.terminal import Listed
from workbench.wording import counted


def constant_chains(source: Graph | HasGraph) -> list[ConstantChain]:
    """Return the chains of operators with constants; chains that fold come first.

    Weights (parameters that are never the data argument) count as constants: the passes then begin with
    BindParams. A chain of one operator is listed if it does nothing. Relax has no SimplifyExpr: most of its chains are listed
    with the reason `no-pass`. TVM runs the two passes of Relax that shorten chains on the module; for a graph without a module such
    chains have the reason `not-tried`.

    Parameters
    ----------
    source
        A Graph or a Workload.

    Raises
    ------
    WorkbenchError
        The graph is of neither dialect, or an operator lacks inputs.

    Examples
    --------
    >>> w = wb.load("def @main(%x: Tensor[(1, 8), float32]) { add(add(%x, 1f), 2f) }")
    >>> chain = wb.constant_chains(w)[0]
    >>> chain.nodes, chain.left, chain.passes
    ((2, 4), 1, 'SimplifyExpr,FoldConstant')
    """
    graph = checked_graph(source, "constant_chains", "chains are folded by")
    view = RelayChains(graph) if graph.dialect == "relay" else RelaxChains(graph)
    found = [chain for run in view.runs() if (chain := view.chain(run)) is not None]
    found += [chain for node in view.graph.ops if (chain := view.padded(node) or view.scaled(node)) is not None]
    found.sort(key=lambda chain: not chain.folds)
    return Listed(found, f"{counted(len(found), 'chain')} of operators with constants", ConstantChain.line)
