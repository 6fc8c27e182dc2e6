"""Public names of a package, each imported on first use; the package's `__init__.pyi` lists them (SPEC 1)."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path


def homes(file: str) -> dict[str, str]:
    """Return public name -> its module, for the `__init__.py` of a package; of a public module, the package."""
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [statement for statement in stub.body if isinstance(statement, ast.ImportFrom)]
    return {alias.name: statement.module or "" for statement in imports for alias in statement.names}


def getter(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package with these public names."""

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        found = import_module(f"{home}.{name}") if home == package else getattr(import_module(home), name)
        setattr(sys.modules[package], name, found)  # from now on Python finds it there
        return found

    return load
