"""The code that a Relay build generated, in the forms that it can be shown in."""

from __future__ import annotations

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
        return "\n\n".join(_script(name, function) for name, function in _kernels(lowered))
    if form in _ASKED:
        return str(library.get_source(_ASKED[form]))
    return "\n".join(str(part.get_source()) for part in _parts(library) if part.type_key in (form, "c"))


def _parts(module: Any) -> list[Any]:
    return [module, *(part for imported in module.imported_modules for part in _parts(imported))]


def _kernels(lowered: tvm.IRModule) -> list[tuple[str, Any]]:
    named = [(variable.name_hint, function) for variable, function in lowered.functions.items()]
    return sorted((name, function) for name, function in named if isinstance(function, tvm.tir.PrimFunc))


def _script(name: str, function: Any) -> str:
    """A function's TVMScript under the name that it is called by."""
    return function.with_attr("global_symbol", name).script()
