"""The modules of a dialect, found by the dialect's name."""

from __future__ import annotations

import importlib
from typing import Any

from workbench.errors import UnknownName
from workbench.graph.nodes import DIALECTS


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
