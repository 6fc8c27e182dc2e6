"""Machine code for CUDA kernels where TVM's build asks for it: not made where nothing can run it, so counting needs no nvcc."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import tvm

from workbench.dialects.nvrtc import nvrtc_here, ptx
from workbench.targets import kind_of

CALLBACK = "tvm_callback_cuda_compile"
_PLACEHOLDER = b"// not compiled: there is no device to run it on"


_elsewhere = ContextVar("what is built runs on another machine", default=False)


@contextmanager
def compiled_for_elsewhere() -> Iterator[None]:
    """Within it, machine code is made even where no device is, if nvcc or nvrtc is there to make it."""
    token = _elsewhere.set(True)
    try:
        yield
    finally:
        _elsewhere.reset(token)


def for_elsewhere() -> bool:
    """Whether what is built now is to run on another machine."""
    return _elsewhere.get()


@contextmanager
def compiled_where_it_runs(target: str) -> Iterator[None]:
    """Within it, a CUDA build is compiled to machine code if a device is here.

    Parameters
    ----------
    target
        What is built; for other targets nothing is changed.

    Notes
    -----
    TVM's own way is nvcc. Where there is none, NVIDIA's nvrtc is asked, if its wheel is installed.
    """
    own = tvm.get_global_func(CALLBACK, allow_missing=True)
    if kind_of(target) != "cuda" or own is None:
        yield
        return
    able = _nvcc() or nvrtc_here() is not None
    runs = tvm.device("cuda", 0).exist or (_elsewhere.get() and able)
    if runs and _nvcc():
        yield
        return
    by_nvrtc = runs and able

    def compiled(code: str, target: Any) -> bytearray:
        if by_nvrtc:
            return bytearray(ptx(code, architecture(str(target))))
        # with neither, TVM's own error says that nvcc was not found
        return own(code, target) if runs else bytearray(_PLACEHOLDER)

    register = getattr(tvm, "register_func", None) or tvm.register_global_func
    register(CALLBACK, compiled, override=True)
    try:
        yield
    finally:
        register(CALLBACK, own, override=True)


def architecture(target: str) -> str:
    """The `compute_..` that a target's `sm_..` means; TVM's default where it says none.

    >>> architecture("cuda -arch=sm_90 -max_threads_per_block=1024"), architecture("cuda")
    ('compute_90', 'compute_50')
    """
    found = re.search(r"sm_(\w+)", target)
    return f"compute_{found.group(1) if found else 50}"


def _nvcc() -> bool:
    from shutil import which

    return which("nvcc") is not None
