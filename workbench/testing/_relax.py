"""The writer of generated Relax programs."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import tvm
from tvm import relax

from workbench.dialects.relax import compat
from workbench.samples._relax import RelaxBuilder
from workbench.testing.operators import PROBED, Elementwise, Shape, Type, half


class RelaxWriter(RelaxBuilder):
    """Writes a `main` of one dataflow block."""

    prefix = "relax."
    symbolic = True

    def __init__(self) -> None:
        super().__init__()
        self.symbols: dict[str, Any] = {}

    def variable(self, name: str, shape: Sequence[int | str], dtype: str) -> relax.Var:
        return relax.Var(name, compat.tensor_type(self.sizes(shape), dtype))

    def sizes(self, shape: Sequence[int | str]) -> tuple[Any, ...]:
        """Return a shape with TVM's variables in place of the names of symbolic dimensions."""
        for each in shape:
            if isinstance(each, str) and each not in self.symbols:
                self.symbols[each] = tvm.tirx.Var(each, "int64")
        return tuple(self.symbols[each] if isinstance(each, str) else each for each in shape)

    def constant(self, value: float | np.ndarray) -> relax.Expr:
        return relax.const(value, str(np.asarray(value).dtype))

    def call(self, name: str, operands: Sequence[Any], *rest: Any, **attrs: Any) -> relax.Var:
        shaped = [self.sizes(each) if isinstance(each, tuple) else each for each in rest]
        return self.emit(_function(name)(*operands, *shaped, **attrs))

    def types(self, expr: relax.Expr) -> list[Type]:
        kind = compat.type_of(expr)
        return [_type(each) for each in (kind.fields if isinstance(kind, compat.TupleType) else [kind])]

    def item(self, expr: relax.Expr, place: int) -> relax.Var:
        return self.emit(relax.TupleGetItem(expr, place))

    def tuple(self, exprs: Sequence[relax.Expr]) -> relax.Var:
        return self.emit(relax.Tuple(list(exprs)))

    def helper(self, shape: Shape, dtype: str, calls: Sequence[str]) -> Any:
        x = value = self.variable("p", shape, dtype)
        with self.block.function("helper", [x], private=True):
            with self.block.dataflow():
                for each in calls:
                    value = self.block.emit(_function(each)(value))
                output = self.block.emit_output(value)
            return self.block.emit_func_output(output)

    def helped(self, helper: Any, operand: relax.Expr) -> relax.Var:
        return self.emit(relax.Call(helper, [operand]))

    def module(self, outputs: Sequence[relax.Expr]) -> tuple[tvm.IRModule, dict[str, object]]:
        left = [self.block.emit_output(each) for each in outputs]
        self.dataflow.close()
        result = left[0] if len(left) == 1 else relax.Tuple(left)
        self.block.emit_func_output(result, [*self.inputs, *self.weights])
        self.function.close()
        made = self.block.get()
        made["main"] = made["main"].with_attr("num_input", len(self.inputs))
        return made, {v: self.arrays[v] for v in map(compat.name_of, self.weights)}


def _function(name: str) -> Any:
    """Return the function of `relax.op` that makes a call of an operator; None if there is none."""
    found: Any = relax.op
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _type(kind: Any) -> Type:
    sizes = compat.dimensions_of(kind)
    if sizes is None or not all(compat.is_number(each) or isinstance(each, tvm.tirx.Var) for each in sizes):
        raise ValueError("a dimension is not a number or a variable")
    return tuple(int(each) if compat.is_number(each) else str(each) for each in sizes), compat.dtype_of(kind)


@cache
def elementwise() -> Elementwise:
    """Return the operators of one or two tensors without attributes, as TVM infers their results."""
    block, found = relax.BlockBuilder(), dict[str, tuple[int, dict[str, str]]]()
    for name in sorted(str(each) for each in tvm.ir.Op.list_op_names()):
        plain, arity = name.removeprefix("relax."), tvm.ir.Op.get(name).num_inputs
        function = _function(plain) if name.startswith("relax.") and "." not in plain.removeprefix("nn.") else None
        if arity not in (1, 2) or not inspect.isfunction(function):
            continue
        given = inspect.signature(function).parameters.values()
        if len(given) != arity or any(each.default is not each.empty for each in given):
            continue
        for dtype in PROBED:
            if dtype == "float16" and not half(plain):
                continue
            x, y = (relax.Var("x", compat.tensor_type((2, each), dtype)) for each in (3, 1))
            try:
                shape, result = _type(compat.type_of(block.normalize(function(*[x, y][:arity]))))
            except Exception:  # noqa: BLE001  TVM refuses by errors of many classes
                continue
            if shape == (2, 3):
                found.setdefault(plain, (arity, {}))[1][dtype] = result
    for name in ("nn.batch_flatten", "atan2"):  # it has no axis to flatten here; LLVM has no atan2
        del found[name]
    return found


@cache
def registered() -> frozenset[str]:
    """Return the names of Relax's operators, without its prefix."""
    return frozenset(
        str(each).removeprefix("relax.") for each in tvm.ir.Op.list_op_names() if str(each).startswith("relax.")
    )
