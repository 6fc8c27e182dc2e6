"""What an import of TVM must not take from the working folder.

`tvm.topi` of Relay's TVM unpickles a file of the working folder. NVIDIA's libnvrtc, which that TVM loads, looks there for two
libraries of the system, because its library path ends with an empty entry. Both TVMs look for a file there when they write a stack trace.
`import workbench` installs the `BeforeTVM` that prevents it.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from contextlib import suppress
from importlib.machinery import ModuleSpec
from types import ModuleType

MEMOIZER = "tvm.contrib.pickle_memoize"
SYSTEM_LIBRARIES = ("libpthread.so.0", "librt.so.1", "libdl.so.2", "libm.so.6")
"what libnvrtc needs; the loader looks for no library that is loaded"
VDSO = "linux-vdso.so.1"
"the kernel's own library has no file; TVM opens this name, at its first error, to find names for a stack trace"


def memoize(key: str, save_at_exit: bool = False) -> Callable[[Callable[..., object]], Callable[..., object]]:  # noqa: ARG001  TVM's signature
    """Return a decorator that keeps results in memory; TVM's pickles them into a file."""
    return functools.cache


def _prepare() -> None:
    from ctypes import CDLL

    from workbench.errors import WorkbenchError

    if os.path.lexists(VDSO):
        raise WorkbenchError(
            f"TVM would read the file {VDSO} of the working folder as a library, and wait for it if it is a pipe; remove it, "
            "or start in another folder"
        )
    for library in SYSTEM_LIBRARIES:
        with suppress(OSError):  # a system without it
            CDLL(library)


class BeforeTVM:
    """A finder of Python's imports, which finds TVM's memoizer only: ours."""

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        if name == "tvm":
            _prepare()
        return ModuleSpec(name, self) if name == MEMOIZER else None  # pyright: ignore[reportArgumentType]  a loader by its methods

    def create_module(self, _spec: ModuleSpec) -> None:
        """Let Python make the module."""

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(memoize=memoize)
