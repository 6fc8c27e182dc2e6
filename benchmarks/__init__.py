"""`make bench`: our figures beside a peer's in the same run, against the bars."""

import sys
from pathlib import Path

# the models, the browser and the JupyterLab of the tests are used here too; tests/ is not a package
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
