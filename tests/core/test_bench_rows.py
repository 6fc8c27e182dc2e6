"""A row that a benchmark could not measure is a row that says so; the others are kept."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.bar import read, table


def test_row_without_a_figure_is_reported() -> None:
    good = {"what": "a layout", "ours": 1.5, "unit": "ms", "peer": "dot", "peer_figure": 3.0, "bar": "2x", "met": True}
    bars = read(
        "\n".join(map(json.dumps, [good, {"what": "no figure", "unit": "ms"}, {**good, "ours": "1.5"}])) + "\nTVM"
    )
    assert [bar.met for bar in bars] == [True, False, False]
    assert bars[0].ratio == 0.5
    shown = table(bars).splitlines()
    assert len(shown) == 4
    assert all("failed" in line and "MISSED" in line for line in shown[2:])


def test_broken_line_does_not_end_the_run() -> None:
    (bar,) = read('{"what": "a layout", "ours": ')
    assert bar.met is False
