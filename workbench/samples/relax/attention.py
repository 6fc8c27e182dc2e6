"""A quantised multi-head attention, from `split` to the last `transpose`, as a forum question gives it.

About 50 small operators that ought to be one kernel. The mask enters from outside the region that the split dominates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import relax

from workbench.samples.relax._build import Builder, constant


def build(batch: int = 1, seq: int = 32, heads: int = 4, head: int = 16) -> tuple[tvm.IRModule, dict[str, Any]]:
    """Build it."""
    b = Builder()
    hidden, rows = heads * head, batch * seq
    qkv = b.input("qkv", (3, rows, hidden), "int32")
    mask = b.input("input_mask", (batch, seq), "int32")

    def heads_of(part: relax.Expr, axes: tuple[int, int, int]) -> relax.Var:
        part = b.emit(relax.op.reshape(b.emit(relax.op.squeeze(part, axis=[0])), (batch, seq, heads, head)))
        part = b.emit(relax.op.reshape(b.emit(relax.op.permute_dims(part, [0, 2, 1, 3])), (batch * heads, seq, head)))
        return part if axes == (0, 1, 2) else b.emit(relax.op.permute_dims(part, list(axes)))

    def quantised(value: relax.Expr) -> relax.Var:
        value = b.emit(relax.op.round(b.emit(relax.op.multiply(value, constant(16.0)))))
        return b.emit(relax.op.astype(b.emit(relax.op.clip(value, -127, 127)), "int8"))

    with b.main():
        x = b.emit(relax.op.multiply(b.emit(relax.op.astype(qkv, "float32")), constant(0.000488281)))
        x = b.emit(relax.op.add(x, constant(b.normal("bias", (3, 1, hidden)))))
        parts = b.emit(relax.op.split(x, 3, axis=0))
        query, key, value = (b.emit(relax.TupleGetItem(parts, i)) for i in range(3))

        # matmul takes its right side as it is, where Relay's batch_matmul takes it transposed
        left, right = quantised(heads_of(query, (0, 1, 2))), quantised(heads_of(key, (0, 2, 1)))
        scores = b.emit(relax.op.matmul(left, right, out_dtype="int32"))
        scores = b.emit(relax.op.reshape(scores, (batch, heads, seq, seq)))
        scores = b.emit(relax.op.multiply(b.emit(relax.op.astype(scores, "float32")), constant(0.00390625)))
        scores = b.emit(relax.op.add(b.emit(relax.op.multiply(scores, constant(0.125))), _mask(b, mask, batch, seq)))
        softmax = b.emit(relax.op.nn.softmax(scores))
        weights = quantised(b.emit(relax.op.reshape(softmax, (batch * heads, seq, seq))))

        out = b.emit(relax.op.matmul(weights, quantised(heads_of(value, (0, 1, 2))), out_dtype="int32"))
        out = b.emit(relax.op.reshape(out, (batch, heads, seq, head)))
        b.result = b.emit(relax.op.reshape(b.emit(relax.op.permute_dims(out, [0, 2, 1, 3])), (rows, hidden)))
    return b.finish()


def _mask(b: Builder, mask: relax.Expr, batch: int, seq: int) -> relax.Var:
    """0 where a position may be attended to, -10000 where not."""
    mask = b.emit(relax.op.astype(b.emit(relax.op.reshape(mask, (batch, 1, seq))), "float32"))
    mask = b.emit(relax.op.multiply(constant(np.ones((batch, seq, 1), "float32")), mask))
    mask = b.emit(relax.op.expand_dims(mask, axis=1))
    return b.emit(relax.op.multiply(b.emit(relax.op.subtract(constant(1.0), mask)), constant(-10000.0)))
