"""Which dialects there are, which one an object belongs to, and which one this environment's TVM can run.

A dialect is found by what the user's object is, never by importing a TVM to look.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from workbench.dialects.base import Dialect, Workload
from workbench.errors import LoadError, UnknownName, WorkbenchError

NAMES = ("relay", "relax")
SUFFIXES = (".relay", ".txt", ".json", ".py")


def installed() -> str | None:
    """The dialect that the TVM of this environment runs, looked up on disk without importing it."""
    spec = importlib.util.find_spec("tvm")
    if spec is None:
        return None
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    return next((name for name in NAMES if any((folder / name).is_dir() for folder in folders)), None)


@lru_cache
def dialect(name: str) -> Dialect:
    """The dialect of that name; imports its TVM.

    Raises
    ------
    UnknownName, WorkbenchError
        There is no such dialect, or this environment's TVM does not have it.
    """
    if name not in NAMES:
        raise UnknownName("dialect", name, NAMES)
    here = installed()
    if here != name:
        found = f"TVM here runs {here}" if here else "there is no TVM here"
        where = (
            "the Jupyter kernel `Relay (TVM 0.17)` (make one with `tvm-workbench install-relay`)"
            if name == "relay"
            else "the main environment (pip install tvm-workbench[relax])"
        )
        raise WorkbenchError(
            f"{name} needs a TVM that has it, and {found}; use {where}, or open a saved trace or graph, which needs no TVM"
        )
    return importlib.import_module(f"workbench.dialects.{name}.dialect").DIALECT


def load(source: Any, params: Mapping[str, Any] | None = None, *, name: str | None = None) -> Workload:
    """Make a Workload of what a person has.

    Parameters
    ----------
    source
        An IRModule, a Function, a pair `(module, params)`, printed text, or a path to a .relay, .txt, .json or .py file.
    params
        Parameter name -> array, where the source does not bring its own.
    name
        What to call it; from the file's name or `main` otherwise.

    Raises
    ------
    LoadError
        The source is none of these, or cannot be read; the message says what to do.
    """
    if isinstance(source, Workload):
        return source
    if isinstance(source, tuple) and len(source) == 2:
        source, params = source
    path = _as_path(source)
    if path is not None:
        return _dialect_here().read(path, _file_text(path), name or path.stem)
    if isinstance(source, str):
        return _dialect_here().read(None, source, name or "text")
    if "tvm" in sys.modules:
        workload = _dialect_here().load(source, params, name or "main")
        if workload is not None:
            return workload
    raise LoadError(
        f"a {type(source).__name__} is not something to load; give an IRModule, a Function, (module, params), text, or a path ending in {', '.join(SUFFIXES)}"
    )


def _dialect_here() -> Dialect:
    name = installed()
    if name is None:
        raise LoadError(
            "there is no TVM in this environment; use the kernel `Relay (TVM 0.17)`, or `pip install tvm-workbench[relax]`"
        )
    return dialect(name)


def _as_path(source: Any) -> Path | None:
    """The path that `source` names; a string with a line break or a bracket in it is text."""
    if isinstance(source, Path):
        return source
    if isinstance(source, str) and len(source) < 4096 and not set(source) & set("\n({"):
        return Path(source)
    return None


def _file_text(path: Path) -> str:
    if path.suffix not in SUFFIXES:
        raise LoadError(f"{path.name} is of no kind that can be loaded; give a file ending in {', '.join(SUFFIXES)}")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise LoadError(f"{path.name} is not text; give the text or JSON that TVM wrote") from None
    except OSError as error:
        raise LoadError(f"{path} cannot be read: {error.strerror}; check the path") from None
