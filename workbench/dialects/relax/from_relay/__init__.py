"""`wb.to_relax`: a Relay graph as a Relax module, for a graph that was read from text, without a Relay TVM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.dialects import readers, registry
from workbench.dialects.base import GraphOnly, Workload
from workbench.errors import LoadError
from workbench.graph.model import Graph, graph_of


def to_relax(source: Workload | Graph, params: Mapping[str, Any] | None = None) -> Workload:
    """Translate Relay to Relax, operator by operator; no Relay TVM is needed.

    Parameters
    ----------
    source
        A Workload of Relay text (`wb.load("model.relay")`), or the Graph of any Relay workload, saved ones included.
        Values of constants come from the text's metadata.
    params
        Values of parameters by name, and of constants by their name in the text (`meta[relay.Constant][0]`). Those with
        a value become parameters of the workload, a constant without one a parameter of the function: see `notes`.

    Returns
    -------
    Workload
        A Relax workload with the operators in the same order. Kernels of the Relay graph are split into operators.

    Raises
    ------
    LoadError
        Operators have no translation (all are named at once), a shape is not known, or this is not Relax's environment.

    See Also
    --------
    workbench.dialects.relax.from_relay.translate : the tables of operators.

    Examples
    --------
    >>> relay = wb.load("def @main(%x: Tensor[(1, 8), float32]) { nn.softmax(nn.relu(exp(%x))) }")
    >>> [node.op for node in wb.to_relax(relay).graph.ops]
    ['relax.exp', 'relax.nn.relu', 'relax.nn.softmax']
    """
    graph, name = graph_of(source, "to_relax"), source.name
    arrays: dict[str, Any] = {}
    if isinstance(source, Workload):
        arrays = {key: _array(value) for key, value in source.params.items()}
    if isinstance(source, GraphOnly):
        arrays |= values_of_text(source)
    if graph.dialect != "relay":
        raise LoadError(f"{name} is {graph.dialect} already; to_relax takes Relay")
    if registry.installed() != "relax":
        raise LoadError(
            "to_relax needs TVM with Relax: save the text of this program (`w.text()`), and wb.load the file in an environment with Relax"
        )
    from workbench.dialects.relax.from_relay.translate import translate

    module, known, notes = translate(graph, arrays | {key: _array(value) for key, value in (params or {}).items()})
    made = readers.load((module, known), name=name)
    made.notes.extend(notes)
    return made


def values_of_text(source: GraphOnly) -> dict[str, Any]:
    """Return the values of the constants of a Relay text, by their names in it."""
    from workbench.dialects.importers.params import constants

    return constants(source.metadata)


def _array(value: Any) -> Any:
    return value.numpy() if hasattr(value, "numpy") else value
