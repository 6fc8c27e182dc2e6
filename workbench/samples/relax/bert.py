"""A BERT encoder: self-attention and feed-forward layers with one mask that every layer reads."""

from __future__ import annotations

import math
from typing import Any

import tvm
from tvm import relax

from workbench.samples.relax._build import Builder, constant


def build(layers: int = 12, hidden: int = 768, seq: int = 128, heads: int = 12) -> tuple[tvm.IRModule, dict[str, Any]]:
    """Build it."""
    b = Builder()
    x = b.input("data", (seq, hidden))
    mask = b.input("mask", (1, 1, seq))
    with b.main():
        for i in range(layers):
            x = _layer(b, x, mask, f"layer_{i}", hidden, seq, heads)
        b.result = x
    return b.finish()


def _layer(b: Builder, x: relax.Expr, mask: relax.Expr, name: str, hidden: int, seq: int, heads: int) -> relax.Var:
    head = hidden // heads

    def heads_of(part: str, axes: list[int]) -> relax.Var:
        projected = b.dense(x, f"{name}_{part}", hidden, hidden)
        return b.emit(relax.op.permute_dims(b.emit(relax.op.reshape(projected, (seq, heads, head))), axes))

    scores = b.emit(relax.op.matmul(heads_of("query", [1, 0, 2]), heads_of("key", [1, 2, 0])))
    scores = b.emit(relax.op.add(b.emit(relax.op.multiply(scores, constant(1 / math.sqrt(head)))), mask))
    context = b.emit(relax.op.matmul(b.emit(relax.op.nn.softmax(scores)), heads_of("value", [1, 0, 2])))
    context = b.emit(relax.op.reshape(b.emit(relax.op.permute_dims(context, [1, 0, 2])), (seq, hidden)))
    attended = b.emit(relax.op.add(x, b.dense(context, f"{name}_output", hidden, hidden)))
    x = _norm(b, attended, f"{name}_attention", hidden)

    inner = _gelu(b, b.dense(x, f"{name}_up", hidden, 4 * hidden))
    fed = b.emit(relax.op.add(x, b.dense(inner, f"{name}_down", 4 * hidden, hidden)))
    return _norm(b, fed, f"{name}_feed_forward", hidden)


def _norm(b: Builder, x: relax.Expr, name: str, hidden: int) -> relax.Var:
    gamma, beta = b.scale(f"{name}_gamma", hidden), b.weight(f"{name}_beta", hidden)
    return b.emit(relax.op.nn.layer_norm(x, gamma, beta, axes=[-1]))


def _gelu(b: Builder, x: relax.Expr) -> relax.Var:
    half = b.emit(relax.op.multiply(x, constant(0.5)))
    erf = b.emit(relax.op.erf(b.emit(relax.op.multiply(x, constant(math.sqrt(0.5))))))
    return b.emit(relax.op.multiply(half, b.emit(relax.op.add(erf, constant(1.0)))))
