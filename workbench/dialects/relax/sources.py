"""The code that a Relax build generated, in the forms that it can be shown in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tvm

_OF_KIND = {"llvm": ("llvm", "asm", "tir"), "c": ("c", "tir"), "cuda": ("cuda", "ptx", "llvm", "asm", "tir")}
_ASKED = {"llvm": "ll", "asm": "s"}


def forms(kind: str) -> tuple[str, ...]:
    """The forms there are for a kind of target, its own first."""
    return _OF_KIND.get(kind, ("tir",))


def code(library: Any, lowered: tvm.IRModule, form: str) -> str:
    """The generated code of the whole library in that form; of `llvm` and `asm` the host's part."""
    if form == "tir":
        return "\n\n".join(function.script() for _, function in _kernels(lowered))
    parts = list(_with_imports(library))
    if form in _ASKED:
        return "\n".join(str(part.inspect_source(_ASKED[form])) for part in parts if part.kind == "llvm")
    return "\n".join(str(part.inspect_source()) for part in parts if part.kind in (form, "c"))


def _with_imports(module: Any) -> Iterable[Any]:
    """A library and all that it imports: the VM's bytecode, constants, the host's code, the device's."""
    yield module
    for imported in getattr(module, "imports", ()):
        yield from _with_imports(imported)


def _kernels(lowered: tvm.IRModule) -> list[tuple[str, Any]]:
    named = [(variable.name_hint, function) for variable, function in lowered.functions_items()]
    kernels = [(name, function) for name, function in named if isinstance(function, tvm.tirx.PrimFunc)]
    return sorted(((n, f.with_attr("global_symbol", n)) for n, f in kernels), key=lambda pair: pair[0])
