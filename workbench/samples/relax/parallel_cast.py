"""Two branches that each cast the same int32 tensor to int8 (a question from TVM's forum: how to make them one).

EliminateCommonSubexpr merges the casts, and after it the two relus; Relax runs it only where a pipeline names it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import relax

from workbench.samples.relax._build import Builder, constant


def build(rows: int = 1, width: int = 16) -> tuple[tvm.IRModule, dict[str, Any]]:
    """Build it."""
    b = Builder()
    data = b.input("data", (rows, width))
    with b.main():
        wide = b.emit(relax.op.astype(data, "int32"))
        left = b.emit(relax.op.nn.relu(b.emit(relax.op.astype(wide, "int8"))))
        right = b.emit(relax.op.nn.relu(b.emit(relax.op.astype(wide, "int8"))))
        # the weights are constants, so their transpose is taken here rather than by a kernel
        left = b.emit(relax.op.matmul(left, constant(np.ascontiguousarray(b.int8("left", (width, width)).T), "int8")))
        right = b.emit(
            relax.op.matmul(right, constant(np.ascontiguousarray(b.int8("right", (width, width)).T), "int8"))
        )
        b.result = b.emit(relax.op.add(left, right))
    return b.finish()
