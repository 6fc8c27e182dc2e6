"""OutlineRegion: put chosen operators into a function, for a composite or for an external compiler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tvm

from workbench.analysis import legality
from workbench.dialects.relax.passes.enclosing import called, enclosed, free_name
from workbench.dialects.relax.passes.nodes import located
from workbench.errors import PipelineError


@tvm.transform.module_pass(opt_level=0, name="OutlineRegion")
@dataclass(frozen=True)
class OutlineRegion:
    """Put chosen operators into a function: a composite of that name, or with `compiler` a region for that code generator.

    A composite is the same as one of FuseOpsByPattern. A region for a compiler has the attributes that
    MergeCompositeFunctions sets and RunCodegen looks for. A region with several results returns a tuple.
    """

    nodes: Sequence[int] = ()
    "the operators by their node ids in the module's graph"
    name: str = "region"
    "the composite's name, or the global function's"
    compiler: str | None = None
    "the code generator that is to compile it (`relax.ext.<compiler>`)"
    ops: Sequence[str] = ()
    "the operators at these ids, in the same order, checked first; empty to trust the ids"

    def transform_module(self, module: tvm.IRModule, _: tvm.transform.PassContext) -> tvm.IRModule:
        """Run on a module; raises IllegalEdit if the nodes cannot be one function."""
        if not self.nodes:
            return module
        at = located(module)
        legality.check_names(at.graph, self.nodes, self.ops, "OutlineRegion")
        selection = legality.region(at.graph, self.nodes)
        if self.compiler:
            name = self.name
            if name in {variable.name_hint for variable in module.get_global_vars()}:
                raise PipelineError(f"the module has a function @{name} already; give the region another name")
            attrs = {"Codegen": self.compiler, "global_symbol": name}
        else:
            name = free_name(module, "".join(c if c.isalnum() else "_" for c in self.name))
            attrs = {"Composite": self.name}
        return called(at, enclosed(at, selection, attrs, name), name)
