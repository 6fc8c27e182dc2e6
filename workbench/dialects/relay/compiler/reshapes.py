"""Reshapes marked as GraphPlanMemory reads them: it sees one only as a call of a lowered function."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relay

from workbench.dialects.relay.compiler.fields import has
from workbench.dialects.relay.compiler.folding import at

_RESHAPE_ONLY = "relay.reshape_only"
"the attribute that FuseOps gives a function that only reshapes: the executor reuses the same memory"
_LOWERED = tvm.ir.Op.get("call_lowered")


def only_reshapes(op: Any) -> bool:
    """Return whether a callee is a function that the executor does not run."""
    return has(op, _RESHAPE_ONLY) and bool(int(op.attrs[_RESHAPE_ONLY]))


def is_marked(expr: Any) -> bool:
    """Return whether an expression is a reshape that `with_marked_reshapes` marked."""
    return isinstance(expr, relay.Call) and expr.op == _LOWERED


def with_marked_reshapes(module: tvm.IRModule) -> tvm.IRModule:
    """Return the module with each reshape of `main` as a call of a lowered function, typed."""
    marking = _Marking()
    relay.analysis.post_order_visit(module["main"].body, marking.visit)
    main = relay.function.FunctionWithFields(module["main"], body=marking.now(module["main"].body))
    functions = {variable: function for variable, function in module.functions.items() if variable.name_hint != "main"}
    marked = tvm.IRModule({**functions, **marking.functions, tvm.ir.GlobalVar("main"): main}, module.type_definitions)
    return relay.transform.InferType()(marked)


class _Marking:
    """Rebuilds the expressions that a reshape's value reaches."""

    def __init__(self) -> None:
        self.new: dict[int, Any] = {}
        self.functions: dict[tvm.ir.GlobalVar, relay.Function] = {}

    def now(self, expr: Any) -> Any:
        return self.new.get(at(expr), expr)

    def visit(self, expr: Any) -> None:
        if isinstance(expr, relay.Call) and only_reshapes(expr.op):
            self.new[at(expr)] = self.marked(expr)
        elif isinstance(expr, relay.Call) and self.changed(expr.args):
            arguments = [self.now(each) for each in expr.args]
            self.new[at(expr)] = relay.Call(expr.op, arguments, expr.attrs, expr.type_args, expr.span)
        elif isinstance(expr, relay.Tuple) and self.changed(expr.fields):
            self.new[at(expr)] = relay.Tuple([self.now(each) for each in expr.fields], expr.span)
        elif isinstance(expr, relay.TupleGetItem) and self.changed([expr.tuple_value]):
            self.new[at(expr)] = relay.TupleGetItem(self.now(expr.tuple_value), expr.index, expr.span)
        elif isinstance(expr, relay.Let) and self.changed([expr.value, expr.body]):
            self.new[at(expr)] = relay.Let(expr.var, self.now(expr.value), self.now(expr.body), expr.span)

    def changed(self, parts: Any) -> bool:
        return any(at(each) in self.new for each in parts)

    def marked(self, call: relay.Call) -> relay.Call:
        variable = tvm.ir.GlobalVar(f"reshape_{len(self.functions)}")
        self.functions[variable] = call.op
        attributes = tvm.ir.make_node("relay.attrs.CallLoweredAttrs", metadata={"relay_attrs": call.op.attrs})
        arguments = relay.Tuple([self.now(each) for each in call.args])
        return relay.Call(_LOWERED, [variable, arguments], attributes)
