"""How far nodes move on the screen between consecutive steps of the samples' opt-3 pipelines: all nodes, not only those in view."""

from __future__ import annotations

import base64
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import workbench as wb
from benchmarks.bar import Bar, show
from workbench.widgets.payload import encode_diff, encode_graph

HERE = Path(__file__).parent
# The bar is on bert; the others are printed beside it.
SAMPLES = {"bert": 0.5, "parallel_cast": None, "resnet18": None}


def main() -> None:
    show(_bar(sample, limit) for sample, limit in SAMPLES.items())


def _bar(sample: str, limit: float | None) -> Bar:
    moves = _moves(sample)
    each = ", ".join(f"{move['name']} {move['all']:.2f}" for move in moves)
    near = max(move["near"] for move in moves)
    worst = max(move["all"] for move in moves)
    bar = "" if limit is None else f"under {limit:g} widths"
    met = None if limit is None else worst < limit
    what = f"{sample}: worst step's median move of all its nodes"
    return Bar(what, worst, "widths", bar=bar, met=met, note=f"{each}; in view at worst {near:.2f}")


def _moves(sample: str) -> list[dict[str, Any]]:
    view = wb.Workbench(wb.samples.load(sample), auto_measure=False)
    steps = [
        {
            "name": step.name,
            "before": _text(encode_graph(step.before)),
            "after": _text(encode_graph(step.after)),
            "diff": _text(encode_diff(step.diff, step.before, step.after)),
        }
        for step in view.trace.steps
        if step.changed
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "steps.json")
        file.write_text(json.dumps(steps))
        done = subprocess.run(
            ["node", HERE / "layout/steps.mjs", file], capture_output=True, text=True, check=True, timeout=120
        )
    return [json.loads(line) for line in done.stdout.splitlines()]


def _text(value: Any) -> Any:
    """Columns of bytes as base64, which the page's decoder reads as well."""
    if isinstance(value, dict):
        return {key: _text(item) for key, item in value.items()}
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


if __name__ == "__main__":
    main()
