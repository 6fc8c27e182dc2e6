"""ForceFusion: make chosen operators one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tvm

from workbench.analysis import legality
from workbench.dialects.relax.passes.enclosing import called, enclosed, free_name
from workbench.dialects.relax.passes.nodes import located


@tvm.transform.module_pass(opt_level=0, name="ForceFusion")
@dataclass(frozen=True)
class ForceFusion:
    """Make chosen operators one kernel: they go into a Primitive function, which FuseOps leaves as it is.

    The region must be convex, give one tensor, and hold one complicated operator (a reduction, a convolution, ...) at
    most. Run it after AnnotateTIROpPattern: before, no operator has a pattern.
    """

    nodes: Sequence[int] = ()
    "the operators by their node ids in the module's graph"
    ops: Sequence[str] = ()
    "the operators at these ids, in the same order, checked first; empty to trust the ids"

    def transform_module(self, module: tvm.IRModule, _: tvm.transform.PassContext) -> tvm.IRModule:
        """Run on a module; raises IllegalEdit if the nodes cannot be one kernel."""
        if not self.nodes:
            return module
        at = located(module)
        legality.check_names(at.graph, self.nodes, self.ops, "ForceFusion")
        name = free_name(module, "fused_by_hand")
        region = enclosed(at, legality.kernel(at.graph, self.nodes), {"Primitive": True}, name)
        return called(at, region, name)
