"""The project's notebooks: those that notebooks/README.md lists. A user's own may be in the folder too."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "notebooks"
INDEX = (FOLDER / "README.md").read_text(encoding="utf-8")
NAMES = re.findall(r"\*\*\[[^\]]+\]\((\w+)\.ipynb\)\*\*", INDEX)
PATHS = [FOLDER / f"{name}.ipynb" for name in NAMES]
