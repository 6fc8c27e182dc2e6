"""The code that a Relax build generated, in the forms that it can be shown in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def generated(library: Any) -> str:
    """The generated source of the library and of all that it imports."""
    return "\n".join(filter(None, map(_source_of, _with_imports(library))))


def _with_imports(module: Any) -> Iterable[Any]:
    yield module
    for imported in getattr(module, "imports", ()):
        yield from _with_imports(imported)


def _source_of(module: Any) -> str:
    """LLVM's text, CUDA's source; a module that has none (the VM's bytecode, constants) gives nothing."""
    if module.kind == "llvm":
        return str(module.inspect_source("ll"))
    return str(module.inspect_source()) if module.kind in ("c", "cuda", "opencl", "metal", "vulkan", "rocm") else ""
