"""Large constants of Relax for another process: replaced by a number in the written module, restored by the reader.

TVM's JSON holds a constant as base64, which TVM writes and reads at some 40 MB a second. Types, names and all else stay
as they are: a node that holds a constant is copied, and TVM infers nothing anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import tvm
from tvm import relax

from workbench.dialects import arrays, compat

_PLACE = (1,) * 12
"the shape of an integer that replaces a constant's values: its index among those written"
_PARTS: dict[type, tuple[str, ...]] = {
    relax.Function: ("body",),
    relax.SeqExpr: ("blocks", "body"),
    relax.BindingBlock: ("bindings",),
    relax.DataflowBlock: ("bindings",),
    relax.VarBinding: ("value",),
    relax.MatchCast: ("value",),
    relax.Call: ("op", "args"),
    relax.Tuple: ("fields",),
    relax.TupleGetItem: ("tuple_value",),
    relax.If: ("cond", "true_branch", "false_branch"),
}


def lifted(module: tvm.IRModule) -> tuple[tvm.IRModule, dict[str, tvm.runtime.Tensor]]:
    """Return the module with a number in place of each large constant, and those constants' values."""
    numbers: dict[int, tuple[int, tvm.runtime.Tensor]] = {}

    def place_of(value: Any) -> Any:
        if not (isinstance(value, tvm.runtime.Tensor) and (arrays.is_raw(value) or _is_place(value))):
            return value
        place, _ = numbers.setdefault(compat.identity(value), (len(numbers), value))
        return tvm.runtime.tensor(np.full(_PLACE, place))

    thin = _changed(module, place_of)
    return thin, {str(place): value for place, value in numbers.values()}


def bound(module: tvm.IRModule, numbers: Mapping[str, tvm.runtime.Tensor]) -> tvm.IRModule:
    """Return a module from `lifted` with its constants restored."""

    def fill(value: Any) -> Any:
        is_place = isinstance(value, tvm.runtime.Tensor) and _is_place(value)
        return numbers[str(value.numpy().item())] if is_place else value

    return _changed(module, fill) if numbers else module


def _is_place(value: tvm.runtime.Tensor) -> bool:
    """Return whether a value looks like a placeholder of `lifted`; a constant of the program that does is lifted too."""
    return tuple(value.shape) == _PLACE


def _changed(module: tvm.IRModule, change: Callable[[Any], Any]) -> tvm.IRModule:
    """Return the module with each constant's value changed; a node without a changed constant stays the same object."""
    swap, made = _Swap(change), module.clone()
    for global_var, function in module.functions.items():
        new = swap.node(function)
        if new is not function:
            made.update_func(global_var, new)
    return made


class _Swap:
    """Copies nodes that hold a constant whose value changes; each object is copied once."""

    def __init__(self, change: Callable[[Any], Any]) -> None:
        self.change = change
        self.copies: dict[int, Any] = {}

    def node(self, node: Any) -> Any:
        kind = type(node)
        if kind is not compat.Constant and kind not in _PARTS:
            return node
        key = compat.identity(node)
        if key not in self.copies:
            self.copies[key] = self._constant(node) if kind is compat.Constant else self._copy(node, _PARTS[kind])
        copied = self.copies[key]
        return node if copied is None else copied

    def _constant(self, constant: Any) -> Any:
        value = compat.value_of(constant)
        changed = self.change(value)
        return None if changed is value else compat.with_value(constant, changed)

    def _copy(self, node: Any, names: Iterable[str]) -> Any:
        """Return a copy of a node with its parts changed, None if none changes."""
        changed: dict[str, Any] = {}
        for name in names:
            part = getattr(node, name)
            new = self._list(part) if isinstance(part, tvm.ir.Array) else self.node(part)
            if new is not part:
                changed[name] = new
        return compat.replaced(node, changed) if changed else None

    def _list(self, parts: Any) -> Any:
        given = list(parts)
        new = [self.node(part) for part in given]
        return parts if all(a is b for a, b in zip(given, new, strict=True)) else new
