"""Testing a pass, in a notebook (`wb.try_pass`) and in a package's own tests.

Each public name is imported on first use: pytest imports the package for `plugin`, which needs none of them.

Examples
--------
>>> from workbench.testing import assert_pass, program
>>> len(program(1, dialect="relax", operators=4).graph.ops) > 0
True
"""

from __future__ import annotations

from workbench import lazy

_HOMES = lazy.homes(__file__)

__all__ = [*_HOMES]  # pyright: ignore[reportUnsupportedDunderAll]  the names of the stub


__getattr__ = lazy.getter(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
