"""Without matplotlib the widgets load, and a plot gives one sentence: a small wheelhouse leaves matplotlib out."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import importlib.util, sys
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "matplotlib" else found(name, package)
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("matplotlib", "scipy"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Refuse())
import workbench as wb
assert all(hasattr(wb, name) for name in wb.__all__)
import pandas as pd
try:
    wb.plots.runtime(pd.DataFrame({"config": ["0"], "median_us": [1.0]}))
except wb.WorkbenchError as error:
    print(error)
"""


def test_only_plots_need_it() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "a plot needs matplotlib, which is not installed here: pip install matplotlib\n"
