"""The bindings of a module for the node ids of its Graph."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from workbench.analysis import legality
from workbench.dialects.relax.compat import identity
from workbench.dialects.relax.graph import build_graph
from workbench.errors import PipelineError
from workbench.graph.model import Graph

# TVM calls a pass, and keeps only the errors that it knows; others come back as a RuntimeError.
for error in (legality.IllegalEdit, PipelineError):
    tvm_ffi.register_error(error.__name__, error)


@dataclass(frozen=True)
class Place:
    """The place of bindings: a block of a global function."""

    function: str
    block: int


@dataclass(frozen=True)
class Located:
    """A module's graph, and the binding of each of its nodes."""

    module: tvm.IRModule
    graph: Graph
    bindings: dict[int, Any]
    "node id -> its binding; a constant or a tuple written into a call has none"
    places: dict[int, Place]
    "identity of a binding's variable -> its place"

    def place(self, nodes: Iterable[int]) -> Place:
        """Return the one dataflow block in which all of these nodes are bound.

        Raises
        ------
        IllegalEdit
            They are in several blocks, or in none that is dataflow.
        """
        chosen = [node for node in nodes if node in self.bindings]
        found = {self.places.get(identity(self.bindings[node].var)) for node in chosen}
        if len(found) != 1 or None in found:
            raise legality.IllegalEdit(
                f"{', '.join(legality.describe(self.graph, node) for node in chosen[:3])} are not in one dataflow block, and "
                "FuseOps looks at one such block at a time; ConvertToDataflow makes them"
            )
        return found.pop()  # pyright: ignore[reportReturnType]  None was refused


def located(module: tvm.IRModule, name: str = "main") -> Located:
    """Find the binding of every node of the module's graph."""
    bindings: dict[int, Any] = {}
    graph = build_graph(module, name, bindings)
    places: dict[int, Place] = {}
    for variable, function in module.functions_items():
        if not isinstance(function, relax.Function):
            continue
        for index, block in enumerate(function.body.blocks):
            if isinstance(block, relax.DataflowBlock):
                places |= {identity(binding.var): Place(variable.name_hint, index) for binding in block.bindings}
    return Located(module, graph, bindings, places)


def variables_of(at: Located) -> dict[int, relax.Var]:
    """Return the variable of each node that has one; a parameter of `main` too."""
    params = [node.id for node in at.graph.nodes if node.kind == "param"]
    # the entry function is drawn first, and its parameters before its body
    return {
        **{node: each.var for node, each in at.bindings.items()},
        **dict(zip(params, at.module["main"].params, strict=False)),
    }
