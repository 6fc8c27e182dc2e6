"""A BERT encoder: self-attention and feed-forward layers with one mask that every layer reads."""

from __future__ import annotations

import math

from workbench.samples._builder import Builder, Built, Value


def build(b: Builder, /, layers: int = 12, hidden: int = 768, seq: int = 128, heads: int = 12) -> Built:
    """Build an encoder of `layers` layers."""
    x = b.input("data", (seq, hidden))
    mask = b.input("mask", (1, 1, seq))
    for i in range(layers):
        x = _layer(b, x, mask, f"layer_{i}", (hidden, seq, heads))
    return b.finish(x)


def _layer(b: Builder, x: Value, mask: Value, name: str, sizes: tuple[int, int, int]) -> Value:
    hidden, seq, heads = sizes
    head = hidden // heads

    def heads_of(part: str, axes: tuple[int, ...]) -> Value:
        projected = b.dense(x, f"{name}_{part}", hidden, hidden)
        return b.transpose(b.reshape(projected, (seq, heads, head)), axes)

    scores = b.batch_matmul(heads_of("query", (1, 0, 2)), heads_of("key", b.right_axes((1, 2, 0))))
    scores = b.add(b.multiply(scores, b.constant(1 / math.sqrt(head))), mask)
    context = b.batch_matmul(b.softmax(scores), heads_of("value", b.right_axes((1, 0, 2))))
    context = b.reshape(b.transpose(context, (1, 0, 2)), (seq, hidden))
    x = b.layer_norm(b.add(x, b.dense(context, f"{name}_output", hidden, hidden)), f"{name}_attention", hidden)

    inner = _gelu(b, b.dense(x, f"{name}_up", hidden, 4 * hidden))
    return b.layer_norm(b.add(x, b.dense(inner, f"{name}_down", 4 * hidden, hidden)), f"{name}_feed_forward", hidden)


def _gelu(b: Builder, x: Value) -> Value:
    half = b.multiply(x, b.constant(0.5))
    return b.multiply(half, b.add(b.erf(b.multiply(x, b.constant(math.sqrt(0.5)))), b.constant(1.0)))
