"""ExtractRegion: make chosen operators a program of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tvm
from tvm import relay

from workbench.analysis import legality
from workbench.dialects.relay.entries import with_entry
from workbench.dialects.relay.passes.enclosing import enclosed
from workbench.dialects.relay.passes.nodes import located


@tvm.transform.module_pass(opt_level=0, name="ExtractRegion")
@dataclass(frozen=True)
class ExtractRegion:
    """Keep only chosen operators: `main` computes them from their inputs, and the rest of the module is left out.

    Constants that are tensors become parameters, because a kernel takes them as arguments too. A region with several results
    returns a tuple.
    """

    nodes: Sequence[int] = ()
    "the operators by their node ids in the module's graph"
    ops: Sequence[str] = ()
    "the operators at these ids, in the same order, checked first; empty to trust the ids"

    def transform_module(self, module: tvm.IRModule, _: tvm.transform.PassContext) -> tvm.IRModule:
        """Run on a module; raises IllegalEdit if the nodes cannot be one function."""
        if not self.nodes:
            return module
        at = located(relay.transform.InferType()(module))
        legality.check_names(at.graph, self.nodes, self.ops, "ExtractRegion")
        region = enclosed(at, legality.region(at.graph, self.nodes))
        others = {v: function for v, function in at.module.functions.items() if v.name_hint != "main"}
        made = tvm.IRModule(others, at.module.type_definitions, at.module.attrs)
        made["main"] = _renamed(region.function)
        return with_entry(made, "main")


def _renamed(function: relay.Function) -> relay.Function:
    """Return the function with parameters of other names: relay.build names constants p0, p1 and so on."""
    params = [relay.Var(f"x{place}", each.type_annotation) for place, each in enumerate(function.params)]
    body = relay.bind(function.body, dict(zip(function.params, params, strict=True)))
    return relay.Function(params, body, function.ret_type)
