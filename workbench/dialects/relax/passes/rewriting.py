"""Replacing the bindings in a block of a function. Variables that stay are the same objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import tvm
from tvm import relax

from workbench.dialects.relax.compat import identity, type_of
from workbench.dialects.relax.passes.nodes import Place


def replaced(value: relax.Expr, instead: Mapping[int, relax.Expr]) -> relax.Expr:
    """Return a bound value in normal form, with some of its operands replaced.

    Parameters
    ----------
    instead
        Identity of an operand -> its replacement.
    """
    if identity(value) in instead:
        return instead[identity(value)]
    if isinstance(value, relax.Call):
        arguments = [replaced(argument, instead) for argument in value.args]
        types = getattr(value, "sinfo_args", None) or getattr(value, "ty_args", None)
        return relax.Call(value.op, arguments, value.attrs, types, value.span)
    if isinstance(value, relax.Tuple):
        return relax.Tuple([replaced(field, instead) for field in value.fields])
    if isinstance(value, relax.TupleGetItem):
        return relax.TupleGetItem(replaced(value.tuple_value, instead), value.index)
    return value


def operands(value: relax.Expr) -> list[relax.Expr]:
    """Return the variables and constants that a bound value in normal form uses."""
    if isinstance(value, relax.Call):
        return [each for argument in value.args for each in operands(argument)]
    if isinstance(value, relax.Tuple):
        return [each for field in value.fields for each in operands(field)]
    return operands(value.tuple_value) if isinstance(value, relax.TupleGetItem) else [value]


def behind(bindings: Sequence[Any], starts: Iterable[relax.Expr]) -> set[int]:
    """Return the identities of these variables and of those in a block that depend on them."""
    found = {identity(start) for start in starts}
    for binding in bindings:
        if any(identity(each) in found for each in used(binding)):
            found.add(identity(binding.var))
    return found


def used(binding: Any) -> list[relax.Expr]:
    """Return the variables that a binding's value reads, including those of a branch or a local function in it."""
    value = binding.value
    if isinstance(value, (relax.Call, relax.Tuple, relax.TupleGetItem, relax.Var)):
        return operands(value)
    return list(relax.analysis.free_vars(value))


def with_block(module: tvm.IRModule, place: Place, change: Callable[[list[Any]], list[Any]]) -> tvm.IRModule:
    """Return a copy of the module in which `change` made a block's new bindings from its old ones."""
    function = module[place.function]
    blocks = list(function.body.blocks)
    blocks[place.block] = relax.DataflowBlock(change(list(blocks[place.block].bindings)))
    made = module.clone()
    body = relax.SeqExpr(blocks, function.body.body)
    changed = relax.Function(
        function.params, body, type_of(function.body.body), function.is_pure, function.attrs, function.span
    )
    made.update_func(made.get_global_var(place.function), changed)
    return relax.transform.Normalize()(made)
