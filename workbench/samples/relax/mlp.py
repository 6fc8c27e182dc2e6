"""Dense layers with bias and relu: the smallest model that has kernels worth fusing."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from workbench.samples.relax._build import Builder


def build(layers: int = 3, width: int = 32) -> tuple[tvm.IRModule, dict[str, Any]]:
    """Build it."""
    b = Builder()
    x = b.input("data", (1, width))
    with b.main():
        for i in range(layers):
            x = b.emit(relax.op.nn.relu(b.dense(x, f"fc{i}", width, width)))
        b.result = x
    return b.finish()
