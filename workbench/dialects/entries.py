"""The functions that a function of a module calls, for Relay and Relax alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.errors import LoadError


def functions_called(function: Any, visit: Callable[[Any, Callable[[Any], None]], None]) -> set[str]:
    """Return the names of the module's functions that a function mentions; `visit` is the dialect's `post_order_visit`."""
    from tvm.ir import GlobalVar

    found: set[str] = set()
    visit(function, lambda expr: found.add(str(expr.name_hint)) if isinstance(expr, GlobalVar) else None)
    return found


def functions_reached(
    module: Any, entry: str, kind: type, visit: Callable[[Any, Callable[[Any], None]], None]
) -> set[str]:
    """Return the names of the functions that one calls, directly or through functions of the dialect (`kind`).

    Raises LoadError: one of them already has the name `main`, which the entry needs.
    """
    reached: set[str] = set()
    waiting = [module[entry]]
    while waiting:
        new = functions_called(waiting.pop(), visit) - reached
        reached |= new
        waiting.extend(module[name] for name in new if isinstance(module[name], kind))
    if "main" in reached and entry != "main":
        raise LoadError(f"the function {entry} calls `main`, so it cannot take this name; rename one of them")
    return reached
