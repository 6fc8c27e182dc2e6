"""Make a folder of wheels that installs workbench and its TVM on a machine without a network.

The wheels are stored without compression in one archive, which is compressed as a whole: half the size of the wheels.
"""

from __future__ import annotations

import lzma
import re
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from workbench.environments import SetupError
from workbench.environments.packages import checkout, pack_installed, run_pip
from workbench.environments.repack import make_wheel
from workbench.temporary import temporary_folder

LEFT_OUT = {
    "scipy": "Relay's sparse operators and some of its quantized ones",
    "matplotlib": "plots, and saved pictures in .svg, .pdf and .png",
    "debugpy": "JupyterLab's debugger",
    "jupyterlab-widgets": "JupyterLab, where it runs in the same environment",
    "widgetsnbextension": "Jupyter Notebook 6, where it runs in the same environment",
}
"distribution -> what needs it; a small wheelhouse has neither these nor what only they need"
_THEIR_NEEDS = {"contourpy", "cycler", "fonttools", "kiwisolver", "pillow", "pyparsing"}
# pip reads environment markers for the Python that runs it, not for --python-version.
_OLDER_OR_NEWER_PYTHON = ("exceptiongroup", "setuptools", "tomli")
_PLATFORMS = (*(f"manylinux_2_{minor}" for minor in range(34, 4, -1)), "manylinux2014", "manylinux2010", "manylinux1")
_FILTERS = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 1 << 26}]
_ARCHIVE = re.compile(r"wheels-(relay|relax)-(\d+\.\d+)\.tar\.xz")


@dataclass(frozen=True)
class Wheelhouse:
    """A folder to make."""

    folder: Path
    dialect: str = "relay"
    "relay or relax."
    python: str = f"{sys.version_info[0]}.{sys.version_info[1]}"
    "Version of the Python that will install it, as 3.12."
    extras: tuple[str, ...] = ()
    "Extras of tvm-workbench to add."
    small: bool = False
    "Leave out the distributions of LEFT_OUT, which most work does without."


def make_wheelhouse(request: Wheelhouse, say: Callable[[str], None]) -> Path:
    """Download the wheels, write the archive and INSTALL.txt, and return the archive.

    Raises SetupError: a wheel could not be made or downloaded.
    """
    if not re.fullmatch(r"3\.\d+", request.python) or request.dialect not in ("relay", "relax"):
        raise SetupError("a wheelhouse needs a Python version such as 3.12, and the dialect relay or relax.")
    request.folder.mkdir(parents=True, exist_ok=True)
    archive = request.folder / f"wheels-{request.dialect}-{request.python}.tar.xz"
    with tempfile.TemporaryDirectory(prefix="making-", dir=request.folder.absolute()) as scratch:
        wheels = Path(scratch, "wheels")
        say("downloading the wheels")
        _download(request, wheels, Path(scratch), say)
        if request.small:
            for wheel in wheels.glob("*.whl"):
                if wheel.name.partition("-")[0].replace("_", "-").lower() in LEFT_OUT.keys() | _THEIR_NEEDS:
                    wheel.unlink()
        say("compressing them (a few minutes)")
        unfinished = Path(scratch, archive.name)
        _pack(wheels, unfinished)
        unfinished.replace(archive)
    (request.folder / "INSTALL.txt").write_text(_instructions(request, archive), encoding="utf-8")
    return archive


def install_wheels(python: Path, folder: Path) -> None:
    """Install the wheels of a wheelhouse for Relay with the pip of `python`; ask no index.

    Raises SetupError: the folder has no archive for this Python, or pip failed.
    """
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    archive = find_archive(folder, "relay", version)
    with temporary_folder() as scratch:
        wheels = _unpack(archive, Path(scratch))
        run_pip(python, ["install", "--no-index", "--no-deps", *map(str, wheels)], purpose=f"install {archive.name}")


def find_archive(folder: Path, dialect: str, python: str) -> Path:
    """Return the archive of a wheelhouse; raises SetupError if it has none for this dialect and Python."""
    archive = folder / f"wheels-{dialect}-{python}.tar.xz"
    if not archive.is_file():
        others = sorted(path.name for path in folder.glob("*") if _ARCHIVE.fullmatch(path.name))
        raise SetupError(
            f"{folder} has no {archive.name} (it has: {', '.join(others) or 'no archive of wheels'}): "
            f"make it with `make wheelhouse DIALECT={dialect} PYTHON_VERSION={python}` where there is a network."
        )
    return archive


def _download(request: Wheelhouse, wheels: Path, scratch: Path, say: Callable[[str], None]) -> None:
    names = [*request.extras, "relax" if request.dialect == "relax" else "tune"]
    own = f"tvm-workbench[{','.join(names)}] @ {_own_wheel(scratch).as_uri()}"
    tvm = [f"tvm-relay @ {make_wheel(Path(sys.executable), say).as_uri()}"] if request.dialect == "relay" else []
    platforms = [word for name in _PLATFORMS for word in ("--platform", f"{name}_x86_64")]
    choice = ["--only-binary=:all:", "--implementation", "cp", "--python-version", request.python, *platforms]
    wanted = [own, *tvm, "ipykernel", "pytest", *_OLDER_OR_NEWER_PYTHON]
    arguments = ["download", "--dest", str(wheels), *choice, *wanted]
    run_pip(Path(sys.executable), arguments, purpose="download the wheels")


def _own_wheel(scratch: Path) -> Path:
    """Return a wheel of this workbench: built from the checkout it runs from, else from the installed files."""
    folder = checkout()
    if folder is None:
        return pack_installed("tvm-workbench", scratch)
    arguments = ["wheel", "--no-deps", "--wheel-dir", str(scratch / "own"), str(folder)]
    run_pip(Path(sys.executable), arguments, purpose="build the wheel of workbench")
    return next((scratch / "own").glob("tvm_workbench-*.whl"))


def _pack(wheels: Path, archive: Path) -> None:
    with lzma.open(archive, "wb", filters=_FILTERS) as compressed, tarfile.open(fileobj=compressed, mode="w|") as tar:
        for wheel in sorted(wheels.glob("*.whl")):
            stored = wheel.with_suffix(".stored")
            with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(stored, "w") as copy:
                for entry in source.infolist():
                    content = source.read(entry)
                    entry.compress_type = zipfile.ZIP_STORED
                    copy.writestr(entry, content)
            tar.add(stored, f"wheels/{wheel.name}")
            stored.unlink()


def _unpack(archive: Path, folder: Path) -> Iterator[Path]:
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                content = tar.extractfile(member)
                wheel = folder / Path(member.name).name
                if content is not None and wheel.suffix == ".whl":
                    with content, wheel.open("wb") as copy:
                        while block := content.read(1 << 20):
                            copy.write(block)
    except (tarfile.TarError, lzma.LZMAError, OSError, EOFError) as error:
        raise SetupError(f"{archive} can not be unpacked ({error}): copy it again, or make it again.") from error
    return folder.glob("*.whl")


def _instructions(request: Wheelhouse, archive: Path) -> str:
    what = "Relay (TVM 0.17)" if request.dialect == "relay" else "Relax"
    lines = [
        f"tvm-workbench with {what} for a machine without a network.",
        f"It needs Linux x86-64 with glibc 2.34 or newer, Python {request.python} and pip. In this folder:",
        "",
        f"  tar xf {archive.name}",
        f"  python{request.python} -m pip install --no-index --no-deps wheels/*.whl",
        "",
        f"In an environment of its own: first python{request.python} -m venv env, then . env/bin/activate",
        f"Without the program xz: python{request.python} -m tarfile -e {archive.name}",
        "To see what was found: python -m workbench.cli doctor",
        "To list it in a Jupyter that is there: python -m ipykernel install --user --name tvm-workbench",
    ]
    if request.dialect == "relay":
        lines.append("CUDA: an nvcc on PATH compiles; NVIDIA's run-time compiler (76 MB) is not here.")
    if request.small:
        lines += ["", "Left out, to keep the folder small (so `pip check` reports them as missing):"]
        lines += [f"  {name}: {needs}" for name, needs in LEFT_OUT.items()]
    return "\n".join(lines) + "\n"
