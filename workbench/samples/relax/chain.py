"""A straight chain of element-wise operators, as long as one likes."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from workbench.samples.relax._build import Builder


def build(length: int = 4, width: int = 8) -> tuple[tvm.IRModule, dict[str, Any]]:
    """Build it."""
    b = Builder()
    data = x = b.input("data", (1, width))
    with b.main():
        for i in range(length):
            x = b.emit(relax.op.nn.relu(x) if i % 2 else relax.op.add(x, data))
        b.result = x
    return b.finish()
