"""Read mutations of one format in a process that is watched: `python watch.py NAME FIRST LAST` prints the outcome as JSON.

This process imports the reader once and forks; the fork stands in the place of the notebook. When it ends, hangs or takes much
memory, the input at fault is noted and another fork goes on after it. An input is made from its number alone.
"""

from __future__ import annotations

import base64
import json
import os
import resource
import select
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, NoReturn

HANG_SECONDS = 60.0
SLOW_SECONDS = 5.0
GROWTH_MB = 512
ADDRESS_SPACE = 12 << 30
RUNS_CODE = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "subprocess.Popen", "pickle.find_class")
"audit events of Python that show that something received runs"
BAD_SEED = 97
"what a process ends with whose seeds cannot be read; reading them also imports what is not to be measured"
KEPT = 12
"faults that are written out"


def main(name: str, first: int, last: int) -> dict[str, Any]:
    # what the other tests share
    sys.path.append(str(Path(__file__).parents[1]))
    from formats import FORMATS

    format = FORMATS[name]
    seeds = format.seeds()
    found = _nothing_yet()
    at = first
    while at < last:
        at = _follow(_forked(format, seeds, at, last), found, at, last)
    found["slow"] = [number for number in found["slow"] if _still_slow(format, seeds, number)]
    found["examples"] = {
        kind: [
            (number, said, base64.b64encode(made(format, seeds, number)).decode())
            for number, said in found[kind][:KEPT]
        ]
        for kind in ("wrong", "ended", "ran", "grown")
    }
    return found


def _nothing_yet() -> dict[str, Any]:
    faults = {kind: [] for kind in ("wrong", "ended", "slow", "grown", "ran")}
    return {"inputs": 0, "accepted": 0, "refused": 0, **faults, "slowest": 0.0, "most_mb": 0}


def made(format: Any, seeds: list[bytes], number: int) -> bytes:
    return format.mutate(Random(number), seeds)


def _forked(format: Any, seeds: list[bytes], first: int, last: int) -> tuple[int, int]:
    """A process that reads the inputs, and the end of a pipe on which it reports each."""
    back, out = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(back)
        _read_all(format, seeds, first, last, out)
    os.close(out)
    return process, back


def _read_all(format: Any, seeds: list[bytes], first: int, last: int, out: int) -> NoReturn:
    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    silent = os.open(os.devnull, os.O_RDWR)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    ran = _listen()
    if any(_outcome(format, seed) != "accepted" for seed in seeds):
        os._exit(BAD_SEED)
    for number in range(first, last):
        data = made(format, seeds, number)
        ran.clear()
        before, began = _peak_mb(), _processor_seconds()
        outcome = _outcome(format, data)
        report = {
            "seconds": _processor_seconds() - began,
            "mb": _peak_mb() - before,
            "ran": ran[:3],
            "outcome": outcome,
        }
        os.write(out, json.dumps(report).encode() + b"\n")
    os._exit(0)


def _listen() -> list[str]:
    ran: list[str] = []

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in RUNS_CODE and "workbench" not in str(arguments):
            ran.append(f"{event} {arguments}"[:200])

    sys.addaudithook(hook)
    return ran


def _outcome(format: Any, data: bytes) -> str:
    from workbench.errors import WorkbenchError

    try:
        format.read(data)
    except WorkbenchError as error:
        said = str(error)
        return "refused" if len(said) < 2000 else f"a message of {len(said)} characters: {said[:60]}"
    except BaseException as error:  # noqa: BLE001  anything else is what is looked for
        frames = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
        return f"{type(error).__name__}: {str(error)[:100]} at {' '.join(frames[-6:])}"
    return "accepted"


def _processor_seconds() -> float:
    """Return the processor time of this process and of all that it started, which other work on the machine does not change."""
    parents: dict[int, int] = {}
    spent: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            values = (folder / "stat").read_text().rpartition(")")[2].split()
            parents[int(folder.name)], spent[int(folder.name)] = int(values[1]), sum(map(int, values[11:15]))
    mine = [os.getpid()]
    for process in mine:
        mine += [child for child, parent in parents.items() if parent == process]
    return sum(spent[process] for process in mine) / os.sysconf("SC_CLK_TCK")


def _peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def _follow(process: tuple[int, int], found: dict[str, Any], at: int, last: int) -> int:
    """Note the reports of a fork until it ends; the number of the input to go on with."""
    pid, back = process
    hung = False
    with os.fdopen(back, "rb", buffering=0) as reports:
        rest = b""
        while True:
            if not select.select([reports], [], [], HANG_SECONDS)[0]:
                hung = True
                break
            part = reports.read(65536)
            if not part:
                break
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                _note(json.loads(line), found, at)
                at += 1
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) != BAD_SEED, "a seed cannot be read"
    if at < last:
        found["inputs"] += 1
        found["ended"].append(
            (at, "it hung" if hung else f"signal {os.WTERMSIG(status)}, status {os.WEXITSTATUS(status)}")
        )
        at += 1
    return at


def _note(report: dict[str, Any], found: dict[str, Any], at: int) -> None:
    found["inputs"] += 1
    found["slowest"] = max(found["slowest"], report["seconds"])
    found["most_mb"] = max(found["most_mb"], report["mb"])
    if report["outcome"] in ("accepted", "refused"):
        found[report["outcome"]] += 1
    else:
        found["wrong"].append((at, report["outcome"]))
    if report["seconds"] > SLOW_SECONDS:
        found["slow"].append(at)
    if report["mb"] > GROWTH_MB:
        found["grown"].append((at, f"{report['mb']} MB"))
    if report["ran"]:
        found["ran"].append((at, str(report["ran"])))


def _still_slow(format: Any, seeds: list[bytes], number: int) -> bool:
    """Return whether an input is slow each time: the machine may have been busy."""
    for _ in range(2):
        found = _nothing_yet()
        _follow(_forked(format, seeds, number, number + 1), found, number, number + 1)
        if not found["slow"]:
            return False
    return True


class NoTVM:
    """Importing TVM fails as it does where none is installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.split(".")[0] == "tvm":
            raise ModuleNotFoundError("No module named 'tvm'", name=name)


if __name__ == "__main__":
    if "--without-tvm" in sys.argv:
        sys.meta_path.insert(0, NoTVM())  # pyright: ignore[reportArgumentType]
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
