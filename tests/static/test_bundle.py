"""The bundle of the page is below its bar; the lane fails if it is not built."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.bundle import BUNDLE, MOST, compressed


def test_bundle_is_below_130_kb_with_gzip() -> None:
    assert BUNDLE.exists(), "There is no bundle. Run `make bundle`."
    size = compressed(BUNDLE.read_bytes())
    assert size < MOST == 130_000, f"{size:,} bytes with gzip"
