"""Make the Relay environment: a virtual environment with workbench, TVM 0.17 and a Jupyter kernel.

The machine is checked before anything is downloaded.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from workbench.environments import SetupError, Unsupported
from workbench.environments.packages import checkout, file_sha256, pack_installed, run_pip, run_quietly
from workbench.environments.repack import DISK_NEEDED as CACHE_NEEDED
from workbench.environments.repack import cache_folder, cached_wheel, is_whole, make_wheel
from workbench.environments.wheelhouse import find_archive, install_wheels
from workbench.temporary import temporary_folder

KERNEL = "workbench-relay"
DISPLAY_NAME = "Relay (TVM 0.17)"
DISK_NEEDED = 1_200_000_000
"Bytes of the environment's disk."
MARKER = "tvm-workbench.json"
"A file in the environment that records its owner and how far the installation got."


@dataclass(frozen=True)
class Request:
    """An environment to make."""

    prefix: Path
    "Folder of the environment."
    nvrtc: bool = True
    "Install NVIDIA's run-time compiler (76 MB to download), so that CUDA code compiles without a CUDA toolkit."
    extras: tuple[str, ...] = ()
    "Extras of tvm-workbench to install with it, e.g. ('test',)."
    jupyter: Path = Path(sys.prefix)
    "The environment whose JupyterLab is to list the kernel."
    wheelhouse: Path | None = None
    "A folder made by `tvm-workbench wheelhouse`, to install from without a network; it decides on nvrtc and extras."


def default_prefix() -> Path:
    """Return the default folder."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "tvm-workbench" / "relay"


def install_relay(request: Request, say: Callable[[str], None], machine: Machine | None = None) -> Path:
    """Make the environment, or complete it, or leave it as it is; return its Python.

    A finished environment is left alone. One whose making was interrupted is made again from nothing.

    Raises SetupError: the machine can not run it, the folder belongs to something else, or a step failed.
    """
    check_machine(machine or Machine.here())
    prefix = request.prefix.absolute()
    python = prefix / "bin" / "python"
    key = _key(request)
    state = _state(prefix)
    if state == key:
        say(f"{prefix} is up to date")
        register_kernel(python, request.jupyter)
        return python
    if state == "foreign":
        raise SetupError(
            f"{prefix} holds something that tvm-workbench did not make: name an empty folder with --prefix."
        )
    check_disk(prefix, DISK_NEEDED)
    if request.wheelhouse is None and not is_whole(cached_wheel()):
        check_disk(cache_folder(), CACHE_NEEDED)
    _mark(prefix, "unfinished")
    if state in ("absent", "unfinished"):
        say(f"making a virtual environment in {prefix}")
        _make_venv(prefix)
    if request.wheelhouse is None:
        wheel = make_wheel(python, say)
        say("installing TVM and workbench into it")
        with temporary_folder() as scratch:
            tvm = f"tvm-relay{'[nvrtc]' if request.nvrtc else ''} @ {wheel.as_uri()}"
            workbench = _workbench_requirement(request.extras, Path(scratch))
            run_pip(python, ["install", tvm, "ipykernel", *workbench], purpose="install TVM's dependencies")
    else:
        say(f"installing the wheels of {request.wheelhouse}")
        install_wheels(python, request.wheelhouse)
    say("checking that it works")
    _check(python)
    register_kernel(python, request.jupyter)
    _mark(prefix, key)
    return python


def register_kernel(python: Path, jupyter: Path) -> None:
    """Let the JupyterLab of the environment `jupyter` list the kernel; the user's own where that is not writable."""
    command = [str(python), "-I", "-m", "ipykernel", "install", "--name", KERNEL, "--display-name", DISPLAY_NAME]
    jupyter.mkdir(parents=True, exist_ok=True)
    where = ["--prefix", str(jupyter.absolute())] if os.access(jupyter, os.W_OK) else ["--user"]
    # Otherwise TVM's first build in each process tries to download tuning logs, with retries.
    settings = ["--env", "TOPHUB_LOCATION", "NONE"]
    run_quietly([*command, *where, *settings], "The Jupyter kernel could not be registered", f"check {jupyter}")


def _make_venv(prefix: Path) -> None:
    for path in prefix.iterdir():  # not venv --clear: the marker has to stay, or an interruption leaves no owner
        if path.name != MARKER:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    remedy = "install Python's venv module (apt-get install python3-venv), or name another folder with --prefix"
    command = [sys.executable, "-I", "-m", "venv", prefix]
    run_quietly(command, f"Python could not make a virtual environment in {prefix}", remedy)


def _check(python: Path) -> None:
    code = "import tvm; from tvm import relay; tvm.get_global_func('target.build.llvm')"
    remedy = "run `tvm-workbench doctor`, and delete the environment before you run this again"
    run_quietly([python, "-c", code], "TVM was installed but can not be imported", remedy)


def _workbench_requirement(extras: tuple[str, ...], scratch: Path) -> list[str]:
    """Return pip's arguments for this workbench: the checkout it runs from, else the installed distribution."""
    suffix = f"[{','.join(('tune', *extras))}]"
    folder = checkout()
    if folder:
        return ["--editable", f"{folder}{suffix}"]
    return [f"tvm-workbench{suffix} @ {pack_installed('tvm-workbench', scratch).as_uri()}"]


def _key(request: Request) -> str:
    """Return the key of a finished environment: it changes with everything the environment is made from."""
    folder = checkout()
    parts = [str(cached_wheel().parent.name), str(request.nvrtc), *request.extras, sys.version]
    parts.append((folder / "pyproject.toml").read_text() if folder else importlib.metadata.version("tvm-workbench"))
    if request.wheelhouse is not None:
        parts.append(file_sha256(find_archive(request.wheelhouse, "relay", ".".join(map(str, sys.version_info[:2])))))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _state(prefix: Path) -> str:
    """Return `absent`, `foreign`, `unfinished`, or the key of a finished environment."""
    if not prefix.exists() or not any(prefix.iterdir()):
        return "absent"
    try:
        return json.loads((prefix / MARKER).read_text())["state"]
    except (OSError, ValueError, KeyError):
        return "foreign"


def _mark(prefix: Path, state: str) -> None:
    prefix.mkdir(parents=True, exist_ok=True)
    new = prefix / f"{MARKER}.new"
    new.write_text(json.dumps({"made_by": "tvm-workbench", "state": state}) + "\n")
    new.replace(prefix / MARKER)


OLDEST_GLIBC = (2, 34)  # of the newest symbol that libtvm.so needs
OLDEST_PYTHON = (3, 10)
PYTHON_TOO_NEW = (3, 14)  # ast.Num and ast.Str, which TVM 0.17 reads, were removed there

INSTEAD = (
    "use Relax in the main environment, or install tvm-workbench beside a TVM with Relay of your own (built, or conda)"
)


@dataclass(frozen=True)
class Machine:
    """The facts that decide whether it can run; a test makes its own."""

    system: str
    "As platform.system() returns it: Linux, Darwin, Windows."
    architecture: str
    "As platform.machine() returns it: x86_64, aarch64."
    libc: tuple[str, str]
    "Name and version of the C library; two empty strings where Python does not know them."
    python: tuple[int, int]
    "Major and minor version."

    @classmethod
    def here(cls) -> Machine:
        """Return the facts of the machine and the Python that run this."""
        return cls(platform.system(), platform.machine(), platform.libc_ver(), sys.version_info[:2])


def check_machine(machine: Machine) -> None:
    """Raise Unsupported, with an alternative, where the wheel can not run."""
    if machine.system != "Linux" or machine.architecture != "x86_64":
        raise Unsupported(
            f"The Relay build of TVM runs on Linux x86-64 only and this is {machine.system} {machine.architecture}: "
            f"{INSTEAD}."
        )
    name, version = machine.libc
    if name != "glibc" or tuple(int(part) for part in version.split(".") if part.isdigit()) < OLDEST_GLIBC:
        found = f"{name} {version}".strip() or "another C library"
        raise Unsupported(
            f"The Relay build of TVM needs glibc 2.34 or newer (Debian 12, Ubuntu 22.04) and this machine has {found}: "
            f"{INSTEAD}."
        )
    if not OLDEST_PYTHON <= machine.python < PYTHON_TOO_NEW:
        found = ".".join(map(str, machine.python))
        raise Unsupported(
            f"The Relay build of TVM runs on Python 3.10 to 3.13 and this is {found}: "
            f"run the command with one of those, or {INSTEAD}."
        )


def check_disk(folder: Path, needed: int) -> None:
    """Raise SetupError where the file system of `folder` has fewer than `needed` bytes left."""
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if free < needed:
        raise SetupError(
            f"{folder} has {free // 1_000_000} MB free and {needed // 1_000_000} MB are needed: "
            "free some space, or choose another disk with --prefix (and TVM_WORKBENCH_CACHE for the cache)."
        )
