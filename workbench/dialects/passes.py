"""`wb.passes`: what a pipeline of a dialect can name."""

from __future__ import annotations

from workbench.dialects.base import PassInfo
from workbench.dialects.parts import dialect, installed
from workbench.errors import WorkbenchError


def passes(name: str | None = None) -> list[PassInfo]:
    """The passes of a dialect, by default the one that this environment's TVM runs."""
    found = name or installed()
    if found is None:
        raise WorkbenchError(
            "there is no TVM in this environment; `pip install tvm-workbench[relax]`, or use the Relay kernel"
        )
    return list(dialect(found).passes())
