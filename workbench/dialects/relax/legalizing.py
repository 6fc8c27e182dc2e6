"""LegalizeOps with each kernel made once: twelve layers ask for the same twenty, and TVM makes each anew and then finds it equal.

What a legalization gives for a call is given again to a call of the same operator with the same attributes on arguments of the
same types, where it was one `call_tir` on these arguments and nothing else. A value that a legalization may look at (a shape, a
scalar) has to be the same too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax

from workbench.dialects import compat
from workbench.dialects.relax.expressions import sort_of

_FLEGALIZE = "FLegalize"
_CALL_TIR = "relax.call_tir"


@dataclass(frozen=True)
class Made:
    """A call of a kernel, to be made again on other arguments."""

    call: relax.Call
    places: tuple[int, ...]
    "which of the operator's tensors each of the kernel's is"

    def on(self, tensors: list[Any]) -> relax.Call:
        given = relax.Tuple([tensors[place] for place in self.places])
        return relax.Call(self.call.op, [self.call.args[0], given], self.call.attrs, compat.result_types(self.call))


def legalize(module: tvm.IRModule) -> tvm.IRModule:
    """The module that `LegalizeOps()` makes, up to the names of variables."""
    memory = Memory()
    names = {
        name
        for function in module.functions.values()
        if isinstance(function, relax.Function)
        for name in called(function)
    }
    known = {name: tvm.ir.Op.get(name).get_attr(_FLEGALIZE) for name in names}
    table = {name: memory.remembering(name, function) for name, function in known.items() if function is not None}
    return relax.transform.LegalizeOps(table)(module)


def called(function: relax.Function) -> set[str]:
    """The names of the operators that a function calls, those of functions within it too."""
    found = set()

    def visit(expr: Any) -> None:
        if isinstance(expr, relax.Call) and sort_of(expr.op) == "op":
            found.add(str(expr.op.name))

    relax.analysis.post_order_visit(function, visit)
    return found


class Memory:
    """What the legalizations of one run of the pass gave."""

    def __init__(self) -> None:
        self.made: dict[tuple[Any, ...], Made | None] = {}

    def remembering(self, name: str, legalization: Any) -> Any:
        """The legalization of an operator, asked once for calls that are alike."""

        def legalized(builder: relax.BlockBuilder, call: relax.Call) -> Any:
            tensors = list(flat(call.args))
            key = (name, *key_of(call, tensors))
            made = self.made.get(key)
            if made is not None:
                return made.on(tensors)
            result = legalization(builder, call)
            if key not in self.made:
                self.made[key] = remembered(result, tensors)
            return result

        return legalized


def flat(arguments: Any) -> Iterator[Any]:
    """Arguments, those within tuples one by one."""
    for argument in arguments:
        if sort_of(argument) == "tuple":
            yield from flat(argument.fields)
        else:
            yield argument


def key_of(call: relax.Call, tensors: list[Any]) -> tuple[Any, ...]:
    """What the legalization of a call may depend on."""
    places = {compat.identity(tensor): place for place, tensor in reversed(list(enumerate(tensors)))}
    return (
        0 if call.attrs is None else compat.value_hash(call.attrs),
        tuple(len(argument.fields) if sort_of(argument) == "tuple" else -1 for argument in call.args),
        *(
            # one value given twice is another kernel than two values
            (places[compat.identity(tensor)], compat.value_hash(compat.type_of(tensor)), seen(tensor))
            for tensor in tensors
        ),
    )


def seen(argument: Any) -> int:
    """What of an argument a legalization may build into a kernel, as a number: nothing of a tensor but its type."""
    sort, type = sort_of(argument), compat.type_of(argument)
    if sort == "variable":
        return 0 if compat.is_tensor(type) else compat.identity(argument)
    if sort == "constant" and compat.fixed_shape(type) != []:
        return 1
    return compat.value_hash(argument) if sort in ("constant", "shape", "literal") else compat.identity(argument)


def remembered(result: Any, tensors: list[Any]) -> Made | None:
    """A result to give again; None where it is more than one call of a kernel on the operator's own arguments."""
    if sort_of(result) != "call" or result.op != tvm.ir.Op.get(_CALL_TIR) or len(result.args) != 2:
        return None
    places = {compat.identity(tensor): place for place, tensor in reversed(list(enumerate(tensors)))}
    found = [places.get(compat.identity(given)) for given in flat([result.args[1]])]
    inside = (place for place, tensor in enumerate(tensors) if seen(tensor) == 1 and place not in found)
    if None in found or next(inside, None) is not None:
        return None
    return Made(result, tuple(place for place in found if place is not None))
