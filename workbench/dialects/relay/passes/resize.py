"""ResizeDimensions: a program of other sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relay

from workbench.dialects.relay.object_types import attribute_type
from workbench.dialects.relay.passes.fill import with_values
from workbench.dialects.relay.passes.rewriting import Memo, rewritten, with_main
from workbench.errors import PipelineError


@tvm.transform.module_pass(opt_level=0, name="ResizeDimensions")
@dataclass(frozen=True)
class ResizeDimensions:
    """Change every dimension of one size in `main`: of its inputs and constants, and the numbers of attributes.

    A constant keeps its first elements. The pass raises if the types no longer fit.
    """

    size: int
    to: int
    "the new size, which is smaller"
    attributes: bool = True
    "whether attributes that are this number, such as `units`, change too"

    def __post_init__(self) -> None:
        """Refuse sizes that no tensor can have.

        Raises
        ------
        PipelineError
            The new size is not from 1 to the old one.
        """
        if not 0 < self.to <= self.size:
            raise PipelineError(f"the new size is {self.to!r}; give a whole number from 1 to {self.size}")

    def transform_module(self, module: tvm.IRModule, _: tvm.transform.PassContext) -> tvm.IRModule:
        """Run on a module."""
        main = module["main"]
        memo: Memo = {each: relay.Var(each.name_hint, self._type(each.checked_type)) for each in main.params}
        relay.analysis.post_order_visit(main.body, lambda expr: self._resize(expr, memo))
        return with_main(
            module, relay.Function([memo[each] for each in main.params], memo[main.body], None, [], main.attrs)
        )

    def _resize(self, expr: relay.Expr, memo: Memo) -> None:
        """Note the expression with other sizes; its parts are noted already."""
        if isinstance(expr, relay.Constant):
            memo[expr] = with_values(expr, lambda array: array[tuple(slice(self._size(d)) for d in array.shape)])
        elif isinstance(expr, relay.Call) and self.attributes and expr.attrs is not None:
            arguments = [memo.get(each, each) for each in expr.args]
            memo[expr] = relay.Call(memo.get(expr.op, expr.op), arguments, self._attrs(expr), [], expr.span)
        else:
            rewritten(expr, memo)

    def _size(self, dimension: Any) -> Any:
        return self.to if isinstance(dimension, (int, tvm.tir.IntImm)) and int(dimension) == self.size else dimension

    def _type(self, type: Any) -> Any:
        if not isinstance(type, relay.TensorType):
            return type
        return relay.TensorType([self._size(each) for each in type.shape], type.dtype)

    def _attrs(self, call: relay.Call) -> Any:
        fields = {str(name): self._value(call.attrs[name]) for name in call.attrs.keys()}  # noqa: SIM118  not a mapping
        key = attribute_type(call.op) if isinstance(call.op, tvm.ir.Op) else ""
        return tvm.ir.make_node(key, **fields) if key else call.attrs

    def _value(self, value: Any) -> Any:
        if isinstance(value, tvm.tir.IntImm) and int(value) == self.size:
            return tvm.tir.IntImm(value.dtype, self.to)
        if isinstance(value, tvm.ir.Array):
            return [self._value(each) for each in value]
        return value if isinstance(value, bool) else self._size(value)
