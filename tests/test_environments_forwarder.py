"""The forwarder and the nvrtc stub, compiled as install-relay compiles them and called as libtvm.so calls them."""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.environments.repack import CUDA_SOURCES, FORWARDER, NVRTC_STUB, compile_shared, find_compiler

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the libraries are for Linux")

NO_DEVICE, NOT_FOUND = 100, 500

FAKE_DRIVER = """
#include <stdint.h>
int cuModuleUnload(void *module) { return module == (void *)7 ? 777 : -1; }
int cuGetErrorName(int error, const char **text) { *text = "FROM THE DRIVER"; return error; }
int cuLaunchKernel(void *f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned g, unsigned h, void *s,
                   void **p, void **x) {
  return (int)((uintptr_t)f + 2 * a + 3 * b + 5 * c + 7 * d + 11 * e + 13 * g + 17 * h + 19 * (uintptr_t)s
               + 23 * (uintptr_t)p + 29 * (uintptr_t)x);
}
int cuMemsetD32_v2(unsigned long long target, unsigned value, unsigned long count) {
  return target == 1ull << 40 && value == 3 && count == 1ul << 33 ? 778 : -1;
}
"""

CALLS = """
import ctypes, json, sys
library = ctypes.CDLL(sys.argv[1])
P, U = ctypes.c_void_p, ctypes.c_uint
text = ctypes.c_char_p()
name = library.cuGetErrorName(100, ctypes.byref(text)), text.value.decode()
launch = library.cuLaunchKernel(P(1), *map(U, range(2, 9)), P(9), P(10), P(11))
memset = library.cuMemsetD32_v2(ctypes.c_ulonglong(1 << 40), U(3), ctypes.c_size_t(1 << 33))
missing = library.cuModuleLoadData(P(), P())
print(json.dumps([library.cuModuleUnload(P(7)), name, launch, memset, missing]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("cuda")


@pytest.fixture(scope="module")
def compiler(folder) -> list[str]:
    return find_compiler(Path(sys.executable), folder)


@pytest.fixture(scope="module")
def forwarder(folder, compiler) -> Path:
    compile_shared(compiler, CUDA_SOURCES / "forwarder.c", folder / FORWARDER, "-ldl")
    return folder / FORWARDER


def call_all(library: Path, search: Path | None = None) -> list:
    environment = {**os.environ, "LD_LIBRARY_PATH": str(search) if search else ""}
    command = [sys.executable, "-c", CALLS, str(library)]
    return json.loads(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def has_driver() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@pytest.mark.skipif(has_driver(), reason="this machine has an NVIDIA driver")
def test_without_a_driver_each_call_is_a_clean_error(forwarder):
    unload, (status, text), launch, memset, load = call_all(forwarder)
    assert [unload, launch, memset, load] == [NO_DEVICE] * 4
    assert status == 0
    assert text == "CUDA_ERROR_NO_DEVICE (no NVIDIA driver: libcuda.so.1 was not found)"


@pytest.mark.skipif(has_driver(), reason="this machine has an NVIDIA driver")
@pytest.mark.parametrize("error", [0, 100, 500, 1, -1, 999999])
def test_without_a_driver_every_error_has_a_name(forwarder, error):
    text = ctypes.c_char_p()
    ctypes.CDLL(str(forwarder)).cuGetErrorName(error, ctypes.byref(text))
    assert text.value


def test_a_driver_is_called_and_never_hidden(forwarder, compiler, tmp_path):
    source = tmp_path / "driver.c"
    source.write_text(FAKE_DRIVER)
    compile_shared([*compiler, "-Wno-error"], source, tmp_path / "libcuda.so.1")
    unload, name, launch, memset, load = call_all(forwarder, search=tmp_path)
    assert unload == 777
    assert name == [100, "FROM THE DRIVER"]
    assert launch == sum(
        prime * value for prime, value in zip((1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29), range(1, 12), strict=True)
    )
    assert memset == 778, "64-bit arguments arrive whole"
    assert load == NOT_FOUND, "a driver that lacks the function"


def test_the_nvrtc_stub_refuses_cleanly(folder, compiler):
    version_names = f"-Wl,--version-script={CUDA_SOURCES / 'nvrtc_stub.map'}"
    compile_shared(compiler, CUDA_SOURCES / "nvrtc_stub.c", folder / NVRTC_STUB, version_names)
    stub = ctypes.CDLL(str(folder / NVRTC_STUB))
    assert stub.nvrtcCreateProgram(None, b"", b"", 0, None, None) == 11
    stub.nvrtcGetErrorString.restype = ctypes.c_char_p
    assert b"pip install nvidia-cuda-nvrtc-cu12" in stub.nvrtcGetErrorString(11)
