"""InlineFunctions: a program without calls of functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relay

from workbench.analysis.subprograms import check_functions
from workbench.dialects.entries import functions_reached
from workbench.dialects.relay.compiler.fields import foreign
from workbench.dialects.relay.passes.rewriting import Memo, rewritten, with_body, with_main


@tvm.transform.module_pass(opt_level=0, name="InlineFunctions")
@dataclass(frozen=True)
class InlineFunctions:
    """Put the body of each called function in the place of the call, in `main`.

    A function that calls itself, and one for another compiler, stays. TVM's own Inline fails on a call whose argument is a call of the
    same function.
    """

    functions: Sequence[str] = ()
    "names of functions of the module; empty for all, and the functions that are written where they are called"

    def transform_module(self, module: tvm.IRModule, _: tvm.transform.PassContext) -> tvm.IRModule:
        """Run on a module; raises IllegalEdit if it does not have a function of a name."""
        check_functions(self.functions, [str(each.name_hint) for each in module.get_global_vars()])
        main = module["main"]
        body = main.body
        while calls := self._calls(module, body):
            memo: Memo = {}
            for call in calls:
                arguments = [rewritten(each, memo) for each in call.args]
                function = _callee(module, call)
                memo[call] = rewritten(function.body, dict(zip(function.params, arguments, strict=True)))
            body = rewritten(body, memo)
        return module if body.same_as(main.body) else with_main(module, with_body(main, body))

    def _calls(self, module: tvm.IRModule, body: relay.Expr) -> list[relay.Call]:
        """Return the calls to inline, the arguments of a call before it."""
        found: list[relay.Call] = []

        def look(expr: relay.Expr) -> None:
            if isinstance(expr, relay.Call) and self._is_chosen(module, expr):
                found.append(expr)

        relay.analysis.post_order_visit(body, look)
        return found

    def _is_chosen(self, module: tvm.IRModule, call: relay.Call) -> bool:
        function, name = _callee(module, call), getattr(call.op, "name_hint", "")
        if not isinstance(function, relay.Function) or foreign(function):
            return False
        if self.functions and name not in self.functions:
            return False
        visit = relay.analysis.post_order_visit
        return not name or name not in functions_reached(module, name, relay.Function, visit)


def _callee(module: tvm.IRModule, call: relay.Call) -> Any:
    return module[call.op] if isinstance(call.op, tvm.ir.GlobalVar) else call.op
