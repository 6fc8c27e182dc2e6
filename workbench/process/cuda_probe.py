"""Looks what CUDA there is: asks the driver, NVML, the compilers and, in the child, TVM. Never raises."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.process.cuda import CudaFacts, Version

_MAJOR, _MINOR = 75, 76
"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR"
_SM_CLOCK = 1
"NVML_CLOCK_SM"
SECONDS = 20


@dataclass(frozen=True)
class Gpu:
    """What the management library says of the first GPU; it makes no context on it."""

    name: str
    driver: str
    clock_mhz: int | None
    "of its multiprocessors, now"


def look(built: bool, seen: bool) -> CudaFacts:
    """What is found here.

    Parameters
    ----------
    built, seen
        Whether TVM can run CUDA code, and whether it sees device 0.
    """
    compiler, architectures = _nvcc() or _nvrtc() or ("", ())
    common: dict[str, Any] = {
        "built": built,
        "seen_by_tvm": seen,
        "runtime_cuda": _runtime(),
        "compiler": compiler,
        "architectures": architectures,
    }
    driver = _library("libcuda.so.1")
    if driver is None:
        return CudaFacts(driver_library=False, devices=0, **common)
    status = driver.cuInit(0)
    version, count = ctypes.c_int(0), ctypes.c_int(0)
    driver.cuDriverGetVersion(ctypes.byref(version))
    if status == 0:
        driver.cuDeviceGetCount(ctypes.byref(count))
    name, compute = _first(driver) if count.value else ("", None)
    return CudaFacts(
        status=status, devices=count.value, gpu=name, compute=compute, driver_cuda=_version(version.value), **common
    )


def gpu() -> Gpu | None:
    """The first GPU and its clock at this moment; None where there is none, or no management library."""
    nvml = _library("libnvidia-ml.so.1")
    if nvml is None or nvml.nvmlInit_v2() != 0:
        return None
    try:
        handle = ctypes.c_void_p()
        if nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle)) != 0:
            return None
        name, driver, clock = ctypes.create_string_buffer(96), ctypes.create_string_buffer(96), ctypes.c_uint(0)
        nvml.nvmlDeviceGetName(handle, name, 96)
        nvml.nvmlSystemGetDriverVersion(driver, 96)
        told = nvml.nvmlDeviceGetClockInfo(handle, _SM_CLOCK, ctypes.byref(clock)) == 0
        return Gpu(
            name.value.decode(errors="replace"), driver.value.decode(errors="replace"), clock.value if told else None
        )
    finally:
        nvml.nvmlShutdown()


def _first(driver: Any) -> tuple[str, Version]:
    device, name = ctypes.c_int(0), ctypes.create_string_buffer(100)
    major, minor = ctypes.c_int(0), ctypes.c_int(0)
    driver.cuDeviceGet(ctypes.byref(device), 0)
    driver.cuDeviceGetName(name, 100, device)
    driver.cuDeviceGetAttribute(ctypes.byref(major), _MAJOR, device)
    driver.cuDeviceGetAttribute(ctypes.byref(minor), _MINOR, device)
    return name.value.decode(errors="replace"), (major.value, minor.value)


def _runtime() -> Version | None:
    """The CUDA runtime that this process has loaded: TVM's."""
    for name in ("libcudart.so.12", "libcudart.so.13", "libcudart.so.11.0"):
        try:
            library = ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL | _NOLOAD)
        except OSError:
            continue
        version = ctypes.c_int(0)
        library.cudaRuntimeGetVersion(ctypes.byref(version))
        return _version(version.value)
    return None


_NOLOAD = 4
"RTLD_NOLOAD: only what is loaded already"


def _nvcc() -> tuple[str, tuple[int, ...]] | None:
    said = _said("nvcc", "--version")
    found = re.search(r"release (\d+\.\d+)", said)
    if found is None:
        return None
    numbers = re.findall(r"(?:compute|sm)_(\d+)\b", _said("nvcc", "--list-gpu-arch"))
    return f"nvcc {found.group(1)}", tuple(sorted({int(number) for number in numbers}))


def _nvrtc() -> tuple[str, tuple[int, ...]] | None:
    """NVIDIA's run-time compiler, as its wheel brings it."""
    home = Path(sysconfig.get_paths()["purelib"]) / "nvidia"
    file = next(iter(sorted(home.glob("*/lib/libnvrtc.so.*[0-9]"))), None)
    library = _library(str(file)) if file is not None else None
    if library is None:
        return None
    major, minor, count = ctypes.c_int(0), ctypes.c_int(0), ctypes.c_int(0)
    library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    library.nvrtcGetNumSupportedArchs(ctypes.byref(count))
    numbers = (ctypes.c_int * count.value)()
    library.nvrtcGetSupportedArchs(numbers)
    return f"nvrtc {major.value}.{minor.value}", tuple(sorted(numbers))


def _version(number: int) -> Version | None:
    """12040 is 12.4."""
    return (number // 1000, number % 1000 // 10) if number else None


def _library(name: str) -> Any | None:
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


def _said(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
