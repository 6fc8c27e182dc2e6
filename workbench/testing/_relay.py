"""The writer of generated Relay programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

import tvm
from tvm import relay

from workbench.samples._relay import RelayBuilder
from workbench.testing.values import Type


class Writer(RelayBuilder):
    """Writes a `main` of nested calls."""

    prefix = ""
    helper: tuple[relay.Function, relay.Call, relay.Var] | None = None
    "a second function, the call of it, and the variable in the place of the call until there is a module: TVM infers no type before"

    def elementwise(self, registered: Iterable[str]) -> list[str]:
        """Return the names of operators that are elementwise, or broadcast, by TVM's pattern of their fusion (0 and 1)."""
        left_out = ("broadcast_to_like", "full_like", "trilu")
        names = [each for each in registered if tvm.ir.Op.get(each).get_attr("TOpPattern") in (0, 1)]
        return [each for each in names if not each.startswith("tir.") and each not in left_out]

    def call(self, name: str, operands: Sequence[Any], *rest: Any, **attrs: Any) -> relay.Expr:
        made = attrgetter(name)(relay)(*operands, *rest, **attrs)
        # a split is wrapped in a Python object that counts its fields
        return made.astuple() if hasattr(made, "astuple") else made

    def types(self, expr: relay.Expr) -> list[Type]:
        kind = relay.transform.InferTypeLocal(expr)
        return [_type(each) for each in (kind.fields if isinstance(kind, tvm.ir.TupleType) else [kind])]

    def item(self, expr: relay.Expr, place: int) -> relay.Expr:
        return relay.TupleGetItem(expr, place)

    def helped(self, operand: relay.Expr, shape: Sequence[int], dtype: str, calls: Sequence[str]) -> relay.Var:
        """Return the value of a call of a second function, which calls these operators one after the other."""
        x = value = self.variable("p", shape, dtype)
        for each in calls:
            value = self.call(each, [value])
        function = relay.Function([x], value, relay.TensorType(shape, dtype))
        # the graph executor calls no functions
        function = function.with_attr("Inline", tvm.tir.IntImm("int32", 1))
        place = self.variable("helped", shape, dtype)
        self.helper = function, relay.Call(relay.GlobalVar("helper"), [operand]), place
        return place

    def module(self, outputs: Sequence[relay.Expr], tidy: bool) -> tuple[tvm.IRModule, dict[str, object]]:  # noqa: ARG002
        """Return the module with these outputs, and its parameters; without a `let` no value is unused."""
        result = outputs[0] if len(outputs) == 1 else relay.Tuple(list(outputs))
        if self.helper is None:
            return self.finish(result)
        function, call, place = self.helper
        made, params = self.finish(relay.bind(result, {place: call}))
        made[call.op] = function
        return made, params


def _type(kind: Any) -> Type:
    return tuple(int(each) for each in kind.shape), str(kind.dtype)
