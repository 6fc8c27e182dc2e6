"""A BERT encoder: self-attention and feed-forward layers with one mask that every layer reads."""

from __future__ import annotations

import math
from typing import Any

import tvm
from tvm import relay

from workbench.samples.relay._build import Builder, constant


def build(layers: int = 12, hidden: int = 768, seq: int = 128, heads: int = 12) -> tuple[tvm.IRModule, dict[str, Any]]:
    """Build an encoder of `layers` layers."""
    b = Builder()
    data = relay.var("data", shape=(seq, hidden), dtype="float32")
    mask = relay.var("mask", shape=(1, 1, seq), dtype="float32")
    x = data
    for i in range(layers):
        x = _layer(b, x, mask, f"layer_{i}", hidden, seq, heads)
    return b.finish([data, mask], x)


def _layer(b: Builder, x: relay.Expr, mask: relay.Expr, name: str, hidden: int, seq: int, heads: int) -> relay.Expr:
    head = hidden // heads

    def heads_of(part: str, axes: tuple[int, int, int]) -> relay.Expr:
        projected = _dense(b, x, f"{name}_{part}", hidden, hidden)
        return relay.transpose(relay.reshape(projected, (seq, heads, head)), axes)

    scores = relay.nn.batch_matmul(heads_of("query", (1, 0, 2)), heads_of("key", (1, 0, 2)))
    scores = relay.add(relay.multiply(scores, constant(1 / math.sqrt(head))), mask)
    context = relay.nn.batch_matmul(relay.nn.softmax(scores), heads_of("value", (1, 2, 0)))
    context = relay.reshape(relay.transpose(context, (1, 0, 2)), (seq, hidden))
    x = _norm(b, relay.add(x, _dense(b, context, f"{name}_output", hidden, hidden)), f"{name}_attention", hidden)

    inner = _gelu(_dense(b, x, f"{name}_up", hidden, 4 * hidden))
    return _norm(b, relay.add(x, _dense(b, inner, f"{name}_down", 4 * hidden, hidden)), f"{name}_feed_forward", hidden)


def _dense(b: Builder, x: relay.Expr, name: str, inputs: int, outputs: int) -> relay.Expr:
    return relay.nn.bias_add(
        relay.nn.dense(x, b.weight(f"{name}_weight", outputs, inputs)), b.weight(f"{name}_bias", outputs)
    )


def _norm(b: Builder, x: relay.Expr, name: str, hidden: int) -> relay.Expr:
    return relay.nn.layer_norm(x, b.scale(f"{name}_gamma", hidden), b.weight(f"{name}_beta", hidden))


def _gelu(x: relay.Expr) -> relay.Expr:
    return relay.multiply(
        relay.multiply(x, constant(0.5)),
        relay.add(relay.erf(relay.multiply(x, constant(math.sqrt(0.5)))), constant(1.0)),
    )
