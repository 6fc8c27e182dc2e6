"""ExtractRegion: make chosen operators a program of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tvm

from workbench.analysis import legality
from workbench.dialects.relax.entries import with_entry
from workbench.dialects.relax.passes.enclosing import enclosed, free_name
from workbench.dialects.relax.passes.nodes import located


@tvm.transform.module_pass(opt_level=0, name="ExtractRegion")
@dataclass(frozen=True)
class ExtractRegion:
    """Keep only chosen operators: `main` computes them from their inputs, and the rest of the module is left out.

    Constants that are tensors become parameters, because a kernel takes them as arguments too. A region with several results
    returns a tuple. Kernels stay in the module.
    """

    nodes: Sequence[int] = ()
    "the operators by their node ids in the module's graph"
    ops: Sequence[str] = ()
    "the operators at these ids, in the same order, checked first; empty to trust the ids"

    def transform_module(self, module: tvm.IRModule, _: tvm.transform.PassContext) -> tvm.IRModule:
        """Run on a module; raises IllegalEdit if the nodes cannot be one function."""
        if not self.nodes:
            return module
        at = located(module)
        legality.check_names(at.graph, self.nodes, self.ops, "ExtractRegion")
        name = free_name(module, "extracted")
        region = enclosed(at, legality.region(at.graph, self.nodes), {}, name)
        others = {v: function for v, function in module.functions_items() if v.name_hint != "main"}
        made = tvm.IRModule({**others, tvm.ir.GlobalVar(name): region.function}, module.attrs, module.global_infos)
        return with_entry(made, name)
