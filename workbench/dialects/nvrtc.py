"""NVIDIA's runtime compiler through ctypes: CUDA C to PTX, with no GPU, no driver and no nvcc. It needs no TVM."""

from __future__ import annotations

import ctypes
import importlib.util
from functools import cache
from pathlib import Path

from workbench.errors import MeasureError

EXTRA = "pip install 'tvm-workbench[cuda]'"


@cache
def nvrtc_here() -> Path | None:
    """The library of NVIDIA's wheel, looked up on disk."""
    for pattern in ("cuda_nvrtc/lib/libnvrtc.so.*", "cu*/lib/libnvrtc.so.*"):
        for folder in _nvidia():
            found = [
                path for path in sorted(folder.glob(pattern)) if "builtins" not in path.name and "alt" not in path.name
            ]
            if found:
                return found[-1]
    return None


def ptx(code: str, architecture: str) -> bytes:
    """PTX of CUDA C.

    Parameters
    ----------
    architecture
        As `compute_90`.

    Raises
    ------
    MeasureError
        nvrtc is not installed, or it refuses the code or the architecture.
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
        options = [f"--gpu-architecture={architecture}", "-default-device", *(f"-I{folder}" for folder in _headers())]
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


def _headers() -> list[Path]:
    """Where `cuda_fp16.h` is: the runtime's wheel."""
    found = [folder / name / "include" for folder in _nvidia() for name in ("cuda_runtime", "cu13", "cu12")]
    return [folder for folder in found if folder.is_dir()]


def _nvidia() -> list[Path]:
    spec = importlib.util.find_spec("nvidia")
    return [] if spec is None else [Path(folder) for folder in spec.submodule_search_locations or ()]
