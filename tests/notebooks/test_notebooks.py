"""Every notebook runs from top to bottom in its own kernel, and its last cell asserts its claims."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from breadth import breadth
from running import MEASURED, client_of, code_of, texts_of
from stored_notebooks import PATHS

QUICK = (2, 11, 14, 41)
"numbers of some notebooks that measure little: fusion, functions, kernels, Relax; the rest is long, and 00 runs in the browser lane"
RUN = breadth(PATHS, *(path for path in PATHS if int(path.stem[:2]) in QUICK))


@pytest.mark.parametrize("path", RUN, ids=lambda path: path.stem)
def test_it_runs_and_its_claim_holds(path: Path, tmp_path: Path) -> None:
    stored, ran = nbformat.read(path, as_version=4), client_of(path, tmp_path).execute()
    for kept, made in zip(code_of(stored), code_of(ran), strict=True):
        if MEASURED not in kept.metadata.get("tags", []):
            assert texts_of(kept) == texts_of(made), "its outputs are not today's: run tests/notebooks/store.py"
