"""A C compiler: the machine's own, or Zig's from PyPI."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from workbench.environments import SetupError
from workbench.environments.pip import run_pip

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
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        last = (result.stderr.strip().splitlines() or [f"exit status {result.returncode}"])[-1]
        raise SetupError(f"{compiler[0]} could not compile {source.name} ({last}): put a working gcc first on PATH.")
