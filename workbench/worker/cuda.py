"""CUDA on this machine: facts from the driver, NVML and the compilers, and the reason why CUDA code cannot be timed."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from workbench.target_text import target_fields
from workbench.temporary import new_folder

Version = tuple[int, int]
_NO_DEVICE, _OLD_DRIVER, _STUB, _MISMATCH, _NOT_COMPATIBLE = 100, 35, 34, 803, 804
"results of cuInit (cuda.h, CUresult)"


@dataclass(frozen=True)
class CudaFacts:
    """Facts about CUDA on this machine and in its TVM."""

    built: bool = True
    "this TVM can run CUDA code at all"
    driver_library: bool = True
    "libcuda.so.1 was found"
    status: int = 0
    "result of cuInit; 0 is success"
    devices: int = 1
    "number of GPUs that the driver offers"
    gpu: str = ""
    "the first one's name"
    compute: Version | None = None
    "the first one's compute capability: (9, 0) is sm_90"
    driver_cuda: Version | None = None
    "the newest CUDA that the driver supports"
    runtime_cuda: Version | None = None
    "version of the CUDA runtime that this TVM loads"
    compiler: str = ""
    "the compiler for CUDA code here, `nvcc 12.4`; empty if there is none"
    architectures: tuple[int, ...] = ()
    "architectures of the compiler: 90 is sm_90; empty if unknown"
    seen_by_tvm: bool = True
    "TVM's own check that device 0 exists"

    @staticmethod
    def of(data: Mapping[str, object]) -> CudaFacts:
        """Return the facts from the JSON of their fields."""
        return replace(CudaFacts(), **{name: tuple(v) if isinstance(v, list) else v for name, v in data.items()})


def why_not(facts: CudaFacts, target: str = "cuda") -> str:
    """Return why code for a target is not timed here, and the remedy; empty if it can be timed.

    >>> why_not(CudaFacts(driver_library=False, devices=0))
    'no CUDA device: no NVIDIA driver is installed here (libcuda.so.1 was not found)'
    """
    return next(_reasons(facts, architecture(target)), "")


def _reasons(facts: CudaFacts, wanted: int | None) -> Iterator[str]:
    """Yield the reasons, the first cause first; `wanted` is the architecture that the target names."""
    gpu, name = _number(facts.compute), facts.gpu or "a GPU"
    needs, serves = _text(facts.runtime_cuda), _text(facts.driver_cuda)
    # within a major version an older driver supports a newer runtime (NVIDIA's minor version compatibility)
    older = bool(facts.runtime_cuda and facts.driver_cuda and facts.driver_cuda[0] < facts.runtime_cuda[0])
    if not facts.built:
        yield "this TVM was built without CUDA; install one that has it to time CUDA code"
    if not facts.driver_library:
        yield "no CUDA device: no NVIDIA driver is installed here (libcuda.so.1 was not found)"
    if facts.status == _STUB:
        yield (
            "no CUDA device: the libcuda.so.1 that is found here is the toolkit's stub, not a driver; "
            "take the stubs folder out of LD_LIBRARY_PATH"
        )
    if facts.status == _NO_DEVICE or (facts.status == 0 and facts.devices == 0):
        yield "no CUDA device: the NVIDIA driver is there and finds no GPU (nvidia-smi lists what it sees)"
    if facts.status in (_OLD_DRIVER, _NOT_COMPATIBLE) or older:
        yield f"the NVIDIA driver is too old: it serves CUDA {serves} and this TVM uses CUDA {needs}; update the driver"
    if facts.status == _MISMATCH:
        yield "the NVIDIA driver's library and its kernel module are of different versions; restart the machine"
    if facts.status != 0:
        yield f"no CUDA device: the NVIDIA driver does not start (cuInit answers {facts.status})"
    if not facts.compiler:
        yield (
            f"nvcc is missing: {name} is here and nothing that compiles CUDA code; install the CUDA toolkit "
            "and put its nvcc on PATH, or `pip install nvidia-cuda-nvrtc-cu12`"
        )
    for number in filter(None, (gpu, wanted)):
        if facts.architectures and not min(facts.architectures) <= number <= max(facts.architectures):
            whose = f"{facts.gpu or 'the GPU'} is" if number == gpu else "the target asks for"
            known = f"sm_{min(facts.architectures)} to sm_{max(facts.architectures)}"
            yield f"unknown architecture: {whose} sm_{number}, and {facts.compiler} compiles for {known}; install another one"
    if wanted is not None and gpu is not None and wanted > gpu:
        yield f"the target asks for sm_{wanted}, and {facts.gpu or 'the GPU'} is sm_{gpu}; write -arch=sm_{gpu}"
    if not facts.seen_by_tvm:
        yield f"the driver offers {name} and TVM does not see it; look whether CUDA_VISIBLE_DEVICES hides it"


def architecture(target: str) -> int | None:
    """Return the architecture in a target's text.

    >>> architecture("cuda -arch=sm_90"), architecture("cuda")
    (90, None)
    """
    found = re.match(r"sm_(\d+)", str(target_fields(target).get("arch", "")))
    return int(found.group(1)) if found else None


def _number(version: Version | None) -> int | None:
    return None if version is None else version[0] * 10 + version[1]


def _text(version: Version | None) -> str:
    return "another version" if version is None else f"{version[0]}.{version[1]}"


_MAJOR, _MINOR = 75, 76
"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR"
_SM_CLOCK = 1
"NVML_CLOCK_SM"
SECONDS = 20


@dataclass(frozen=True)
class Gpu:
    """The first GPU, by the management library, which makes no context on it."""

    name: str
    driver: str
    clock_mhz: int | None
    "of its multiprocessors, now"


def look(built: bool, seen: bool) -> CudaFacts:
    """Return the facts from the driver and the compilers; `built`, `seen`: TVM can run CUDA code, and sees device 0. Raises nothing."""
    compiler, architectures = _nvcc() or _nvrtc() or ("", ())
    facts = CudaFacts(
        built=built, seen_by_tvm=seen, runtime_cuda=_runtime(), compiler=compiler, architectures=architectures
    )
    driver = _library("libcuda.so.1")
    if driver is None:
        return replace(facts, driver_library=False, devices=0)
    status = driver.cuInit(0)
    version, count = ctypes.c_int(0), ctypes.c_int(0)
    driver.cuDriverGetVersion(ctypes.byref(version))
    if status == 0:
        driver.cuDeviceGetCount(ctypes.byref(count))
    found = replace(facts, status=status, devices=count.value, driver_cuda=_version(version.value))
    if not count.value:
        return found
    device, name, major, minor = ctypes.c_int(0), ctypes.create_string_buffer(100), ctypes.c_int(0), ctypes.c_int(0)
    driver.cuDeviceGet(ctypes.byref(device), 0)
    driver.cuDeviceGetName(name, 100, device)
    driver.cuDeviceGetAttribute(ctypes.byref(major), _MAJOR, device)
    driver.cuDeviceGetAttribute(ctypes.byref(minor), _MINOR, device)
    return replace(found, gpu=name.value.decode(errors="replace"), compute=(major.value, minor.value))


def gpu() -> Gpu | None:
    """Return the first GPU and its present clock; None without a GPU or a management library."""
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


def _runtime() -> Version | None:
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
"RTLD_NOLOAD: only libraries that are loaded already"


def _nvcc() -> tuple[str, tuple[int, ...]] | None:
    said = _output_of("nvcc", "--version")
    found = re.search(r"release (\d+\.\d+)", said)
    if found is None:
        return None
    numbers = re.findall(r"(?:compute|sm)_(\d+)\b", _output_of("nvcc", "--list-gpu-arch"))
    return f"nvcc {found.group(1)}", tuple(sorted({int(number) for number in numbers}))


def _nvrtc() -> tuple[str, tuple[int, ...]] | None:
    """Return the name and the architectures of NVIDIA's run-time compiler, from its wheel."""
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
    """Return the version of a number: 12040 is 12.4."""
    return (number // 1000, number % 1000 // 10) if number else None


def _library(name: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


def _output_of(*command: str) -> str:
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, check=False, cwd=new_folder()
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
