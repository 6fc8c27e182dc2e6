"""A workbench for the passes of a tensor compiler: view each pass's effect on a graph, change it, and measure the result.

A trace is a list of graphs; everything else is a view of it. The public names are those that `__init__.pyi` imports. Each is
imported on first use, so importing this module loads none of TVM, pandas, matplotlib or ipywidgets.
"""

from __future__ import annotations

import sys

from workbench import lazy, tvm_import

__version__ = "0.1.0"

sys.meta_path.insert(0, tvm_import.BeforeTVM())

_HOMES = lazy.homes(__file__)
"public name -> its module; of a public module, the package"

__all__ = ["__version__", *_HOMES]  # pyright: ignore[reportUnsupportedDunderAll]  the names of the stub


__getattr__ = lazy.getter(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
