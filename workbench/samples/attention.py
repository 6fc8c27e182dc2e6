"""A quantised multi-head attention, from `split` to the last `transpose`, from a forum question.

About 50 small operators that should be one kernel. `dominates(split, wildcard, transpose)` never matches it, because
the mask enters from outside the region that the split dominates.
"""

from __future__ import annotations

import numpy as np

from workbench.samples._builder import Builder, Built, Value


def build(b: Builder, /, batch: int = 1, seq: int = 32, heads: int = 4, head: int = 16) -> Built:
    """Build for `batch` sequences of `seq` positions, `heads` heads of `head` values."""
    hidden, rows = heads * head, batch * seq
    qkv = b.input("qkv", (3, rows, hidden), "int32")
    mask = b.input("input_mask", (batch, seq), "int32")

    def heads_of(part: Value, axes: tuple[int, ...] = (0, 1, 2)) -> Value:
        part = b.reshape(b.squeeze(part, 0), (batch, seq, heads, head))
        part = b.reshape(b.transpose(part, (0, 2, 1, 3)), (batch * heads, seq, head))
        return part if axes == (0, 1, 2) else b.transpose(part, axes)

    def quantised(value: Value) -> Value:
        return b.cast(b.clip(b.round(b.multiply(value, b.constant(16.0))), -127, 127), "int8")

    x = b.multiply(b.cast(qkv, "float32"), b.constant(0.000488281))
    x = b.add(x, b.constant(b.normal("bias", (3, 1, hidden))))
    query, key, value = b.split(x, 3)
    left, right = quantised(heads_of(query)), quantised(heads_of(key, b.right_axes((0, 2, 1))))
    scores = b.reshape(b.batch_matmul(left, right, "int32"), (batch, heads, seq, seq))
    scores = b.multiply(b.cast(scores, "float32"), b.constant(0.00390625))
    scores = b.add(b.multiply(scores, b.constant(0.125)), _mask(b, mask, batch, seq))
    weights = quantised(b.reshape(b.softmax(scores), (batch * heads, seq, seq)))

    out = b.batch_matmul(weights, quantised(heads_of(value, b.right_axes((0, 1, 2)))), "int32")
    out = b.reshape(out, (batch, heads, seq, head))
    return b.finish(b.reshape(b.transpose(out, (0, 2, 1, 3)), (rows, hidden)))


def _mask(b: Builder, mask: Value, batch: int, seq: int) -> Value:
    """Return 0 where a position may be attended to, -10000 elsewhere."""
    mask = b.cast(b.reshape(mask, (batch, 1, seq)), "float32")
    mask = b.expand_dims(b.multiply(b.constant(np.ones((batch, seq, 1), "float32")), mask), axis=1)
    return b.multiply(b.subtract(b.constant(1.0), mask), b.constant(-10000.0))
