"""Faults planted in lowered kernels: each function yields copies of a kernel with one fault, and a name for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import tvm_ffi
from tvm import ir, tirx

Planted = Iterator[tuple[str, Any]]


def _found(body: Any, kind: Any, test: Callable[[Any], bool] = lambda _: True) -> list[Any]:
    """The nodes of a kind, each once, in the order of the text."""
    found: list[Any] = []
    tvm_ffi.structural_walk(body, [(kind, lambda each: found.append(each) if test(each) else None)], order="pre")
    return found


def _with(function: Any, old: Any, new: Any, kind: Any) -> Any:
    def change(each: Any, mutator: Any) -> Any:
        return new if each.same_as(old) else mutator.default_mutate(each)

    return function.with_body(tvm_ffi.structural_mutate(function.body, (kind, change)))


def _is_sync(stmt: Any) -> bool:
    return isinstance(stmt.value, ir.Call) and str(stmt.value.op.name) == "tirx.tvm_storage_sync"


def missing_sync(function: Any) -> Planted:
    for place, each in enumerate(_found(function.body, tirx.Evaluate, _is_sync)):
        yield f"sync {place}", _with(function, each, tirx.Evaluate(tirx.const(0, "int32")), tirx.Evaluate)


def wrong_bound(function: Any) -> Planted:
    for each in _found(
        function.body, tirx.For, lambda loop: isinstance(loop.extent, tirx.IntImm) and int(loop.extent) > 1
    ):
        fewer = tirx.For(each.loop_var, each.min, each.extent - 1, each.kind, each.body)
        yield f"{each.loop_var.name} < {int(each.extent) - 1}", _with(function, each, fewer, tirx.For)


def dropped_predicate(function: Any) -> Planted:
    for place, each in enumerate(_found(function.body, tirx.IfThenElse)):
        yield f"if {place}", _with(function, each, each.then_case, tirx.IfThenElse)
    chosen = _found(function.body, ir.Call, lambda call: str(getattr(call.op, "name", "")).endswith(".if_then_else"))
    for place, each in enumerate(chosen):
        yield f"if_then_else {place}", _with(function, each, each.args[1], ir.Call)


def without_start(function: Any) -> Planted:
    def starts(store: Any) -> bool:
        scope = str(store.buffer.ty.storage_scope)
        return scope == "local" and isinstance(store.value, (tirx.FloatImm, tirx.IntImm))

    for place, each in enumerate(_found(function.body, tirx.BufferStore, starts)):
        yield (
            f"start of {each.buffer.name} {place}",
            _with(function, each, tirx.Evaluate(tirx.const(0, "int32")), tirx.BufferStore),
        )


def swapped_index(function: Any) -> Planted:
    """Two variables of the index of a write to shared or global memory take each other's place."""
    for place, each in enumerate(
        _found(function.body, tirx.BufferStore, lambda store: str(store.buffer.ty.storage_scope) != "local")
    ):
        used = _found(each.indices[0], ir.Var)
        names = [one for place, one in enumerate(used) if not any(one.same_as(other) for other in used[:place])]
        for first, second in pairwise(names):
            if first.ty.dtype != second.ty.dtype:
                continue
            known = {first: second, second: first}
            index = tvm_ffi.structural_map(each.indices[0], (ir.Var, lambda var, known=known: known.get(var, var)))
            made = tirx.BufferStore(each.buffer, each.value, [index])
            yield f"{first.name} for {second.name} in write {place}", _with(function, each, made, tirx.BufferStore)


def wrong_scope(function: Any) -> Planted:
    """Shared memory is a register of each thread."""
    for each in _found(
        function.body, tirx.AllocBuffer, lambda alloc: str(alloc.buffer.ty.storage_scope).startswith("shared")
    ):
        made = tirx.decl_buffer(each.buffer.ty.shape, each.buffer.dtype, name=each.buffer.name, scope="local")
        yield each.buffer.name, _renamed(function, each.buffer, made)


def wrong_reuse(function: Any) -> Planted:
    """One buffer of shared memory is used for two."""
    shared = _found(
        function.body, tirx.AllocBuffer, lambda alloc: str(alloc.buffer.ty.storage_scope).startswith("shared")
    )
    for first in shared:
        for second in shared:
            large = int(first.buffer.ty.shape[0]) >= int(second.buffer.ty.shape[0])
            if first is not second and large and str(first.buffer.dtype) == str(second.buffer.dtype):
                without = _with(function, second, tirx.Evaluate(tirx.const(0, "int32")), tirx.AllocBuffer)
                yield f"{second.buffer.name} in {first.buffer.name}", _renamed(without, second.buffer, first.buffer)


def _renamed(function: Any, old: Any, new: Any) -> Any:
    def load(each: Any, mutator: Any) -> Any:
        if not each.source.same_as(old):
            return mutator.default_mutate(each)
        return tirx.BufferLoad(new, [mutator.mutate(one) for one in each.indices])

    def store(each: Any, mutator: Any) -> Any:
        value, indices = mutator.mutate(each.value), [mutator.mutate(one) for one in each.indices]
        return tirx.BufferStore(new if each.buffer.same_as(old) else each.buffer, value, indices)

    def allocation(each: Any, _mutator: Any) -> Any:
        return tirx.AllocBuffer(new) if each.buffer.same_as(old) else each

    entries = [(ir.TensorLoad, load), (tirx.BufferStore, store), (tirx.AllocBuffer, allocation)]
    return function.with_body(tvm_ffi.structural_mutate(function.body, entries))


KINDS = (missing_sync, wrong_bound, dropped_predicate, without_start, swapped_index, wrong_scope, wrong_reuse)
