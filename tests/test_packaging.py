"""The sdist and the wheel: built from the checkout, installed in a fresh environment, and used there."""

from __future__ import annotations

import email
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.install, pytest.mark.long]  # builds packages and installs their needs

ROOT = Path(__file__).parents[1]
TEXT = ROOT / "tests" / "pastes" / "casts.txt"


def run(*command: object, cwd: Path, more: dict[str, str] | None = None) -> str:
    """Return what a command prints, run with no checkout on its path."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "TVM_WORKBENCH_NO_BUNDLE")}
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, env={**clean, **(more or {})}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def environment(folder: Path) -> Path:
    """Return the Python of a new virtual environment."""
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    python = environment(folder / "env")
    run(python, "-m", "pip", "install", "-q", "hatchling", cwd=folder)
    # The bundle is the one that `make` built: npm must not change the checkout while other tests run.
    bundled = {"TVM_WORKBENCH_NO_BUNDLE": "1"}
    run(python, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, cwd=ROOT, more=bundled)
    return next(folder.glob("tvm_workbench-*.tar.gz"))


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel that is made from the sdist."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, sdist, cwd=folder)
    return next(folder.glob("tvm_workbench-*.whl"))


def test_sdist_has_the_sources_and_the_bundle(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= {"README.md", "LICENSE", "js/package.json", "tests/installed.py"}
    assert "workbench/widgets/static/workbench.js" in names
    assert not [name for name in names if "node_modules" in name or "__pycache__" in name]


def test_wheel_has_each_file_of_the_package(wheel: Path) -> None:
    tracked = run("git", "ls-files", "workbench", cwd=ROOT).split()
    built = [path.relative_to(ROOT).as_posix() for path in (ROOT / "workbench/widgets/static").glob("[!.]*")]
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = email.message_from_bytes(archive.read(next(name for name in names if name.endswith("/METADATA"))))
    assert built
    assert {*tracked, *built} <= names
    assert metadata["Version"] == wheel.name.split("-")[1]
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert not [name for name in names if not name.startswith(("workbench/", "tvm_workbench-"))]


def test_wheel_works_without_tvm_and_without_a_checkout(wheel: Path, tmp_path: Path) -> None:
    python = environment(tmp_path / "env")
    run(python, "-m", "pip", "install", "-q", wheel, cwd=tmp_path)
    assert "nodes" in run(python, ROOT / "tests/installed.py", TEXT, cwd=tmp_path)


TRACE = """
import workbench as wb
t = wb.trace(wb.samples.load("parallel_cast"), "EliminateCommonSubexpr")
wb.CompareView(t.steps[0].before, t.steps[0].after).save("view.html")
assert wb.passes("relax")
print(t.steps[0].status)
"""


def test_wheel_works_with_relax(wheel: Path, tmp_path: Path) -> None:
    python = environment(tmp_path / "env")
    run(python, "-m", "pip", "install", "-q", f"tvm-workbench[relax] @ {wheel.as_uri()}", cwd=tmp_path)
    assert run(python, "-c", TRACE, cwd=tmp_path).split() == ["changed"]
    run(tmp_path / "env/bin/tvm-workbench", "show", "sample:parallel_cast", "-o", "shown.html", cwd=tmp_path)
    assert "<html" in (tmp_path / "shown.html").read_text(encoding="utf-8")
    assert "nodes" in run(python, ROOT / "tests/installed.py", TEXT, cwd=tmp_path)
