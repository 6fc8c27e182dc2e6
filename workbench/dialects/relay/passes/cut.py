"""CutFusion: keep two operators in different kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tvm
from tvm import relay

from workbench.analysis import legality
from workbench.dialects.relay.passes.nodes import Located, located
from workbench.dialects.relay.passes.rewriting import in_module, rewritten
from workbench.graph.model import Edge


@tvm.transform.module_pass(opt_level=0, name="CutFusion")
@dataclass(frozen=True)
class CutFusion:
    """Keep the two ends of chosen edges in different kernels: FuseOps does not fuse across them.

    Each edge gets an `annotation.stop_fusion`, which FuseOps removes. For a pass before FuseOps it is an operator, so a
    rewrite pattern no longer matches across the edge.
    """

    edges: Sequence[Sequence[int]] = ()
    "(source, target) or (source, target, argument position) by the node ids of the module's graph"
    ops: Sequence[str] = ()
    "the operators at both ends of each edge, one after the other, checked first; empty to trust the ids"

    def transform_module(self, module: tvm.IRModule, _: tvm.transform.PassContext) -> tvm.IRModule:
        """Run on a module; raises IllegalEdit if an edge cannot be cut."""
        if not self.edges:
            return module
        at = located(relay.transform.InferType()(module))
        legality.check_names(at.graph, [node for edge in self.edges for node in tuple(edge)[:2]], self.ops, "CutFusion")
        return cut(at, legality.cut(at.graph, [tuple(edge) for edge in self.edges]))


def cut(at: Located, edges: Sequence[Edge]) -> tvm.IRModule:
    """Return the module with a `stop_fusion` on each of these edges."""
    places: dict[relay.Expr, set[int]] = {}
    for edge in edges:
        target = at.expressions[edge.target]
        if at.instances[target] > 1:
            raise legality.IllegalEdit(
                f"{legality.describe(at.graph, edge.target)} is in a function that is called more than once; inline it first"
            )
        # the first part of a call is its operator
        shift = int(isinstance(target, relay.Call))
        places.setdefault(target, set()).add(edge.index + shift)
    functions = {}

    def change(expr: relay.Expr, new: list[relay.Expr]) -> list[relay.Expr]:
        stops = places.get(expr, ())
        return [relay.annotation.stop_fusion(part) if i in stops else part for i, part in enumerate(new)]

    for name, function in at.module.functions.items():
        if isinstance(function, relay.Function):
            changed = rewritten(function, {}, change)
            if not changed.same_as(function):
                functions[name.name_hint] = changed
    return in_module(at.module, functions)
