"""The one door to compiled code: the kernels of a received program are compiled and run only if the user trusts its author.

`allowed` is entered where work on a program begins, with the program's trust, and `ask` is called where code is generated or
run: by TVM's own code generators, which passes such as FoldConstant reach by their names in TVM's registry, and by our builds
and runs. So a pass cannot get around it, whatever Sequential or function it is in. The notebook's own code may compile what it
likes; a child process only what the trust of its job's program allows.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from workbench.errors import Untrusted, sentence

if TYPE_CHECKING:
    from workbench.dialects.base import Workload

UNTRUSTED = (
    "this program brings code of its own, so nothing of it is compiled, run or folded to constants; "
    "set `workload.trusted = True`, or --trust in a shell, if you trust its author"
)
_GENERATORS = re.compile(r"tirx?\.build|target\.build\.\w+|rela[xy]\.ext\.\w+|tvm\.(s_tir\.)?meta_schedule\.tune_\w+")
"names in TVM's registry of the functions that generate code, and of the searches that do so in processes of their own"


class _Work:
    """Work on one program."""

    def __init__(self, trusted: bool) -> None:
        self.trusted = trusted
        self.refused = False


_work: ContextVar[_Work | None] = ContextVar("workbench-work", default=None)
_by_default = True
"whether code may be compiled outside of `allowed`"
_guarded: set[str] = set()


def refuse_by_default() -> None:
    """Refuse in this process all that is not inside of `allowed(True)`."""
    global _by_default
    _by_default = False
    _guard()


@contextmanager
def allowed(trusted: bool) -> Iterator[Callable[[], bool]]:
    """Allow compiled code if the program at work is trusted; refuse it otherwise.

    Yields
    ------
    Callable
        Returns whether something was refused.

    Raises Untrusted: the work failed after compiled code was refused.
    """
    if not trusted:
        _guard()
    work, outer = _Work(trusted), _work.get()
    token = _work.set(work)
    try:
        yield lambda: work.refused
    except Exception as error:
        if not work.refused or isinstance(error, Untrusted):
            raise
        # TVM passes the error of `ask` on as one of its own, or a later pass does not take a call that was not folded
        raise Untrusted(UNTRUSTED if UNTRUSTED in str(error) else f"{sentence(error)}; {UNTRUSTED}") from error
    finally:
        _work.reset(token)
        if outer is not None:
            outer.refused |= work.refused


def ask() -> None:
    """Raise Untrusted if the program at work may not be compiled or run."""
    work = _work.get()
    if work is None:
        work = _Work(_by_default)
    if not work.trusted:
        work.refused = True
        raise Untrusted(UNTRUSTED)


def judge(
    workload: Workload, kind: type, visit: Callable[[Any, Callable[[Any], None]], None], is_code: Callable[[Any], bool]
) -> None:
    """Trust a received program that holds operators alone, whose kernels TVM writes; note why another is not trusted.

    `kind`: the class of the dialect's functions; all others are kernels. `visit`: the dialect's `post_order_visit`.
    `is_code`: returns whether an expression ends in code that TVM does not write for operators.
    """
    functions = [function for _, function in workload.module.functions.items()]
    found = [not isinstance(function, kind) for function in functions]
    for function in functions:
        if isinstance(function, kind):
            visit(function, lambda expr: found.append(is_code(expr)))
    workload.trusted = not any(found)
    workload.notes += [] if workload.trusted else [UNTRUSTED]


def is_generated(function: Any, attribute: str, prefix: str) -> bool:
    """Return whether this TVM has the code generator that an attribute of a function names."""
    name = function.attrs.get(attribute) if function.attrs else None
    generator = name and sys.modules["tvm"].get_global_func(f"{prefix}{name}", allow_missing=True)
    return generator is not None


def _guard() -> None:
    """Have each of TVM's code generators ask first. A module that is imported later may register more of them."""
    tvm = sys.modules.get("tvm")
    if tvm is None:
        return
    names, register = _registry()
    for name in set(names()) - _guarded:
        _guarded.add(name)
        if _GENERATORS.fullmatch(name):
            register(name, _asking(tvm.get_global_func(name)), override=True)


def _asking(generate: Callable[..., object]) -> Callable[..., object]:
    def generate_if_allowed(*arguments: object) -> object:
        ask()
        return generate(*arguments)

    return generate_if_allowed


def _registry() -> tuple[Callable[[], list[str]], Callable[..., Any]]:
    """Return the functions that list the names in TVM's registry and that set one."""
    if "tvm_ffi" in sys.modules:
        from tvm_ffi import register_global_func
        from tvm_ffi.registry import list_global_func_names

        return list_global_func_names, register_global_func
    from tvm._ffi.registry import list_global_func_names as names  # pyright: ignore[reportMissingImports]  this is Relay's TVM
    from tvm._ffi.registry import register_func  # pyright: ignore[reportMissingImports]  this is Relay's TVM

    return names, register_func
