"""Public names of a package, each imported on first use; the package's `__init__.pyi` lists them (SPEC 1)."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Mapping
from pathlib import Path


def homes(file: str) -> dict[str, str]:
    """Return public name -> its module, for the `__init__.py` of a package; of a public module, the package."""
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [statement for statement in stub.body if isinstance(statement, ast.ImportFrom)]
    return {alias.name: statement.module or "" for statement in imports for alias in statement.names}


def load(package: str, name: str, homes: Mapping[str, str]) -> object:
    """Return a public name of a package; raises AttributeError if it has none of that name."""
    if name not in homes:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    home = homes[name]
    return (
        importlib.import_module(f"{home}.{name}") if home == package else getattr(importlib.import_module(home), name)
    )
