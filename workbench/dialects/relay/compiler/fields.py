"""The tensors of a tuple that a kernel reads: the executor passes it every field, and it may use only one."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relay

from workbench.dialects.relay.compiler.folding import at
from workbench.dialects.relay.printer import parts


def tensors_read(function: relay.Function) -> tuple[bool, ...]:
    """Return whether a kernel reads each of its tensors, tuples flattened, in the order of its parameters.

    A parameter that is one tensor counts as read, and so do all fields of a tuple that is used as a whole.
    """
    tuples = [each for each in function.params if isinstance(each.checked_type, relay.TupleType)]
    taken = {at(each): set[int]() for each in tuples}
    if tuples:
        relay.analysis.post_order_visit(function, lambda expr: _look(expr, taken))
    return tuple(kept for each in function.params for kept in _which_are_read(each.checked_type, taken.get(at(each))))


def read_by_hash(module: tvm.IRModule) -> dict[str, tuple[bool, ...]]:
    """Return the same for each kernel in `main`, by the hash that the executor's graph has for it too."""
    found: dict[str, tuple[bool, ...]] = {}

    def look(expr: Any) -> None:
        kernel: Any = expr.op if isinstance(expr, relay.Call) else None
        if isinstance(kernel, relay.Function) and has(kernel, "hash") and not foreign(kernel):
            found[_attribute(kernel, "hash")] = tensors_read(kernel)

    relay.analysis.post_order_visit(module["main"], look)
    return found


def has(function: Any, name: str) -> bool:
    """Return whether a function has an attribute; one that is null is not there."""
    attrs = getattr(function, "attrs", None)
    return attrs is not None and name in tuple(attrs.keys()) and attrs[name] is not None


def _attribute(function: Any, name: str) -> str:
    return str(function.attrs[name])


def foreign(function: Any) -> bool:
    """Return whether another compiler makes its code; the tensors that such code reads are unknown."""
    return has(function, "Compiler")


def _look(expr: Any, taken: dict[int, set[int]]) -> None:
    """Record the fields that an expression takes of the tuples among the parameters."""
    if isinstance(expr, relay.TupleGetItem):
        taken.get(at(expr.tuple_value), set()).add(expr.index)
    elif not isinstance(expr, _LEAVES):
        for part in parts(expr):
            if at(part) in taken:
                taken[at(part)].update(range(len(part.checked_type.fields)))


def _which_are_read(type: Any, taken: set[int] | None) -> list[bool]:
    """Return for each tensor of a parameter whether it is read: all of them, or those in the fields that are taken."""
    if taken is None:
        return [True] * _width(type)
    return [place in taken for place, field in enumerate(type.fields) for _ in range(_width(field))]


def _width(type: Any) -> int:
    """Return the number of tensors in a type."""
    if isinstance(type, relay.TupleType):
        return sum(map(_width, type.fields))
    return int(isinstance(type, relay.TensorType))


_LEAVES = (relay.Var, relay.Constant, relay.GlobalVar, tvm.ir.Op)
