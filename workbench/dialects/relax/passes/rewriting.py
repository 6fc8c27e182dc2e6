"""Replacing the bindings in a block of a function. Variables that stay are the same objects."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax

from workbench.dialects.relax import compat
from workbench.dialects.relax.compat import identity, type_of


@dataclass(frozen=True)
class Place:
    """The place of bindings: a block of a global function."""

    function: str
    block: int


def replaced(value: relax.Expr, instead: Mapping[int, relax.Expr]) -> relax.Expr:
    """Return a bound value in normal form, with some of its operands replaced.

    `instead`: identity of an operand -> its replacement.
    """
    if identity(value) in instead:
        return instead[identity(value)]
    if isinstance(value, relax.Call):
        return with_operands(value, [replaced(argument, instead) for argument in value.args], value.attrs)
    if isinstance(value, relax.Tuple):
        return relax.Tuple([replaced(field, instead) for field in value.fields])
    if isinstance(value, relax.TupleGetItem):
        return relax.TupleGetItem(replaced(value.tuple_value, instead), value.index)
    return value


def with_operands(call: relax.Call, arguments: Sequence[relax.Expr], attrs: Any) -> relax.Call:
    """Return a call of the same operator, with the same types among its arguments."""
    return relax.Call(call.op, arguments, attrs, call.ty_args, call.span)


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


def around(bindings: Sequence[Any], chosen: Collection[int]) -> tuple[list[Any], list[Any]]:
    """Return the bindings of a block that may stay before a value in the place of the chosen ones, and those after it."""
    after = behind(bindings, [each.var for each in bindings if identity(each.var) in chosen])
    first = [each for each in bindings if identity(each.var) not in after]
    return first, [each for each in bindings if identity(each.var) in after and identity(each.var) not in chosen]


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


def bindings_of(function: relax.Function) -> Iterator[Any]:
    """Yield the bindings of a function's body, in order."""
    for block in function.body.blocks:
        yield from block.bindings


def constants_of(function: relax.Function) -> Iterator[relax.Expr]:
    """Yield the tensor constants that the bindings of a function read."""
    for binding in bindings_of(function):
        for each in operands(binding.value):
            if isinstance(each, compat.Constant) and compat.fixed_shape(type_of(each)):
                yield each


def rebuilt(
    function: relax.Function,
    params: Sequence[relax.Var],
    bindings: Iterable[Any],
    instead: dict[int, relax.Expr],
    results: Sequence[relax.Expr],
) -> relax.Function:
    """Return a function of some bindings of another one, their types inferred anew.

    `instead`: identity of an operand -> its replacement. It is filled with the new variables. `results`: the values
    to return, in terms of the old function.
    """
    is_dataflow = all(isinstance(block, relax.DataflowBlock) for block in function.body.blocks)
    # the number of inputs that are not weights
    attrs = {name: value for name, value in (function.attrs or {}).items() if name != "num_input"}
    builder = relax.BlockBuilder()
    with builder.function("main", list(params), attrs=attrs):
        with builder.dataflow() if is_dataflow else nullcontext():
            for binding in bindings:
                value = replaced(binding.value, instead)
                if isinstance(binding, relax.MatchCast):
                    value = builder.match_cast(value, type_of(binding.var))
                elif not isinstance(value, relax.Var):
                    value = builder.emit(value, compat.name_of(binding.var))
                instead[identity(binding.var)] = value
            values = [replaced(each, instead) for each in results]
            output = values[0] if len(values) == 1 else relax.Tuple(values)
            output = builder.emit_output(output) if is_dataflow else output
        builder.emit_func_output(output)
    return builder.get()["main"]


def with_main(module: tvm.IRModule, main: relax.Function) -> tvm.IRModule:
    """Return the module with another `main`, without bindings, parameters and functions that nothing reads."""
    made = module.clone()
    made.update_func(made.get_global_var("main"), main)
    made = relax.transform.DeadCodeElimination(["main"])(made)
    main = made["main"]
    read = {identity(each) for binding in bindings_of(main) for each in used(binding)}
    read |= {identity(each) for each in operands(main.body.body)}
    params = [each for each in main.params if identity(each) in read]
    if len(params) < len(main.params):
        changed = relax.Function(params, main.body, type_of(main.body.body), main.is_pure, main.attrs, main.span)
        made.update_func(made.get_global_var("main"), changed)
    return made
