"""The report of models in both compilers: `python docs/two_compilers.py` builds, runs and races each, and writes the page.

It needs both environments and about ten minutes of an idle machine: on a busy one most races end with "too noisy".
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import workbench as wb
from workbench.debugging.compilers.result import CompilerPair
from workbench.debugging.compilers.side import CompilerSide
from workbench.errors import WorkbenchError
from workbench.measurement.verdict import NOISE
from workbench.wording import duration, size

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from compiler_models import MODELS  # noqa: E402  tests/ is no package of the project

PAGE = ROOT / "docs/explanation/two-compilers.md"
MARK = "<!-- python docs/two_compilers.py writes what follows -->\n"
SECONDS = 8.0
"of the race of a model; as long for its kernels one by one"
TRIES = 4
"of a race that is too noisy: the process that runs the first build again is another one each time"
ROWS = 3
"of a model's differences, those with the most time lost"


def main() -> None:
    """Write the page."""
    head = ("model", "kernels", "read and written", "peak of memory", "compiled in", "operations aligned exactly")
    rows, parts = [], []
    for name, make in MODELS.items():
        print(name, flush=True)
        pair = compared(make)
        rows.append((name, *figures(pair)))
        parts.append(f"## {name}\n\n{said(pair)}\n\n{differences(pair)}")
    text = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
    PAGE.write_text("\n".join([text + MARK, table(head, rows), *parts]), encoding="utf-8")


def compared(make: Callable[[], object]) -> CompilerPair:
    """Compare a model in both compilers, again if the race was too noisy."""
    for _ in range(TRIES):
        (pair,) = wb.compare_compilers(make(), budget=SECONDS).pairs
        if pair.race is None or pair.race.outcome.reason != NOISE:
            break
    return pair


def figures(pair: CompilerPair) -> Iterable[str]:
    """Return the figures of both sides, and the part of the operations that is aligned exactly."""
    left, right = pair.sides
    if left.optimized is None or right.optimized is None:
        return ("-",) * 5
    both = zip(*(_figures(side) for side in pair.sides), strict=True)
    return (*(" / ".join(each) for each in both), f"{pair.exact:.1%}")


def _figures(side: CompilerSide) -> tuple[str, ...]:
    assert side.kernels is not None
    assert side.memory is not None
    found = side.kernels
    return (
        str(found.calls),
        size(found.traffic_bytes),
        size(side.memory.peak_bytes),
        duration(1e6 * found.build_seconds),
    )


def said(pair: CompilerPair) -> str:
    """Return the checks of the outputs and the race in sentences, or the reason why a side has no build."""
    failed = [str(side) for side in pair.sides if side.kernels is None]
    race = f"not raced: {pair.unraced}" if pair.race is None else str(pair.race)
    return "\n".join(f"- {sentence}" for sentence in [*failed, *map(str, pair.checks), race])


def differences(pair: CompilerPair) -> str:
    """Return the first rows of the table of differences."""
    rows = [
        (", ".join(row.sources), row.relation, _time(row.us_left), _time(row.us_right), row.why)
        for row in pair.rows[:ROWS]
    ]
    return table(("nodes of the model", "relation", "Relay", "Relax", "why"), rows) if rows else ""


def _time(us: float | None) -> str:
    return "-" if us is None else duration(us)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table of Markdown."""
    head = list(head)
    lines = [head, ["---"] * len(head), *([text.replace("|", "\\|") for text in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    try:
        main()
    except WorkbenchError as error:
        sys.exit(str(error))
