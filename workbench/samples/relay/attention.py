"""A quantised multi-head attention, from `split` to the last `transpose`, as a forum question gives it.

About 50 small operators that ought to be one kernel. `dominates(split, wildcard, transpose)` never matches it, because the
mask enters from outside the region that the split dominates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import relay

from workbench.samples.relay._build import Builder, constant


def build(batch: int = 1, seq: int = 32, heads: int = 4, head: int = 16) -> tuple[tvm.IRModule, dict[str, Any]]:
    """Build for `batch` sequences of `seq` positions, `heads` heads of `head` values."""
    b = Builder()
    hidden, rows = heads * head, batch * seq
    qkv = relay.var("qkv", shape=(3, rows, hidden), dtype="int32")
    mask = relay.var("input_mask", shape=(batch, seq), dtype="int32")

    x = relay.multiply(relay.cast(qkv, "float32"), constant(0.000488281))
    x = relay.add(x, constant(b.normal("bias", (3, 1, hidden))))
    parts = relay.split(x, indices_or_sections=3)

    def heads_of(part: relay.Expr) -> relay.Expr:
        part = relay.reshape(relay.squeeze(part, axis=[0]), (batch, seq, heads, head))
        return relay.reshape(relay.transpose(part, (0, 2, 1, 3)), (batch * heads, seq, head))

    def quantised(value: relay.Expr) -> relay.Expr:
        value = relay.clip(relay.round(relay.multiply(value, constant(16.0))), -127, 127)
        return relay.cast(value, "int8")

    scores = relay.nn.batch_matmul(quantised(heads_of(parts[0])), quantised(heads_of(parts[1])), out_dtype="int32")
    scores = relay.reshape(scores, (batch, heads, seq, seq))
    scores = relay.multiply(relay.cast(scores, "float32"), constant(0.00390625))
    scores = relay.add(relay.multiply(scores, constant(0.125)), _mask(mask, batch, seq))
    weights = quantised(relay.reshape(relay.nn.softmax(scores), (batch * heads, seq, seq)))

    values = quantised(relay.transpose(heads_of(parts[2]), (0, 2, 1)))
    out = relay.reshape(relay.nn.batch_matmul(weights, values, out_dtype="int32"), (batch, heads, seq, head))
    return b.finish([qkv, mask], relay.reshape(relay.transpose(out, (0, 2, 1, 3)), (rows, hidden)))


def _mask(mask: relay.Expr, batch: int, seq: int) -> relay.Expr:
    """0 where a position may be attended to, -10000 where not."""
    mask = relay.cast(relay.reshape(mask, (batch, 1, seq)), "float32")
    mask = relay.multiply(constant(np.ones((batch, seq, 1), "float32")), mask)
    mask = relay.expand_dims(mask, axis=1)
    return relay.multiply(relay.subtract(constant(1.0), mask), constant(-10000.0))
