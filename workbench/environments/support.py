"""Where the pinned Relay build of TVM can run, decided before anything is downloaded."""

from __future__ import annotations

import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from workbench.environments import SetupError, Unsupported

OLDEST_GLIBC = (2, 34)  # the newest symbol that libtvm.so asks for
OLDEST_PYTHON = (3, 10)
PYTHON_TOO_NEW = (3, 14)  # ast.Num and ast.Str, which TVM 0.17 reads, were removed there

INSTEAD = (
    "use Relax in the main environment, or install tvm-workbench beside a TVM with Relay of your own (built, or conda)"
)


@dataclass(frozen=True)
class Machine:
    """The facts that decide; a test makes its own."""

    system: str
    "As platform.system() says it: Linux, Darwin, Windows."
    architecture: str
    "As platform.machine() says it: x86_64, aarch64."
    libc: tuple[str, str]
    "Name and version of the C library; two empty strings where Python can not tell."
    python: tuple[int, int]
    "Major and minor version."

    @classmethod
    def here(cls) -> Machine:
        """Return the facts of the machine and the Python that run this."""
        return cls(platform.system(), platform.machine(), platform.libc_ver(), sys.version_info[:2])


def check_machine(machine: Machine) -> None:
    """Raise Unsupported, saying what to do instead, where the wheel can not run."""
    if machine.system != "Linux" or machine.architecture != "x86_64":
        raise Unsupported(
            f"The Relay build of TVM runs on Linux x86-64 only and this is {machine.system} {machine.architecture}: "
            f"{INSTEAD}."
        )
    name, version = machine.libc
    if name != "glibc" or _numbers(version) < OLDEST_GLIBC:
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
            f"{folder} has {_megabytes(free)} free and {_megabytes(needed)} are needed: "
            "free some space, or choose another disk with --prefix (and TVM_WORKBENCH_CACHE for the cache)."
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _megabytes(count: int) -> str:
    return f"{count // 1_000_000} MB"
