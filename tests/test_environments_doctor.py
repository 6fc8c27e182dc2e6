"""doctor: one line a finding, whatever it finds."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.cli import main
from workbench.environments import doctor


@pytest.fixture
def data(tmp_path, monkeypatch) -> Path:
    """Return an empty Jupyter data folder, in the place of the user's and of this environment's."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    return tmp_path / "jupyter"


@pytest.fixture
def bare(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without programs: a report on it starts none."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))


def add_kernel(data: Path, name: str, python: Path | str) -> None:
    folder = data / "kernels" / name
    folder.mkdir(parents=True)
    kernel = {"argv": [str(python), "-m", "ipykernel_launcher"], "display_name": name, "language": "python"}
    (folder / "kernel.json").write_text(json.dumps(kernel))


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def lines() -> dict[str, str]:
    return {line[:18].strip(): line[18:].strip() for line in doctor.report()}


def test_names_all_it_looked_for(data, capsys):
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    for name in ("this environment", "CUDA compiler", "CUDA device", "dot", "browser", "JupyterLab", "kernels"):
        assert f"\n{name}" in f"\n{printed}"
    assert "Traceback" not in printed


def test_environments_that_are_broken_in_every_way(data, tmp_path, monkeypatch):
    monkeypatch.setattr(doctor, "SECONDS", 1)
    add_kernel(data, "gone", tmp_path / "no such python")
    add_kernel(data, "crashes", script(tmp_path / "crashes", "echo 'out of luck' >&2; kill -SEGV $$"))
    add_kernel(data, "hangs", script(tmp_path / "hangs", "exec sleep 60"))
    add_kernel(data, "babbles", script(tmp_path / "babbles", "echo hello"))
    (data / "kernels" / "torn").mkdir()
    (data / "kernels" / "torn" / "kernel.json").write_text('{"argv": [')
    found = lines()
    assert found["gone"].startswith("its Python is missing")
    assert found["crashes"].startswith("ended with status -11 (out of luck)")
    assert found["hangs"].startswith("no answer in 1 s")
    assert found["babbles"].startswith("ended with status 0")
    assert "torn (kernel.json can not be read)" in found["kernels"]


def test_a_machine_with_nothing_on_path(bare):
    found = lines()
    assert found["CUDA compiler"] == "no nvcc"
    assert "apt-get install graphviz" in found["dot"]
    assert "apt-get install chromium" in found["browser"]


def test_a_tvm_that_can_not_be_imported(tmp_path):
    package = tmp_path / "tvm"
    package.mkdir()
    (package / "__init__.py").write_text("raise OSError('libtvm.so: wrong ELF class')")
    result = subprocess.run(
        [sys.executable, doctor.PROBE], env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    assert json.loads(result.stdout)["error"] == "OSError: libtvm.so: wrong ELF class"


def add_distribution(folder: Path, name: str, package: str) -> None:
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "RECORD").write_text(f"{package}/__init__.py,,\n{info.name}/METADATA,,\n")


def test_another_owner_of_the_import_name_gets_a_warning(bare, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    add_distribution(tmp_path / "site", "TVM_Workbench", "workbench")
    add_distribution(tmp_path / "site", "bench-tools", "workbench")
    add_distribution(tmp_path / "site", "unrelated", "other")
    assert lines()["WARNING"].startswith("bench-tools installs a package named workbench too")


def test_no_warning_where_workbench_has_one_owner(bare):
    assert "WARNING" not in lines()


@pytest.mark.long
@pytest.mark.relay
def test_relay_is_found():
    assert "with relay, LLVM 10" in lines()["this environment"]


@pytest.mark.long
@pytest.mark.relax
def test_relax_is_found():
    assert "TVM 0.27.0.post1 with relax, LLVM" in lines()["this environment"]
