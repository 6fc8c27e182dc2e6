"""Nothing in the working folder runs or is read, whatever is planted there, except the file that was named."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import workbench as wb

ROOT = Path(__file__).parents[1]
MEMO = ".pkl_memoize_py3/topi.nn.winograd_matrices.winograd_transform_matrices.pkl"
MODULES = [
    "tvm", "numpy", "workbench", "sitecustomize", "usercustomize", "pip", "venv", "ipykernel", "decorator",
    "jupyter_config", "jupyter_lab_config",
]  # fmt: skip
"Python runs these if the folder is on its path, JupyterLab the last two"
LIBRARIES = [
    "librt.so.1", "libdl.so.2", "libtvm.so", "libtvm_runtime.so", "libtvm_runtime_vulkan.so", "libnvrtc.so.12",
    "libstdc++.so.6",
]  # fmt: skip
"the loader fails if it opens one of these: it is not a library"
SETTINGS = [
    ".env", "pyvenv.cfg", "setup.cfg", "pip.conf", "tophub", "configs/host/default.json", "node_modules/x.js",
    "package.json", "matplotlibrc",
]  # fmt: skip
MODEL = "model.txt"
WATCH = """
import os, sys
log = os.open({log!r}, os.O_WRONLY | os.O_APPEND)
def watch(event, args):
    if event == "open" and isinstance(args[0], (str, bytes)) and "r" in str(args[1]):
        path = os.path.realpath(os.fsdecode(args[0]))
        if path.startswith({folder!r}) and not path.endswith({model!r}):
            os.write(log, f"{{path}}\\n".encode())
    elif event == "pickle.find_class":
        os.write(log, f"unpickled {{args}}\\n".encode())
sys.addaudithook(watch)
"""
"of each process that inherits PYTHONPATH: writes what it reads in the folder, and what it unpickles, into a file"


class Canary:
    """Unpickling it makes a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.marker,)


@pytest.fixture
def planted(dialect: str, tmp_path: Path) -> Iterator[Path]:
    """Return a folder full of files that something may run or read; check at the end that nothing did."""
    folder, log, hooks = tmp_path / "work", tmp_path / "log", tmp_path / "hooks"
    for path in (folder / ".pkl_memoize_py3", folder / "configs/host", folder / "node_modules", hooks):
        path.mkdir(parents=True)
    log.touch()
    (hooks / "sitecustomize.py").write_text(WATCH.format(folder=f"{folder}/", model=MODEL, log=str(log)))
    (folder / MODEL).write_text(wb.samples.load("mlp", layers=1, width=4).text())
    (folder / MEMO).write_bytes(pickle.dumps(Canary(tmp_path / "UNPICKLED")))
    for name in MODULES:
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / name)!r}, 'w')")
    for name in (*LIBRARIES, *SETTINGS):
        (folder / name).write_text("no library, and no settings")
    before = sorted(folder.rglob("*"))
    yield folder
    ran = {path.name for path in tmp_path.iterdir()} - {"work", "log", "hooks"}
    assert (ran, log.read_text()) == (set(), "")
    assert [path for path in sorted(folder.rglob("*")) if path not in before and path.name != "out.html"] == []


def run(folder: Path, *command: object) -> str:
    """Run a program in the folder, with this checkout and the hooks on its path."""
    env = {**os.environ, "PYTHONPATH": f"{folder.parent / 'hooks'}{os.pathsep}{ROOT}"}
    done = subprocess.run([str(each) for each in command], cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


COMMAND = Path(sys.executable).parent / "tvm-workbench"


@pytest.mark.parametrize(
    "command", ["show {} -o out.html", pytest.param("doctor", marks=[pytest.mark.one_dialect, pytest.mark.long])]
)
def test_command_leaves_the_working_folder_alone(planted: Path, dialect: str, command: str) -> None:
    out = run(planted, COMMAND, *command.format(MODEL).split())
    assert re.search(f"with {dialect}|written", out)
    assert "can not be imported" not in out


def test_notebook_does_not_unpickle(planted: Path, dialect: str) -> None:
    """Its folder is on Python's path, as Jupyter puts it there, so modules in it are the user's own."""
    for name in MODULES:
        (planted / f"{name}.py").unlink()
    run(planted, sys.executable, "-c", f"import workbench as wb; wb.kernels(wb.load('{MODEL}'))")


def test_file_that_tvm_would_wait_for_is_refused(dialect: str, tmp_path: Path) -> None:
    (tmp_path / MODEL).write_text(wb.samples.load("mlp", layers=1, width=4).text())
    os.mkfifo(tmp_path / "linux-vdso.so.1")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([COMMAND, "show", MODEL], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr.startswith("tvm-workbench: TVM would read the file linux-vdso.so.1")) == (
        1,
        True,
    )
