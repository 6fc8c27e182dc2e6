"""The one door to compiled code: the kernels of a received program are compiled and run only if the user trusts its author.

`allowed` is entered where work on a program begins, with the program's trust, and `ask` is called where code is generated or
run: by TVM's own code generators, which passes such as FoldConstant reach by their names in TVM's registry, and by our builds
and runs. So a pass cannot get around it, whatever Sequential or function it is in. The state is the thread's, as TVM's
PassContext is. The notebook's own code may compile what it likes; a thread of a child process only what its job allows.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from workbench.errors import Untrusted, sentence

if TYPE_CHECKING:
    from workbench.dialects.base import Workload

UNTRUSTED = (
    "this program came with kernels of its own, so nothing of it is compiled, run or folded to constants; "
    "set `workload.trusted = True`, or --trust in a shell, if you trust its author"
)
_GENERATORS = re.compile(r"tirx?\.build|target\.build\.\w+|rela[xy]\.ext\.\w+|tvm\.(s_tir\.)?meta_schedule\.tune_\w+")
"names in TVM's registry of the functions that generate code, and of the searches that do so in processes of their own"


class _Thread(threading.local):
    allows = True
    refusals = 0


_thread = _Thread()
_guarded: set[str] = set()


def refuse_by_default() -> None:
    """Have every thread of this process refuse, except inside of `allowed(True)`."""
    _Thread.allows = False
    _guard()


@contextmanager
def allowed(trusted: bool) -> Iterator[Callable[[], bool]]:
    """Allow compiled code on this thread if the program at work is trusted; refuse it otherwise.

    Yields
    ------
    Callable
        Returns whether something was refused.

    Raises
    ------
    Untrusted
        The work failed because compiled code was refused.
    """
    if not trusted:
        _guard()
    before, refusals = _thread.allows, _thread.refusals
    _thread.allows = trusted
    try:
        yield lambda: _thread.refusals > refusals
    except Exception as error:
        if _thread.refusals == refusals or isinstance(error, Untrusted):
            raise
        # TVM passes the error of `ask` on as one of its own, or a later pass does not take a call that was not folded
        raise Untrusted(UNTRUSTED if UNTRUSTED in str(error) else f"{sentence(error)}; {UNTRUSTED}") from error
    finally:
        _thread.allows = before


def ask() -> None:
    """Raise Untrusted if the program at work may not be compiled or run."""
    if not _thread.allows:
        _thread.refusals += 1
        raise Untrusted(UNTRUSTED)


def refuse_code(workload: Workload, brings_code: bool) -> None:
    """Trust a received program if it brings no code; otherwise add the reason to its notes."""
    workload.trusted = not brings_code
    workload.notes += [UNTRUSTED] if brings_code else []


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
