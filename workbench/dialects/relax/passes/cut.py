"""CutFusion: keep two operators in different kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax

from workbench.analysis import legality
from workbench.dialects.relax import compat
from workbench.dialects.relax.compat import identity
from workbench.dialects.relax.passes.nodes import Place, located
from workbench.dialects.relax.passes.rewriting import replaced, with_block


@tvm.transform.module_pass(opt_level=0, name="CutFusion")
@dataclass(frozen=True)
class CutFusion:
    """Keep the two ends of chosen edges in different kernels: FuseOps does not fuse across them.

    A value that leaves its dataflow block is never fused into its users; so the value of the edge's source is made an
    output of its block. This separates all of its uses, and it can still fuse with its producers.
    """

    edges: Sequence[Sequence[int]] = ()
    "(source, target) or (source, target, argument position) by the node ids of the module's graph"
    ops: Sequence[str] = ()
    "the operators at both ends of each edge, one after the other, checked first; empty to trust the ids"

    def transform_module(self, module: tvm.IRModule, _: tvm.transform.PassContext) -> tvm.IRModule:
        """Run on a module; raises IllegalEdit if an edge cannot be cut."""
        if not self.edges:
            return module
        at = located(module)
        legality.check_names(at.graph, [node for edge in self.edges for node in tuple(edge)[:2]], self.ops, "CutFusion")
        edges = legality.cut(at.graph, [tuple(edge) for edge in self.edges])
        for source in dict.fromkeys(edge.source for edge in edges):
            module = _leaving(module, at.place([source]), at.bindings[source].var)
        return module


def _leaving(module: tvm.IRModule, place: Place, variable: Any) -> tvm.IRModule:
    """Return the module with a variable of a dataflow block made an output of that block."""
    if not isinstance(variable, relax.DataflowVar):
        return module
    outside = relax.Var(compat.name_of(variable), compat.type_of(variable))
    instead = {identity(variable): outside}

    def change(bindings: list[Any]) -> list[Any]:
        return [
            relax.VarBinding(
                outside if binding.var.same_as(variable) else binding.var, replaced(binding.value, instead)
            )
            if isinstance(binding, relax.VarBinding)
            else relax.MatchCast(binding.var, replaced(binding.value, instead), compat.type_of(binding.var))
            for binding in bindings
        ]

    return with_block(module, place, change)
