"""The wheelhouse: packed, unpacked and refused quickly; made and installed without an index in the long tests."""

from __future__ import annotations

import lzma
import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from workbench.cli import main
from workbench.environments import SetupError, wheelhouse
from workbench.environments.packages import pack
from workbench.environments.relay import Machine, Request, install_relay
from workbench.environments.wheelhouse import LEFT_OUT, Wheelhouse, find_archive, make_wheelhouse

ROOT = Path(__file__).parents[1]
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
DEBIAN = Machine("Linux", "x86_64", ("glibc", "2.36"), (3, 11))
LIMIT = 64_000_000
"bytes of a small wheelhouse for Relay"


def quiet(line: str) -> None:
    pass


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    info = tmp_path / "tree" / "thing-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
    (tmp_path / "tree" / "thing.py").write_text("value = 7\n" * 1000)
    (tmp_path / "wheels").mkdir()
    pack(tmp_path / "tree", tmp_path / "wheels" / "thing-1.0-py3-none-any.whl")
    return tmp_path / "wheels" / "thing-1.0-py3-none-any.whl"


def test_wheels_come_out_of_the_archive_as_they_went_in(wheel: Path, tmp_path: Path) -> None:
    archive = tmp_path / "wheels.tar.xz"
    wheelhouse._pack(wheel.parent, archive)
    out = tmp_path / "out"
    out.mkdir()
    (again,) = wheelhouse._unpack(archive, out)
    assert again.name == wheel.name
    with zipfile.ZipFile(wheel) as before, zipfile.ZipFile(again) as after:
        assert before.namelist() == after.namelist()
        assert all(before.read(name) == after.read(name) for name in before.namelist())


@pytest.mark.parametrize("damage", ["cut", "changed", "empty"])
def test_a_damaged_archive_is_refused(damage: str, wheel: Path, tmp_path: Path) -> None:
    archive = tmp_path / "wheels.tar.xz"
    wheelhouse._pack(wheel.parent, archive)
    data = archive.read_bytes()
    middle = len(data) // 2
    archive.write_bytes(
        {"cut": data[:middle], "changed": data[:middle] + b"\0" * 64 + data[middle:], "empty": b""}[damage]
    )
    with pytest.raises(SetupError, match="can not be unpacked"):
        list(wheelhouse._unpack(archive, tmp_path))


def test_a_folder_for_another_python_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    (tmp_path / "house").mkdir()
    (tmp_path / "house" / "wheels-relay-3.9.tar.xz").touch()
    with pytest.raises(SetupError, match=rf"has no wheels-relay-{VERSION}.*it has: wheels-relay-3.9"):
        find_archive(tmp_path / "house", "relay", VERSION)
    with pytest.raises(SetupError, match="make wheelhouse"):
        install_relay(Request(tmp_path / "env", wheelhouse=tmp_path / "house"), quiet, DEBIAN)
    assert not (tmp_path / "env").exists()


@pytest.mark.parametrize("version", ["2.7", "312", "latest", "3.12.1"])
def test_a_version_that_names_no_python_is_refused(version: str, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"such as 3\.12"):
        make_wheelhouse(Wheelhouse(tmp_path / "house", python=version), quiet)
    assert not (tmp_path / "house").exists()


def test_without_a_network_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("TVM_WORKBENCH_CACHE", str(tmp_path / "cache"))
    assert main(["wheelhouse", str(tmp_path / "house"), "--python-version", VERSION]) == 1
    assert list((tmp_path / "house").iterdir()) == []


def offline(folder: Path) -> dict[str, str]:
    """Return environment variables with which pip reaches no index, and which name no checkout."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))}
    return {**kept, "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "XDG_CACHE_HOME": str(folder / "cache")}


def run(*command: object, folder: Path) -> str:
    done = subprocess.run(
        [*map(str, command)], cwd=folder, env=offline(folder), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def follow_instructions(folder: Path, scratch: Path) -> Path:
    """Run the two commands of INSTALL.txt with the Python of a new environment, and return that Python."""
    venv.create(scratch / "env", with_pip=True)
    python = scratch / "env" / "bin" / "python"
    commands = [line.strip() for line in (folder / "INSTALL.txt").read_text().splitlines() if line.startswith("  ")][:2]
    assert commands[0].startswith("tar xf")
    assert "--no-index" in commands[1]
    for command in commands:
        run("sh", "-c", command.replace(f"python{VERSION}", str(python)), folder=folder)
    return python


COUNT = """
import tvm, workbench as wb
w = wb.samples.load("parallel_cast")
counted = wb.count(w, "llvm")
wb.Workbench(w)
wb.FusionInspector(w)
wb.GraphView(w.graph).save("view.html")
print(tvm.__version__, counted.calls)
"""


@pytest.mark.long  # downloads and compresses 300 MB
@pytest.mark.install
def test_a_small_wheelhouse_installs_relay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tell) -> None:
    # The bundle is the one that `make` built: npm must not change the checkout while other tests run.
    monkeypatch.setenv("TVM_WORKBENCH_NO_BUNDLE", "1")
    house = tmp_path / "house"
    make_wheelhouse(Wheelhouse(house, python=VERSION, small=True), quiet)
    size = sum(path.stat().st_size for path in house.iterdir())
    tell(f"wheelhouse for Relay, small: {size / 1e6:.1f} MB")
    assert size < LIMIT
    python = follow_instructions(house, tmp_path)
    assert run(python, "-c", COUNT, folder=tmp_path).split()[0].startswith("0.17")
    assert "with relay" in run(python, "-m", "workbench.cli", "doctor", folder=tmp_path)
    installed = run(python, "-m", "pip", "list", "--format=freeze", folder=tmp_path)
    assert not set(LEFT_OUT) & {line.partition("==")[0].lower() for line in installed.splitlines()}
    text = (house / "INSTALL.txt").read_text()
    assert all(name in text for name in LEFT_OUT)
    collected = run(python, "-m", "pytest", "--lane=device", "--collect-only", "-q", ROOT / "tests/device", folder=ROOT)
    assert re.search(r"\d+ tests? collected|\d+/\d+ tests collected", collected), collected
    command = [
        "-m",
        "workbench.cli",
        "install-relay",
        "--prefix",
        tmp_path / "relay",
        "--jupyter",
        tmp_path / "jupyter",
    ]
    assert "ready:" in run(python, *command, "--wheelhouse", house, folder=tmp_path)
    assert (tmp_path / "jupyter/share/jupyter/kernels/workbench-relay/kernel.json").is_file()
    assert "up to date" in run(python, *command, "--wheelhouse", house, folder=tmp_path)
    assert run(tmp_path / "relay/bin/python", "-c", COUNT, folder=tmp_path)


@pytest.mark.long
@pytest.mark.install
def test_a_wheelhouse_installs_relax(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_WORKBENCH_NO_BUNDLE", "1")
    monkeypatch.setattr(wheelhouse, "_FILTERS", [{"id": lzma.FILTER_LZMA2, "preset": 0}])  # it is read here, once
    house = tmp_path / "house"
    make_wheelhouse(Wheelhouse(house, "relax", VERSION), quiet)
    python = follow_instructions(house, tmp_path)
    assert run(python, "-c", COUNT, folder=tmp_path).split()[0].startswith("0.27")
    assert run(python, "-m", "pip", "check", folder=tmp_path).startswith("No broken requirements")
    assert "with relax" in run(python, "-m", "workbench.cli", "doctor", folder=tmp_path)
