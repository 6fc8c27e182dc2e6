"""OutlineRegion: put chosen operators into a function, for a composite or for an external compiler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tvm
from tvm import relay

from workbench.analysis import legality
from workbench.dialects.relay.passes.enclosing import called, enclosed
from workbench.dialects.relay.passes.nodes import located
from workbench.errors import PipelineError


@tvm.transform.module_pass(opt_level=0, name="OutlineRegion")
@dataclass(frozen=True)
class OutlineRegion:
    """Put chosen operators into a function: a composite of that name, or with `compiler` a region for that code generator.

    A composite is called in place, as after MergeComposite. A region for a compiler is a global function with the
    attributes that PartitionGraph sets. A region with several results returns a tuple. TVM's own code generators do not
    accept composites; DefuseOps inlines them again.
    """

    nodes: Sequence[int] = ()
    "the operators by their node ids in the module's graph"
    name: str = "region"
    "the composite's name, or the global function's"
    compiler: str | None = None
    "the code generator that is to compile it (`relay.ext.<compiler>`)"
    ops: Sequence[str] = ()
    "the operators at these ids, in the same order, checked first; empty to trust the ids"

    def transform_module(self, module: tvm.IRModule, _: tvm.transform.PassContext) -> tvm.IRModule:
        """Run on a module; raises IllegalEdit if the nodes cannot be one function."""
        if not self.nodes:
            return module
        at = located(relay.transform.InferType()(module))
        legality.check_names(at.graph, self.nodes, self.ops, "OutlineRegion")
        region = enclosed(at, legality.region(at.graph, self.nodes))
        if not self.compiler:
            return called(at, region, region.function.with_attr("Composite", self.name), {})
        if self.name in {variable.name_hint for variable in at.module.get_global_vars()}:
            raise PipelineError(f"the module has a function @{self.name} already; give the region another name")
        one = tvm.tir.IntImm("int32", 1)
        attrs = {"Compiler": self.compiler, "Primitive": one, "Inline": one, "global_symbol": self.name}
        function = region.function.with_attr(attrs)
        variable = relay.GlobalVar(self.name)
        return called(at, region, variable, {variable: function})
