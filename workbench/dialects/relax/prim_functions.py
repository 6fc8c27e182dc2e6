"""A module of PrimFuncs alone, as a program: a `main` that calls each of them, so that it can be drawn, traced, checked and run."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from workbench.dialects.relax import compat
from workbench.dialects.relax.kinds import arguments_of, written_by
from workbench.dialects.relax.passes.rewriting import bindings_of
from workbench.errors import LoadError


def with_calls(module: tvm.IRModule) -> tvm.IRModule:
    """Return the module with a `main` that calls each PrimFunc on inputs of its own, and returns what they write.

    A PrimFunc that is called `main` gets the name `main_kernel`. Raises LoadError: there is none, or one can't be called so.
    """
    kernels = [(variable.name_hint, function) for variable, function in module.functions.items()]
    if not kernels or not all(isinstance(function, tvm.tirx.PrimFunc) for _, function in kernels):
        raise LoadError(
            "this module holds no Relax function and not only PrimFuncs; load the module from before lowering"
        )
    builder = relax.BlockBuilder()
    calls: list[tuple[Any, list[Any], list[Any]]] = []
    inputs: list[Any] = []
    for name, function in kernels:
        reads, writes = _split(name, function)
        own = "main_kernel" if name == "main" else name
        variable = builder.add_func(function.with_attr("global_symbol", own), own)
        prefix = f"{own}_" if len(kernels) > 1 else ""
        arguments = [relax.Var(f"{prefix}{buffer.name}", _type(buffer)) for buffer in reads]
        inputs += arguments
        calls.append((variable, arguments, [_type(buffer) for buffer in writes]))
    # outside of a dataflow block: RewriteDataflowReshape fails on a PrimFunc without blocks
    with builder.function("main", inputs):
        results = [builder.emit(relax.call_tir(*call)) for call in calls]
        builder.emit_func_output(results[0] if len(results) == 1 else builder.emit(relax.Tuple(results)))
    return builder.get()


def calls_only(module: tvm.IRModule) -> bool:
    """Return whether the module is one that `with_calls` makes, or has become of one: its `main` only calls PrimFuncs."""
    entry = {variable.name_hint: each for variable, each in module.functions_items()}.get("main")
    if entry is None or not isinstance(entry, relax.Function) or not isinstance(entry.body, relax.SeqExpr):
        return False
    values = [each.value for each in bindings_of(entry)]
    return all(
        isinstance(each, relax.Tuple) or getattr(getattr(each, "op", None), "name", "") == "relax.call_tir"
        for each in values
    )


def _type(buffer: Any) -> Any:
    sizes = tuple(compat.buffer_shape(buffer))
    narrow = [
        str(each) for each in sizes if not compat.is_number(each) and str(getattr(each, "ty", each).dtype) != "int64"
    ]
    if narrow:
        raise LoadError(
            f"the size {narrow[0]} of {buffer.name} is not int64, which Relax takes; write {narrow[0]} = T.int64()"
        )
    return compat.tensor_type(sizes, str(buffer.dtype))


def _split(name: str, function: Any) -> tuple[list[Any], list[Any]]:
    """Return the buffers that a PrimFunc reads and the last ones, which it writes. Raises LoadError: they are not the last ones."""
    arguments, stored = arguments_of(function), written_by(function)
    places = [place for place, buffer in enumerate(arguments) if buffer in stored]
    if (
        not places
        or not all(hasattr(each, "strides") for each in arguments)
        or places != list(range(places[0], len(arguments)))
    ):
        raise LoadError(
            f"the PrimFunc {name} can't be called with its inputs first and its outputs last, as call_tir does; write a Relax function "
            "that calls it, and load both"
        )
    return arguments[: places[0]], arguments[places[0] :]
