"""Run notebooks and keep their outputs, so that they read well where nothing runs.

python tests/notebooks/store.py              all
python tests/notebooks/store.py 14_fuse_ops  these
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import nbformat

sys.path.insert(0, str(Path(__file__).parents[1]))

from drawing import draw
from index import keep
from keeping import run_and_keep
from stored_notebooks import FOLDER, PATHS


def store(path: Path) -> None:
    """Run one notebook, write it with its outputs, and its picture for the index."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TVM_WORKBENCH_STORE"] = f"{folder}/store.sqlite"
        notebook = run_and_keep(path, Path(folder))
        draw(notebook, Path(folder))
    nbformat.write(notebook, path)
    keep(path.stem, notebook)


def main(names: list[str]) -> None:
    """Store the named notebooks, or all."""
    paths = [FOLDER / f"{Path(name).stem}.ipynb" for name in names]
    for path in paths or PATHS:
        begun = time.monotonic()
        store(path)
        print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB, {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
