"""Three convolutions of one input, concatenated. TVM has no pass that merges them; `wb.passes` has CombineParallelConv2D."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from workbench.samples.relax._build import Builder


def build(count: int = 3, image: int = 16, channels: int = 8) -> tuple[tvm.IRModule, dict[str, Any]]:
    """Build it."""
    b = Builder()
    data = b.input("data", (1, 4, image, image))
    with b.main():
        branches = []
        for i in range(count):
            x = b.emit(relax.op.nn.conv2d(data, b.weight(f"weight{i}", channels, 4, 1, 1)))
            x = b.emit(relax.op.add(x, b.weight(f"bias{i}", channels, 1, 1)))
            branches.append(b.emit(relax.op.nn.relu(x)))
        b.result = b.emit(relax.op.concat(branches, axis=1))
    return b.finish()
