"""Every received format, mutated: nothing ends or fills the process that reads it, runs anything, or raises a raw error.

The reader is in a process of its own (watch.py), which has the part of the notebook. `python watch.py NAME FIRST LAST` makes the
same inputs again by their numbers; a failure prints the first of them in base64.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from breadth import seeds

HERE = Path(__file__).parent
INPUTS = 500
MODELS = 80
"inputs of ONNX: a converter of TVM reads each, most of a second long"
PROGRAMS = 150
BUILT = 25
"hostile programs of a format, and of one that TVM reads"
SECONDS = 1500
WITHOUT_TVM = (
    *("graph JSON", "trace", "executor JSON", "parameters", "trial log", "store", "remarks", "tracker's answers"),
    "pasted Relay text",
)
HOSTILE_WITHOUT_TVM = ("graph JSON", "trace", "executor JSON", "pasted Relay text")
pytestmark = pytest.mark.long


def fuzzed(
    name: str, folder: Path, tell: Callable[[object], None], dialect: str = "", inputs: int = INPUTS
) -> dict[str, Any]:
    environment = os.environ | {"FUZZ_FOLDER": str(folder)}
    numbers = seeds(inputs)
    command = [sys.executable, str(HERE / "watch.py"), name, str(numbers.start), str(numbers.stop)]
    command += [] if dialect else ["--without-tvm"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["inputs"] == len(numbers)
    counts = {
        key: len(value) if isinstance(value, list) else value for key, value in found.items() if key != "examples"
    }
    tell(f"fuzz, {dialect} {name} from {numbers.start} on: ".replace(",  ", ", ") + _line(counts))
    return found


def _line(counts: dict[str, Any]) -> str:
    return (
        f"{counts['inputs']} inputs, {counts['accepted']} accepted, {counts['refused']} refused, {counts['wrong']} wrong errors, "
        f"{counts['ended']} ended processes, {counts['slow']} over 5 s, {counts['grown']} over 512 MB, {counts['ran']} ran something; "
        f"slowest {counts['slowest']:.2f} s, most memory {counts['most_mb']} MB"
    )


def check(found: dict[str, Any]) -> None:
    assert min(found["accepted"], found["refused"]) > 0, "mutations that are all refused, or none, show nothing"
    for fault in ("ended", "wrong", "slow", "grown", "ran"):
        assert not found[fault], found["examples"].get(fault, found[fault])


@pytest.mark.parametrize("name", WITHOUT_TVM)
def test_mutated_inputs_are_read_or_refused(name: str, tmp_path: Path, tell: Callable[[object], None]) -> None:
    check(fuzzed(name, tmp_path, tell))


def test_mutated_models_are_read_or_refused(dialect: str, tmp_path: Path, tell: Callable[[object], None]) -> None:
    check(fuzzed("ONNX", tmp_path, tell, dialect, MODELS))


@pytest.mark.parametrize("name", ["text", "module JSON"])
def test_mutated_programs_are_read_or_refused(
    name: str, dialect: str, tmp_path: Path, tell: Callable[[object], None]
) -> None:
    check(fuzzed(name, tmp_path, tell, dialect))


def check_hostile(found: dict[str, Any]) -> None:
    assert 2 * found["accepted"] > found["inputs"], "programs that are refused show little"
    check({**found, "refused": 1})


@pytest.mark.parametrize("name", HOSTILE_WITHOUT_TVM)
def test_hostile_programs_are_shown(name: str, tmp_path: Path, tell: Callable[[object], None]) -> None:
    check_hostile(fuzzed(f"hostile {name}", tmp_path, tell, inputs=PROGRAMS))


@pytest.mark.parametrize("name", ["text", "module JSON", "ONNX"])
def test_hostile_programs_are_shown_with_tvm(
    name: str, dialect: str, tmp_path: Path, tell: Callable[[object], None]
) -> None:
    called = name if name == "ONNX" else f"{dialect} {name}"
    check_hostile(fuzzed(f"hostile {called}", tmp_path, tell, dialect, BUILT))
