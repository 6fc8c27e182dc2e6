"""Machine code for CUDA kernels in TVM's build, skipped where nothing can run it, so that counting needs no nvcc."""

from __future__ import annotations

import ctypes
import importlib.util
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

import tvm

from workbench.errors import MeasureError
from workbench.target_text import kind_of

CALLBACK = "tvm_callback_cuda_compile"
_PLACEHOLDER = b"// not compiled: there is no device to run it on"


_elsewhere = ContextVar("what is built runs on another machine", default=False)


@contextmanager
def compiled_for_elsewhere() -> Iterator[None]:
    """Make machine code while the block runs even without a device, if nvcc or nvrtc is installed."""
    token = _elsewhere.set(True)
    try:
        yield
    finally:
        _elsewhere.reset(token)


def for_elsewhere() -> bool:
    """Return whether the current build is to run on another machine."""
    return _elsewhere.get()


@contextmanager
def compiled_where_it_runs(target: str) -> Iterator[None]:
    """Compile CUDA builds to machine code while the block runs, if this machine has a device.

    `target`: the target of the build; other targets than CUDA are not affected.

    Notes
    -----
    TVM uses nvcc. Without it, NVIDIA's nvrtc is used if its wheel is installed.
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
        # with neither, TVM's own error reports that nvcc was not found
        return own(code, target) if runs else bytearray(_PLACEHOLDER)

    register = getattr(tvm, "register_func", None) or tvm.register_global_func
    register(CALLBACK, compiled, override=True)
    try:
        yield
    finally:
        register(CALLBACK, own, override=True)


def architecture(target: str) -> str:
    """Return the `compute_..` for a target's `sm_..`; TVM's default if it has none.

    >>> architecture("cuda -arch=sm_90 -max_threads_per_block=1024"), architecture("cuda")
    ('compute_90', 'compute_50')
    """
    found = re.search(r"sm_(\w+)", target)
    return f"compute_{found.group(1) if found else 50}"


def _nvcc() -> bool:
    from shutil import which

    return which("nvcc") is not None


EXTRA = "pip install 'tvm-workbench[cuda]'"


@cache
def nvrtc_here() -> Path | None:
    """Return the path of the library in NVIDIA's wheel, looked up on disk."""
    for pattern in ("cuda_nvrtc/lib/libnvrtc.so.*", "cu*/lib/libnvrtc.so.*"):
        for folder in _nvidia():
            found = [
                path for path in sorted(folder.glob(pattern)) if "builtins" not in path.name and "alt" not in path.name
            ]
            if found:
                return found[-1]
    return None


def ptx(code: str, architecture: str) -> bytes:
    """Compile CUDA C to PTX.

    `architecture`: such as `compute_90`. Raises MeasureError: nvrtc is not installed, or it refuses the code or the
    architecture.
    """
    path = nvrtc_here()
    if path is None:
        raise MeasureError(f"PTX is made by NVIDIA's nvrtc, which is not installed here; {EXTRA}")
    library = ctypes.CDLL(str(path))
    program = ctypes.c_void_p()
    created = library.nvrtcCreateProgram(ctypes.byref(program), code.encode(), b"kernels.cu", 0, None, None)
    if created != 0:
        raise MeasureError(f"nvrtc could not take the code: error {created}")
    try:
        # cuda_fp16.h is in the wheel of the runtime
        headers = [each / name / "include" for each in _nvidia() for name in ("cuda_runtime", "cu13", "cu12")]
        includes = [f"-I{folder}" for folder in headers if folder.is_dir()]
        options = [f"--gpu-architecture={architecture}", "-default-device", *includes]
        values = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        if library.nvrtcCompileProgram(program, len(options), values) != 0:
            said = _text(library, "nvrtcGetProgramLog", program).strip().splitlines()
            raise MeasureError(
                f"nvrtc does not compile it for {architecture}: {said[0] if said else 'no reason given'}"
            )
        return _text(library, "nvrtcGetPTX", program).encode()
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _text(library: ctypes.CDLL, what: str, program: ctypes.c_void_p) -> str:
    size = ctypes.c_size_t()
    getattr(library, f"{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(library, what)(program, buffer)
    return buffer.value.decode(errors="replace")


def _nvidia() -> list[Path]:
    spec = importlib.util.find_spec("nvidia")
    return [] if spec is None else [Path(folder) for folder in spec.submodule_search_locations or ()]
