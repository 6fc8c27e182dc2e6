"""`wb.cut`, `wb.force`, `wb.outline`: change fusion by nodes and edges of the graph, and keep the edits as a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from workbench.analysis import legality
from workbench.dialects.base import Workload, workload_of
from workbench.dialects.registry import dialect_of
from workbench.errors import WorkbenchError
from workbench.graph.model import Edge, Graph
from workbench.pipeline.spec import PassStep, Pipeline

AnyEdge = Edge | tuple[int, int] | tuple[int, int, int]


def cut(workload: Workload, edge: AnyEdge | Iterable[AnyEdge]) -> Workload:
    """Keep the two ends of an edge in different kernels.

    Parameters
    ----------
    edge
        An Edge of `workload.graph`, a pair of node ids (every use of the first by the second), a triple with the
        argument position, or several of these.

    Returns
    -------
    Workload
        With the edge cut, and one more of `edits`: `wb.trace(original, workload.edits)` repeats them.

    Raises
    ------
    IllegalEdit
        There is no such edge, or nothing would be fused across it.

    Examples
    --------
    >>> passes = "LegalizeOps,AnnotateTIROpPattern"
    >>> w = wb.load(wb.trace(wb.samples.load("parallel_cast"), passes).result)
    >>> [kernel.nodes for kernel in wb.explain_fusion(w).kernels]
    [(1,), (2, 3), (4, 5), (9,), (7, 10)]
    >>> after = wb.cut(w, (2, 3))
    >>> [kernel.nodes for kernel in wb.explain_fusion(after).kernels]
    [(1,), (2,), (3,), (4, 5), (9,), (7, 10)]
    """
    workload = workload_of(workload, "cut")
    return _edited(workload, cut_step(workload.graph, edge))


def force(workload: Workload, nodes: Iterable[int]) -> Workload:
    """Make these nodes one kernel.

    Raises
    ------
    IllegalEdit
        They cannot be one: a path leaves them and comes back, they hold two complicated operators, give several results
        or a tuple, or are in different functions.

    Examples
    --------
    >>> passes = "LegalizeOps,AnnotateTIROpPattern"
    >>> w = wb.load(wb.trace(wb.samples.load("mlp"), passes).result)
    >>> kernels = wb.explain_fusion(w).kernels
    >>> [kernel.ops for kernel in kernels[:2]]
    [('transpose',), ('matmul', 'add', 'relu')]
    >>> after = wb.force(w, kernels[0].nodes + kernels[1].nodes)
    >>> len(kernels), len(wb.explain_fusion(after).kernels)
    (6, 5)
    """
    workload = workload_of(workload, "force")
    return _edited(workload, force_step(workload.graph, nodes))


def outline(workload: Workload, nodes: Iterable[int], name: str, compiler: str | None = None) -> Workload:
    """Put these nodes into a function: a composite of that name, or a region for `compiler`.

    Raises
    ------
    IllegalEdit
        A path leaves them and comes back, or they are in different functions.

    Examples
    --------
    >>> w = wb.samples.load("parallel_cast")
    >>> outlined = wb.outline(w, [2, 3], "my.cast_relu")
    >>> [(group.kind, group.name) for group in outlined.graph.groups]
    [('function', 'main'), ('composite', 'my_cast_relu')]
    """
    workload = workload_of(workload, "outline")
    return _edited(workload, outline_step(workload.graph, nodes, name, compiler))


def cut_step(graph: Graph, edge: AnyEdge | Iterable[AnyEdge]) -> PassStep:
    """Return the pass that makes this cut in a module of that graph; raises IllegalEdit as `cut` does."""
    is_one = isinstance(edge, Edge) or (isinstance(edge, tuple) and all(isinstance(part, int) for part in edge))
    edges = legality.cut(graph, [edge] if is_one else list(edge))  # pyright: ignore[reportArgumentType]  one edge, or several
    triples = [(e.source, e.target, e.index) for e in edges]
    names = [graph.nodes[node].op for e in edges for node in (e.source, e.target)]
    return PassStep("CutFusion", {"edges": triples, "ops": names})


def force_step(graph: Graph, nodes: Iterable[int]) -> PassStep:
    """Return the pass that makes these nodes one kernel; raises IllegalEdit as `force` does."""
    return PassStep("ForceFusion", _operators(graph, nodes, legality.kernel))


def outline_step(graph: Graph, nodes: Iterable[int], name: str, compiler: str | None = None) -> PassStep:
    """Return the pass that outlines these nodes; raises IllegalEdit as `outline` does."""
    if not isinstance(name, str) or not name.strip():
        raise WorkbenchError("an outlined region needs a name, such as 'dnnl.conv2d_relu'")
    options = {**_operators(graph, nodes, legality.region), "name": name}
    return PassStep("OutlineRegion", options | ({"compiler": compiler} if compiler else {}))


def extract_step(graph: Graph, nodes: Iterable[int]) -> PassStep:
    """Return the pass that makes these nodes a program of their own; raises IllegalEdit where they cannot be one."""
    return PassStep("ExtractRegion", _operators(graph, nodes, legality.region))


def _operators(graph: Graph, nodes: Iterable[int], check: Callable[..., legality.Selection]) -> dict[str, object]:
    """Return the options with the operators of a legal selection, in order."""
    check(graph, chosen := sorted(set(nodes)))
    kept = [i for i in chosen if graph.nodes[i].kind not in ("param", "constant")]
    return {"nodes": kept, "ops": [graph.nodes[i].op for i in kept]}


def _edited(workload: Workload, step: PassStep) -> Workload:
    here = dialect_of(workload)
    # at level 0, so that nothing but the edit happens
    module = here.passes.apply(here.passes.make(step.name, step.options), workload.module, 0)
    edits = str(Pipeline([*Pipeline.parse(workload.edits), step]))
    return replace(workload.of(module), notes=list(workload.notes), edits=edits)
