"""Folds constants while a converter of TVM runs: each expression is visited once, and shapes are computed in Python.

For each converted operator, TVM's `fold_constant` visits the expression down to the inputs, so its time grows with the
square of the depth; and it compiles a kernel for each addition of two dimensions: 20 of 21 s for a transformer of three
layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np
import tvm
from tvm import relay
from tvm.relay.expr import CallWithFields, TupleGetItemWithFields, TupleWithFields

LARGEST = 64
"elements; a larger value is not a shape"

_LEAVES = (relay.Var, relay.GlobalVar, relay.Constant, tvm.ir.Op)
_OF_TYPES = ("shape_of", "vm.shape_of", "ndarray_size")
"operators that TVM folds by the type of their operand"

_BINARY: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
}


@contextmanager
def linear_folding(frontend: ModuleType) -> Iterator[Folding]:
    """Make a TVM importer fold constants with a Folding while the block runs."""
    theirs = frontend.fold_constant
    folding = Folding(theirs)
    frontend.fold_constant = folding.fold  # type: ignore[attr-defined]
    try:
        yield folding
    finally:
        frontend.fold_constant = theirs  # type: ignore[attr-defined]


class Folding:
    """Constant folding for expressions that grow: no expression is visited twice."""

    def __init__(self, fold: Callable[..., Any]) -> None:
        self.visits = 0
        "expressions visited"
        self._by_tvm = fold
        self._folded: dict[int, Any] = {}
        self._kept: list[Any] = []
        "every expression in `_folded`, kept alive so that no other takes the address of one"

    def fold(self, expr: Any, mod: Any = None) -> Any:
        """Return an expression with its constant parts computed, as TVM's `fold_constant` does."""
        if mod is not None:
            return self._by_tvm(expr, mod)
        waiting = [expr]
        while waiting:
            here = waiting[-1]
            if _address(here) in self._folded:
                waiting.pop()
                continue
            self.visits += 1
            parts = _parts(here)
            unseen = [part for part in parts if _address(part) not in self._folded]
            if unseen:
                waiting.extend(unseen)
                continue
            self._remember(here, self._fold_one(here, [self._folded[_address(part)] for part in parts]))
        return self._folded[_address(expr)]

    def _remember(self, expr: Any, value: Any) -> None:
        for each in (expr, value):
            self._folded[_address(each)] = value
            self._kept.append(each)

    def _fold_one(self, expr: Any, parts: list[Any]) -> Any:
        """Return an expression whose operands are folded."""
        if isinstance(expr, relay.TupleGetItem):
            return parts[0].fields[expr.index] if isinstance(parts[0], relay.Tuple) else _with_parts(expr, parts)
        if isinstance(expr, relay.Call) and isinstance(expr.op, tvm.ir.Op):
            return self._fold_call(_with_parts(expr, parts), parts)
        if isinstance(expr, (relay.Tuple, *_LEAVES)):
            return _with_parts(expr, parts)
        return self._by_tvm(expr)

    def _fold_call(self, call: Any, parts: list[Any]) -> Any:
        if call.op.name in _OF_TYPES:
            return self._by_tvm(call)
        if not parts or not all(_is_constant(part) for part in parts):
            return call
        value = small_integers(call)
        return self._by_tvm(call) if value is None else relay.const(value, str(value.dtype))


def _address(expr: Any) -> int:
    return expr.handle.value


def _parts(expr: Any) -> list[Any]:
    """Return the operands that are folded before an expression; bindings and branches are left to TVM as a whole."""
    if isinstance(expr, relay.Call) and isinstance(expr.op, tvm.ir.Op):
        return list(expr.args)
    if isinstance(expr, relay.Tuple):
        return list(expr.fields)
    return [expr.tuple_value] if isinstance(expr, relay.TupleGetItem) else []


def _with_parts(expr: Any, parts: list[Any]) -> Any:
    if all(new.same_as(old) for new, old in zip(parts, _parts(expr), strict=True)):
        return expr
    if isinstance(expr, relay.Call):
        return CallWithFields(expr, expr.op, parts)
    if isinstance(expr, relay.Tuple):
        return TupleWithFields(expr, parts)
    return TupleGetItemWithFields(expr, parts[0])


def _is_constant(expr: Any) -> bool:
    if isinstance(expr, relay.Tuple):
        return all(isinstance(field, relay.Constant) for field in expr.fields)
    return isinstance(expr, relay.Constant)


def small_integers(expr: Any) -> np.ndarray | None:
    """Return the value of a call whose operands are small integer constants; None for every other expression."""
    if isinstance(expr, relay.Constant):
        value = expr.data
        small = np.prod(value.shape, dtype="int64") <= LARGEST
        return value.numpy() if small and value.dtype in ("int32", "int64") else None
    if not isinstance(expr, relay.Call) or not expr.args:
        return None
    first: Any = expr.args[0]
    values = []
    for part in first.fields if isinstance(first, relay.Tuple) else expr.args:
        value = small_integers(part) if isinstance(part, relay.Constant) else None
        if value is None:
            return None
        values.append(value)
    return _applied(expr.op.name, expr.attrs, values)


def _applied(name: str, attrs: Any, values: list[np.ndarray]) -> np.ndarray | None:
    if name in _BINARY and len(values) == 2 and values[0].dtype == values[1].dtype:
        return _BINARY[name](*values)
    if name == "concatenate":
        return np.concatenate(values, int(attrs.axis))
    plain = name == "strided_slice" and len(values) == 1 and values[0].ndim == 1 and attrs.slice_mode == "end"
    if plain and attrs.axes is None and len(attrs.begin) == len(attrs.end) == 1:
        step = int(attrs.strides[0]) if attrs.strides else 1
        return values[0][int(attrs.begin[0]) : int(attrs.end[0]) : step] if step > 0 else None
    return None
