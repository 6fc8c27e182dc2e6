"""InlineFunctions: a program without calls of functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tvm
from tvm import relax

from workbench.analysis.subprograms import check_functions
from workbench.dialects.entries import functions_reached
from workbench.dialects.relax.passes.rewriting import with_main


@tvm.transform.module_pass(opt_level=0, name="InlineFunctions")
@dataclass(frozen=True)
class InlineFunctions:
    """Put the body of each called function of the module in the place of the call, in `main`, by TVM's `inline_functions`.

    A function that calls itself, and one for another compiler, stays.
    """

    functions: Sequence[str] = ()
    "names of functions of the module; empty for all"

    def transform_module(self, module: tvm.IRModule, _: tvm.transform.PassContext) -> tvm.IRModule:
        """Run on a module; raises IllegalEdit if it does not have a function of a name."""
        check_functions(self.functions, [str(each.name_hint) for each in module.get_global_vars()])
        reached = functions_reached(module, "main", relax.Function, relax.analysis.post_order_visit)
        chosen = {name: module[name] for name in sorted(reached) if self._is_chosen(module, name)}
        return with_main(module, module["main"].inline_functions(chosen)) if chosen else module

    def _is_chosen(self, module: tvm.IRModule, name: str) -> bool:
        function = module[name]
        if not isinstance(function, relax.Function) or (function.attrs or {}).get("Codegen") is not None:
            return False
        if self.functions and name not in self.functions:
            return False
        return name not in functions_reached(module, name, relax.Function, relax.analysis.post_order_visit)
