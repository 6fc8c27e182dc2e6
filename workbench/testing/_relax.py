"""The writer of generated Relax programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

import tvm
from tvm import relax

from workbench.dialects.relax import compat
from workbench.samples._relax import RelaxBuilder
from workbench.testing.values import SIZES, Shape, Type


class Writer(RelaxBuilder):
    """Writes a `main` of one dataflow block."""

    prefix = "relax."

    def __init__(self) -> None:
        super().__init__()
        self.symbols: dict[int | str, Any] = {each: tvm.tirx.Var(each, "int64") for each in SIZES}

    def elementwise(self, registered: Iterable[str]) -> list[str]:
        """Return the names of operators that may be elementwise."""
        # not elementwise, and one that LLVM lacks
        left_out = ("nn.batch_flatten", "tril", "triu", "atan2")
        names = [each[6:] for each in registered if each.startswith("relax.") and "." not in each[9:]]
        return [each for each in names if each not in left_out]

    def variable(self, name: str, shape: Sequence[int | str], dtype: str) -> relax.Var:
        return relax.Var(name, compat.tensor_type(tuple(self.symbols.get(each, each) for each in shape), dtype))

    def call(self, name: str, operands: Sequence[Any], *rest: Any, **attrs: Any) -> relax.Var:
        shaped = [[self.symbols.get(d, d) for d in each] if isinstance(each, tuple) else each for each in rest]
        return self.emit(attrgetter(name)(relax.op)(*operands, *shaped, **attrs))

    def types(self, expr: relax.Expr) -> list[Type]:
        kind = compat.type_of(expr)
        return [_type(each) for each in (kind.fields if isinstance(kind, compat.TupleType) else [kind])]

    def item(self, expr: relax.Expr, place: int) -> relax.Var:
        return self.emit(relax.TupleGetItem(expr, place))

    def helped(self, operand: relax.Expr, shape: Shape, dtype: str, calls: Sequence[str]) -> relax.Var:
        """Return a call of a new private function, which calls these operators one after the other; before any other call."""
        x = value = self.variable("p", shape, dtype)
        with self.block.function("helper", [x], private=True):
            with self.block.dataflow():
                for each in calls:
                    value = self.block.emit(attrgetter(each)(relax.op)(value))
                output = self.block.emit_output(value)
            helper = self.block.emit_func_output(output)
        return self.emit(relax.Call(helper, [operand]))

    def module(self, outputs: Sequence[relax.Expr], tidy: bool) -> tuple[tvm.IRModule, dict[str, Any]]:
        """Return the module with these outputs, without unused values if it is to be tidy, and its parameters."""
        made, params = self.finish(*outputs)
        made["main"] = made["main"].with_attr("num_input", len(self.inputs))
        return relax.transform.DeadCodeElimination()(made) if tidy else made, params


def _type(kind: Any) -> Type:
    sizes = compat.dimensions_of(kind)
    if sizes is None or not all(compat.is_number(each) or isinstance(each, tvm.tirx.Var) for each in sizes):
        raise ValueError("a dimension is not a number or a variable")
    return tuple(int(each) if compat.is_number(each) else str(each) for each in sizes), compat.dtype_of(kind)
