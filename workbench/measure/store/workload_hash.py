"""Which program a row was measured on: the same in every process, and the same again tomorrow."""

from __future__ import annotations

import hashlib
from typing import Any

from workbench.dialects.base import Workload


def workload_hash(workload: Workload) -> str:
    """A hash of the module's text, of the parameters' shapes and of the sizes it runs with; values of parameters and the workload's name don't count.

    Returns
    -------
    str
        16 hexadecimal digits.
    """
    given = sorted(f"{name} {_kind(value)}" for name, value in workload.params.items())
    sizes = [f"{name}={size}" for name, size in sorted(workload.shapes.items())]
    parts = [workload.dialect, workload.text(), *given, *sizes]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _kind(array: Any) -> str:
    """`(1, 64) float32`, of an array of numpy or of any TVM."""
    return f"{tuple(int(extent) for extent in array.shape)} {array.dtype}"
