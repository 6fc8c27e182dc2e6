"""install-relay: what it refuses, how it goes on after an interruption, and (long) the whole of it."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from workbench.cli import main
from workbench.environments import SetupError
from workbench.environments.relay import MARKER, Machine, Request, install_relay

DEBIAN = Machine("Linux", "x86_64", ("glibc", "2.36"), (3, 11))
ROOT = Path(__file__).parents[1]


def quiet(line: str) -> None:
    pass


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "workbench.cli", "install-relay", *map(str, arguments)]


@pytest.fixture
def offline(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("TVM_WORKBENCH_CACHE", str(tmp_path / "cache"))


def test_an_unsupported_machine_is_refused_before_anything_is_made(tmp_path):
    with pytest.raises(SetupError, match="Linux x86-64 only"):
        install_relay(Request(tmp_path / "relay"), quiet, replace(DEBIAN, architecture="aarch64"))
    assert not (tmp_path / "relay").exists()


def test_where_it_can_not_run_it_may_be_left_out(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    arguments = ["install-relay", "--prefix", str(tmp_path / "relay")]
    assert main(arguments) == 1
    assert main([*arguments, "--if-supported"]) == 0
    assert "left out: The Relay build of TVM runs on Linux x86-64 only" in capsys.readouterr().out


def test_a_folder_that_is_not_ours_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(SetupError, match="name an empty folder with --prefix"):
        install_relay(Request(tmp_path), quiet, DEBIAN)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_an_error_is_one_sentence_and_status_1(tmp_path, capsys):
    (tmp_path / "thesis.tex").write_text("years of work")
    assert main(["install-relay", "--prefix", str(tmp_path)]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("tvm-workbench: ")
    assert captured.err.count("\n") == 1


@pytest.mark.long
@pytest.mark.install
@pytest.mark.skipif(sys.platform != "linux", reason="the Relay build is for Linux")
@pytest.mark.usefixtures("offline")
def test_killed_and_run_again_it_starts_over(tmp_path):
    prefix = tmp_path / "relay"
    # A session of its own, so that its children (venv, pip) are killed with it.
    first = subprocess.Popen(
        command("--prefix", prefix), stdout=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True
    )
    assert first.stdout is not None
    assert "making a virtual environment" in first.stdout.readline()
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    assert json.loads((prefix / MARKER).read_text())["state"] == "unfinished"
    (prefix / "left over").write_text("from the first try")
    with pytest.raises(
        SetupError, match="check the network"
    ):  # past the virtual environment, as far as one gets offline
        install_relay(Request(prefix, jupyter=tmp_path), quiet)
    assert (prefix / "bin" / "python").exists()
    assert not (prefix / "left over").exists()


@pytest.mark.long  # makes a whole environment; `make setup` makes the one with nvrtc
@pytest.mark.install
def test_made_once_and_then_left_alone(tmp_path):
    prefix, jupyter = tmp_path / "relay", tmp_path / "jupyter"
    lines: list[str] = []
    python = install_relay(Request(prefix, nvrtc=False, jupyter=jupyter), lines.append)
    assert "checking that it works" in lines
    kernel = json.loads((jupyter / "share/jupyter/kernels/workbench-relay/kernel.json").read_text())
    assert kernel["argv"][0] == str(python)
    nvidia = {path.name for path in prefix.glob("lib/python3*/site-packages/nvidia/*")}
    assert "cuda_nvrtc" not in nvidia
    before = (prefix / MARKER).stat().st_mtime_ns
    lines.clear()
    install_relay(Request(prefix, nvrtc=False, jupyter=jupyter), lines.append)
    assert lines == [f"{prefix} is up to date"]
    assert (prefix / MARKER).stat().st_mtime_ns == before


IN_A_CLEAN_PROCESS = """
import tvm
from tvm import relay
assert not tvm.cuda(0).exist
try:
    tvm.nd.array([1.0], tvm.cuda(0))
except tvm.TVMError as error:
    print(str(error).splitlines()[-1])
"""


@pytest.mark.relay
def test_tvm_is_imported_with_no_environment_variable():
    """And without a driver CUDA is a Python error, not the end of the process."""
    found = subprocess.run(
        [sys.executable, "-c", IN_A_CLEAN_PROCESS], env={}, capture_output=True, text=True, check=True, cwd="/"
    )
    assert "CUDA" in found.stdout
