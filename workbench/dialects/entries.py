"""The function of a module that is built and run, and the sizes that it is run with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from operator import index
from typing import Any

from workbench.dialects.base import GraphOnly, Workload
from workbench.dialects.registry import dialect_of
from workbench.errors import LoadError, UnknownName

Shapes = Mapping[str, int | Sequence[int]]
"symbolic dimension -> value, or input -> shape"


def choose_entry(workload: Workload, entry: str | None = None, shapes: Shapes | None = None) -> Workload:
    """Return the workload with another function as `main` or with other sizes, the same object each time.

    Raises
    ------
    UnknownName
        The module has no such function to run; the message lists those that it has.
    LoadError
        The sizes do not fit the function; the message lists the names that it leaves open.
    """
    if shapes is not None and not isinstance(shapes, Mapping):
        raise LoadError(f"shapes={shapes!r:.80} has no names; give a dictionary, shapes={{'n': 128}}")
    if entry is None and not shapes:
        return workload
    sizes = {str(name): _size(name, value) for name, value in (shapes or {}).items()}
    # params are part of the key by identity; the choice that has them keeps them alive
    key = (entry, *sorted(sizes.items()), *sorted((name, id(value)) for name, value in workload.params.items()))
    if key not in workload.choices:
        workload.choices[key] = _with_sizes(_with_entry(workload, entry), sizes)
    found = workload.choices[key]
    found.trusted = workload.trusted
    return found


def only_entry(workload: Workload) -> Workload:
    """Return the workload with its only function as `main`; unchanged if it has a `main`, or several others."""
    if _has_main(workload):
        return workload
    names = workload.entries()
    return _with_entry(workload, names[0]) if len(names) == 1 else workload


def of_each_entry(workload: Workload) -> list[Workload]:
    """Return a workload for each function that can be run; the workload itself if it has a `main`, or no module."""
    if isinstance(workload, GraphOnly) or _has_main(workload):
        return [workload]
    made = [_with_entry(workload, name) for name in workload.entries()]
    for each in made if len(made) > 1 else ():
        each.name = f"{workload.name}.{each.entry}"
    return made or [workload]


def _has_main(workload: Workload) -> bool:
    return any(variable.name_hint == "main" for variable in workload.module.get_global_vars())


def refuse_without_main(workload: Workload, error: type[Exception]) -> None:
    """Raise the error if the module has no function to run, with the names that `entry=` accepts."""
    if not _has_main(workload):
        names = workload.entries()
        listed = ", ".join(names)
        raise error(
            f"{workload.name} has no function `main` to run; choose one of its functions with entry=: {listed}"
            if names
            else f"{workload.name} has no function that can be run"
        )


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

    Raises
    ------
    LoadError
        One of them already has the name `main`, which the entry needs.
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


def _with_entry(workload: Workload, entry: str | None) -> Workload:
    whole = workload.whole or workload
    if entry is None or entry == workload.entry:
        return workload
    here = dialect_of(whole)
    names = here.frontend.entries(whole.module)
    if entry not in names:
        raise UnknownName("function to run", entry, names)
    made = whole.of(here.frontend.with_entry(whole.module, entry))
    takes = {node.op for node in made.graph.nodes if node.kind == "param"}
    made.params = {name: value for name, value in whole.params.items() if name in takes}
    renamed = [] if entry == "main" else [f"`main` is the function {entry} of the module that was loaded"]
    made.notes, made.entry, made.whole = [*whole.notes, *renamed], entry, whole
    made.known_limits = made.source = None
    for name, size in workload.shapes.items() if workload.whole else ():
        with suppress(LoadError, UnknownName):  # a size of another function
            made = _with_sizes(made, {name: _size(name, size)})
    return made


def _with_sizes(workload: Workload, sizes: Mapping[str, int | tuple[int, ...]]) -> Workload:
    if not sizes:
        return workload
    refuse_without_main(workload, LoadError)
    module = dialect_of(workload).frontend.with_sizes(workload.module, sizes)
    return replace(
        workload.of(module),
        notes=list(workload.notes),
        edits=workload.edits,
        shapes={**workload.shapes, **sizes},
        known_limits=None,
        source=None,
    )


def _size(name: str, value: int | Sequence[int]) -> int | tuple[int, ...]:
    try:
        sizes = tuple(value) if isinstance(value, Iterable) else (value,)
        whole = tuple(0 if isinstance(size, bool) else index(size) for size in sizes)
    except TypeError:
        whole = (0,)
    if min(whole, default=1) < 1:
        raise LoadError(f"{value!r:.80} is not a size for {name!r}; give whole numbers from 1 on")
    return whole if isinstance(value, Iterable) else whole[0]
