"""The functions of a Relay module that can run as `main`, and shapes of its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tvm
from tvm import relay

from workbench.dialects.entries import functions_called, functions_reached
from workbench.dialects.relay.graph import IN_PLACE
from workbench.errors import LoadError, UnknownName

_MAIN = relay.GlobalVar("main")


def copy(module: tvm.IRModule) -> tvm.IRModule:
    """Return a module with the same functions, which can be changed independently."""
    return tvm.IRModule(module.functions, module.type_definitions, module.attrs)


def unshared(module: tvm.IRModule) -> tvm.IRModule:
    """Return the module, with operators of its own if a pass would write into them.

    Canonicalizing `qnn.requantize` writes the target's rounding and dtype into the attributes of its argument, so a later pass or build
    for another target would use them (QnnCanonicalize, src/relay/qnn/op/requantize.cc).
    """
    functions = (each for each in module.functions.values() if isinstance(each, relay.Function))
    if any("qnn.requantize" in relay.analysis.list_op_freqs(tvm.IRModule({_MAIN: each})) for each in functions):
        return tvm.ir.load_json(tvm.ir.save_json(module))
    return module


def entries(module: tvm.IRModule) -> tuple[str, ...]:
    """Return `main` first, and the functions of tensors that no other function calls."""
    functions = {
        variable.name_hint: function
        for variable, function in module.functions.items()
        if isinstance(function, relay.Function)
        and not (function.attrs and any(function.attrs.get(key) is not None for key in IN_PLACE))
    }
    called = set[str]().union(
        *(functions_called(function, relay.analysis.post_order_visit) - {name} for name, function in functions.items())
    )

    def takes_tensors(function: relay.Function) -> bool:
        # the functions of TVM's prelude take other types
        types = (variable.type_annotation for variable in function.params)
        return not function.type_params and all(isinstance(type, relay.TensorType) for type in types)

    found = [name for name, function in functions.items() if name == "main" or takes_tensors(function)]
    return tuple(sorted(set(found) - (called - {"main"}), key=lambda name: (name != "main", name)))


def with_entry(module: tvm.IRModule, entry: str) -> tvm.IRModule:
    """Return the module with a function as `main` and its callees.

    Raises LoadError: the function calls another one that has the name `main`.
    """
    reached = functions_reached(module, entry, relay.Function, relay.analysis.post_order_visit)
    kept = {
        variable: function
        for variable, function in module.functions.items()
        if variable.name_hint in reached or not isinstance(function, relay.Function)
    }
    made = tvm.IRModule(kept, module.type_definitions, module.attrs)
    made["main"] = module[entry]
    return relay.transform.InferType()(made)


def with_shapes(module: tvm.IRModule, shapes: Mapping[str, int | Sequence[int]]) -> tvm.IRModule:
    """Return the module with these input shapes: whole shapes, as Relay's open dimensions have no names.

    Raises UnknownName: `main` has no input of that name with an open dimension. Raises LoadError: the shape does not
    fit the input's type.
    """
    main = module["main"]
    open = {variable.name_hint: variable for variable in main.params if open_dimensions(variable.checked_type)}
    for name, shape in shapes.items():
        if name not in open:
            raise UnknownName("input that leaves a dimension open", name, open)
        type = open[name].checked_type
        fits = isinstance(shape, Sequence) and len(shape) == len(type.shape)
        if not fits or any(
            isinstance(known, tvm.tir.IntImm) and int(known) != size
            for known, size in zip(type.shape, shape, strict=True)  # pyright: ignore[reportArgumentType]  a sequence, by `fits`
        ):
            raise LoadError(f"the input {name} is {type}; give its whole shape, shapes={{{name!r}: (1, ...)}}")
    fixed = {
        variable: relay.var(name, shape=shapes[name], dtype=variable.checked_type.dtype)
        for name, variable in open.items()
        if name in shapes
    }
    body = relay.bind(main.body, fixed)
    params = [fixed.get(variable, variable) for variable in main.params]
    made = copy(module)
    made["main"] = relay.Function(params, body, None, main.type_params, main.attrs)
    return made


def open_dimensions(type: Any) -> bool:
    """Return whether a tensor's type has a dimension that is not a number."""
    return isinstance(type, relay.TensorType) and not all(isinstance(size, tvm.tir.IntImm) for size in type.shape)
