"""Dialects and their modules, found by the dialect's name, and the dialect that this environment's TVM runs."""

from __future__ import annotations

import importlib
import importlib.util
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.dialects.base import PassInfo
from workbench.errors import LoadError, UnknownName, WorkbenchError
from workbench.graph.nodes import DIALECTS

if TYPE_CHECKING:
    from workbench.dialects.base import Dialect


WHERE = {
    "relay": "the Jupyter kernel `Relay (TVM 0.17)` (make one with `tvm-workbench install-relay`)",
    "relax": "the main environment (pip install tvm-workbench[relax])",
}
"dialect -> the environment that has it"


def part(dialect: str, name: str) -> Any:
    """Return a module of a dialect, such as its `build`.

    The name of a dialect may come from a file, so it is looked up before anything is imported by it.

    Raises
    ------
    UnknownName
        The dialect is unknown.
    """
    if dialect not in DIALECTS:
        raise UnknownName("dialect", str(dialect)[:40], DIALECTS)
    return importlib.import_module(f"workbench.dialects.{dialect}.{name}")


def installed() -> str | None:
    """The dialect that the TVM of this environment runs, looked up on disk without importing it."""
    try:
        spec = importlib.util.find_spec("tvm")
    except (ModuleNotFoundError, ValueError):  # an import hook refuses it, or something else goes by its name
        spec = None
    if spec is None:
        return None
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    return next((name for name in DIALECTS if any((folder / name).is_dir() for folder in folders)), None)


@lru_cache
def dialect(name: str) -> Dialect:
    """The dialect of that name; imports its TVM.

    Raises
    ------
    UnknownName, WorkbenchError
        There is no such dialect, or this environment's TVM does not have it.
    """
    if name not in DIALECTS:
        raise UnknownName("dialect", name, DIALECTS)
    here = installed()
    if here != name:
        found = f"TVM here runs {here}" if here else "there is no TVM here"
        raise WorkbenchError(
            f"{name} needs a TVM that has it, and {found}; use {WHERE[name]}, or open a saved trace or graph, which needs no TVM"
        )
    return part(name, "dialect").DIALECT


def dialect_here() -> Dialect:
    """Return the dialect that this environment's TVM runs; raises LoadError where there is none."""
    name = installed()
    if name is None:
        raise LoadError(
            "there is no TVM in this environment; use the kernel `Relay (TVM 0.17)`, or `pip install tvm-workbench[relax]`"
        )
    return dialect(name)


def passes(name: str | None = None) -> list[PassInfo]:
    """The passes of a dialect, by default the one that this environment's TVM runs."""
    found = name or installed()
    if found is None:
        raise WorkbenchError(
            "there is no TVM in this environment; `pip install tvm-workbench[relax]`, or use the Relay kernel"
        )
    return list(dialect(found).passes())
