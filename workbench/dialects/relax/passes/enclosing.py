"""Moving chosen bindings of a block into a function that is called in their place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax

from workbench.analysis.legality import Selection
from workbench.dialects.relax import compat
from workbench.dialects.relax.compat import identity, type_of
from workbench.dialects.relax.passes.nodes import Located, Place
from workbench.dialects.relax.passes.rewriting import behind, operands, replaced, with_block


@dataclass(frozen=True)
class Region:
    """Chosen bindings as a function of their own."""

    place: Place
    function: relax.Function
    arguments: tuple[relax.Expr, ...]
    "the arguments of its call"
    chosen: frozenset[int]
    "identities of the variables that were bound by the chosen bindings"
    results: tuple[relax.Var, ...]
    "those of them that are used elsewhere, in the order of the function's results"


def enclosed(at: Located, selection: Selection, attrs: Mapping[str, Any], name: str) -> Region:
    """Return the function of a legal selection; constant tensors are its arguments, as in FuseOps.

    Raises
    ------
    IllegalEdit
        The nodes are not in one dataflow block.
    """
    nodes = [node for node in selection.nodes if node in at.bindings]
    place = at.place(nodes)
    bindings = [at.bindings[node] for node in nodes]
    inside = frozenset(identity(binding.var) for binding in bindings)
    block = at.module[place.function].body.blocks[place.block]
    ordered = [binding for binding in block.bindings if identity(binding.var) in inside]
    entering = {
        identity(each): each
        for binding in ordered
        for each in operands(binding.value)
        if identity(each) not in inside and _is_tensor(each)
    }
    results = tuple(at.bindings[node].var for node in selection.outputs if node in at.bindings)
    function = _function(ordered, entering, results, attrs, name)
    return Region(place, function, tuple(entering.values()), inside, results)


def called(at: Located, region: Region, name: str) -> tvm.IRModule:
    """Return the module with the region's function, and a call of it in place of its bindings."""
    builder = relax.BlockBuilder(at.module)
    callee = builder.add_func(region.function, name)

    def change(bindings: list[Any]) -> list[Any]:
        after = behind(bindings, [b.var for b in bindings if identity(b.var) in region.chosen])
        first = [b for b in bindings if identity(b.var) not in after]
        last = [b for b in bindings if identity(b.var) in after - region.chosen]
        call = relax.Call(callee, list(region.arguments))
        if len(region.results) == 1:
            return [*first, relax.VarBinding(region.results[0], call), *last]
        whole = relax.DataflowVar("results", type_of(region.function.body.body))
        fields = [
            relax.VarBinding(result, relax.TupleGetItem(whole, index)) for index, result in enumerate(region.results)
        ]
        return [*first, relax.VarBinding(whole, call), *fields, *last]

    return with_block(builder.get(), region.place, change)


def free_name(module: tvm.IRModule, wanted: str) -> str:
    """Return the name, with a number appended if the module has a function of that name."""
    taken = {variable.name_hint for variable in module.get_global_vars()}
    number = next(n for n in range(len(taken) + 1) if (f"{wanted}{n}" if n else wanted) not in taken)
    return f"{wanted}{number}" if number else wanted


def _function(
    bindings: list[Any],
    entering: Mapping[int, relax.Expr],
    results: tuple[relax.Var, ...],
    attrs: Mapping[str, Any],
    name: str,
) -> relax.Function:
    instead: dict[int, relax.Expr] = {
        key: relax.Var(_param_name(each, place), type_of(each)) for place, (key, each) in enumerate(entering.items())
    }
    params = list(instead.values())
    builder = relax.BlockBuilder()
    with builder.function(name, params, attrs=dict(attrs), private=True):
        with builder.dataflow():
            for binding in bindings:
                instead[identity(binding.var)] = builder.emit(
                    replaced(binding.value, instead), compat.name_of(binding.var)
                )
            inner = [instead[identity(result)] for result in results]
            output = builder.emit_output(inner[0] if len(inner) == 1 else relax.Tuple(inner))
        builder.emit_func_output(output)
    return builder.get()[name]


def _is_tensor(value: relax.Expr) -> bool:
    """Return whether a value is an argument of a kernel: a variable, or a constant that is not a scalar."""
    if isinstance(value, relax.Var):
        return True
    shape = compat.fixed_shape(type_of(value)) if isinstance(value, compat.Constant) else None
    return bool(shape)


def _param_name(value: relax.Expr, place: int) -> str:
    return compat.name_of(value) if isinstance(value, relax.Var) else f"constant{place}"
