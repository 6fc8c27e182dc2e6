"""The wait and the download before the first picture: the import and the wheel."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.bar import Bar, show

ROOT = Path(__file__).parents[1]
HEAVY = ("tvm", "pandas", "matplotlib", "ipywidgets", "anywidget", "numpy")


def import_seconds(statement: str, repeats: int = 11) -> float:
    """Median seconds of a statement in fresh processes, the interpreter's own start taken off by timing inside."""
    program = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    runs = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        for _ in range(repeats)
    ]
    return statistics.median(float(run.stdout) for run in runs)


def loaded() -> list[str]:
    program = f"import json, sys, workbench; print(json.dumps([m for m in {HEAVY} if m in sys.modules]))"
    return json.loads(
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    )


def wheel_bytes() -> int:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, "."]
        # the bundle stands in the checkout already
        subprocess.run(
            command, cwd=ROOT, check=True, capture_output=True, env={**os.environ, "TVM_WORKBENCH_NO_BUNDLE": "1"}
        )
        return next(Path(folder).glob("*.whl")).stat().st_size


def rows() -> Iterator[Bar]:
    ours, peer = import_seconds("import workbench"), import_seconds("import ipywidgets")
    yield Bar("import workbench", ours * 1e3, "ms", "import ipywidgets", peer * 1e3, "under 150 ms", ours < 0.15)
    heavy = loaded()
    yield Bar("heavy modules it loads", len(heavy), "", bar="none", met=not heavy, note=", ".join(heavy))
    wheel = wheel_bytes()
    yield Bar("wheel", wheel / 1e6, "MB", bar="under 1 MB", met=wheel < 1e6)


if __name__ == "__main__":
    show(rows())
