"""Run notebooks and keep their outputs, so that they read well where nothing runs.

python tests/notebooks/store.py              all that are kept with their outputs
python tests/notebooks/store.py 14_fuse_ops  these
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import nbformat
from index import keep
from running import FOLDER, is_stored, picture_of, run


def store(path: Path) -> None:
    """Run one notebook, write it with its outputs, and its picture for the index."""
    with tempfile.TemporaryDirectory() as folder:
        notebook = run(path, Path(folder), keep=True)
    nbformat.write(notebook, path)
    keep(path.stem, picture_of(notebook))


def main(names: list[str]) -> None:
    """Store the named notebooks, or all that are stored."""
    paths = [FOLDER / f"{Path(name).stem}.ipynb" for name in names]
    for path in paths or [path for path in sorted(FOLDER.glob("*.ipynb")) if is_stored(path)]:
        begun = time.monotonic()
        store(path)
        print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB, {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
