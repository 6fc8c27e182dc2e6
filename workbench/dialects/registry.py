"""The dialects by name, and the one that this environment's TVM runs. Nothing here imports a TVM."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.dialects import base
from workbench.errors import LoadError, UnknownName, UnknownNode, WorkbenchError
from workbench.graph.nodes import DIALECTS
from workbench.terminal import Listed
from workbench.wording import counted

if TYPE_CHECKING:
    from workbench.dialects.base import Workload
    from workbench.dialects.catalog import PassInfo
    from workbench.dialects.facets import Dialect
    from workbench.dialects.relax.kinds import KindReport


WHERE = {
    "relay": "the Jupyter kernel `Relay (TVM 0.17)` (make one with `tvm-workbench install-relay`)",
    "relax": "the main environment (pip install tvm-workbench[relax])",
}
"dialect -> the environment that has it"


_known: dict[str, Dialect] = {}


def register(*dialects: Dialect) -> None:
    """Register dialects; `workbench.dialects` registers its own when it is imported."""
    _known.update({each.name: each for each in dialects})
    base.register_services(frontend=lambda workload: dialect_of(workload).frontend)


def known_dialect(name: str) -> Dialect:
    """Return the dialect of a name, which may come from a file; its TVM may not be installed.

    Raises UnknownName: there is no such dialect.
    """
    if name not in _known:
        raise UnknownName("dialect", str(name)[:40], _known)
    return _known[name]


def installed() -> str | None:
    """Return the dialect that the TVM of this environment runs, looked up on disk without importing it."""
    try:
        spec = importlib.util.find_spec("tvm")
    except (ModuleNotFoundError, ValueError):  # an import hook refuses it, or another module has its name
        spec = None
    if spec is None:
        return None
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    return next((name for name in DIALECTS if any((folder / name).is_dir() for folder in folders)), None)


@lru_cache
def dialect(name: str) -> Dialect:
    """Return the dialect of that name; imports its TVM.

    Raises UnknownName or WorkbenchError: there is no such dialect, or this environment's TVM does not have it.
    """
    known = known_dialect(name)
    here = installed()
    if here != name:
        found = f"TVM here runs {here}" if here else "there is no TVM here"
        raise WorkbenchError(
            f"{name} needs a TVM that has it, and {found}; use {WHERE[name]}, or open a saved trace or graph, which needs no TVM"
        )
    return known


def dialect_of(workload: Workload) -> Dialect:
    """Return the dialect that a workload is written in.

    Raises LoadError: the workload has no module; the message gives the reason, and what to do.
    """
    _ = workload.module  # a GraphOnly's own reason is more specific than a missing dialect
    return dialect(workload.dialect)


def dialect_here() -> Dialect:
    """Return the dialect that this environment's TVM runs; raises LoadError if there is none."""
    name = installed()
    if name is None:
        raise LoadError(
            "there is no TVM in this environment; use the kernel `Relay (TVM 0.17)`, or `pip install tvm-workbench[relax]`"
        )
    return dialect(name)


def passes(name: str | None = None) -> list[PassInfo]:
    """Return the passes of a dialect, by default the one that this environment's TVM runs.

    Examples
    --------
    >>> [each.name for each in wb.passes() if "Combine" in each.name]
    ['CombineParallelConv2D', 'CombineParallelMatmul']
    """
    found = name or installed()
    if found is None:
        raise WorkbenchError(
            "there is no TVM in this environment; `pip install tvm-workbench[relax]`, or use the Relay kernel"
        )
    known = dialect(found).passes.catalog()
    return Listed(known, f"{counted(len(known), 'pass')} of {found}", lambda each: each.line())


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
    workload = base.workload_of(workload, "explain_kind")
    if workload.dialect != "relax":
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
