"""ForceFusion: make chosen operators one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tvm
from tvm import relay

from workbench.analysis import legality
from workbench.dialects.relay.passes.enclosing import called, enclosed
from workbench.dialects.relay.passes.nodes import located


@tvm.transform.module_pass(opt_level=0, name="ForceFusion")
@dataclass(frozen=True)
class ForceFusion:
    """Make chosen operators one kernel: they go into a Primitive function, which FuseOps leaves as it is.

    The region must be convex, give one tensor, and hold one complicated operator (a reduction, a convolution, ...) at
    most. Tuples and scalar constants between the chosen operators are included automatically.
    """

    nodes: Sequence[int] = ()
    "the operators by their node ids in the module's graph"
    ops: Sequence[str] = ()
    "the operators at these ids, in the same order, checked first; empty to trust the ids"

    def transform_module(self, module: tvm.IRModule, _: tvm.transform.PassContext) -> tvm.IRModule:
        """Run on a module; raises IllegalEdit if the nodes cannot be one kernel."""
        if not self.nodes:
            return module
        at = located(relay.transform.InferType()(module))
        legality.check_names(at.graph, self.nodes, self.ops, "ForceFusion")
        region = enclosed(at, legality.kernel(at.graph, self.nodes))
        primitive = region.function.with_attr("Primitive", tvm.tir.IntImm("int32", 1))
        return called(at, region, primitive, {})
