"""The pattern kind that FuseOps reads for a kernel, and its derivation by TVM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.dialects.base import Workload, workload_of
from workbench.errors import UnknownNode, WorkbenchError

if TYPE_CHECKING:
    from workbench.dialects.relax.kinds import KindReport


def explain_kind(workload: Workload, node: int) -> KindReport:
    """Explain the kind that AnnotateTIROpPattern derives for the PrimFunc that a node calls, by block and access.

    Parameters
    ----------
    workload
        A Relax workload after LegalizeOps; after AnnotateTIROpPattern the kind that FuseOps will read is compared too.

    Raises
    ------
    UnknownNode
        The graph has no such node.
    WorkbenchError
        It is not a Relax workload, or the node calls no PrimFunc of the module.

    Examples
    --------
    >>> w = wb.samples.load("parallel_cast")
    >>> legalized = wb.load(wb.trace(w, "LegalizeOps").result)
    >>> [node.op for node in legalized.graph.ops][:3]
    ['cast', 'cast1', 'relu']
    >>> print(str(wb.explain_kind(legalized, 1)).splitlines()[0])
    cast is elementwise (ElemWise): block compute reads data[v_i0, v_i1] at the same indices as what it writes, compute[v_i0, v_i1]. AnnotateTIROpPattern has not run yet, so FuseOps takes it for opaque.
    """
    workload = workload_of(workload, "explain_kind")
    if not isinstance(workload, Workload) or workload.dialect != "relax":
        raise WorkbenchError(
            "explain_kind takes a Relax workload: in Relay every operator registers its kind, and nothing is derived"
        )
    graph = workload.graph
    if not 0 <= node < len(graph.nodes):
        raise UnknownNode(node, len(graph.nodes))
    from workbench.dialects.relax.kinds import derived_kind, prim_funcs

    op = graph.nodes[node].op
    function = prim_funcs(workload.module).get(op)
    if graph.nodes[node].kind != "op" or function is None:
        raise WorkbenchError(
            f"node {node} ({op}) calls no PrimFunc, so it has no kind of its own; run LegalizeOps first"
        )
    return derived_kind(function, op)
