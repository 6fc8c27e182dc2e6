"""conv2d, bias_add, batch_norm, relu, as in VGG: after FoldScaleAxis two adds with constants follow the conv2d.

A question from TVM's forum asks how to fold the two into one: SimplifyExpr, then FoldConstant.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relay

from workbench.samples.relay._build import Builder


def build(blocks: int = 1, image: int = 32, channels: int = 16) -> tuple[tvm.IRModule, dict[str, Any]]:
    """Build `blocks` blocks on a square image."""
    b = Builder()
    data = relay.var("data", shape=(1, 3, image, image), dtype="float32")
    x = data
    for i in range(1, blocks + 1):
        x = _block(b, x, f"conv{i}", 3 if i == 1 else channels, channels)
    return b.finish([data], x)


def _block(b: Builder, x: relay.Expr, name: str, inputs: int, outputs: int) -> relay.Expr:
    weight = b.weight(f"{name}_weight", outputs, inputs, 3, 3)
    x = relay.nn.conv2d(x, weight, padding=(1, 1), channels=outputs, kernel_size=(3, 3))
    x = relay.nn.bias_add(x, b.weight(f"{name}_bias", outputs))
    gamma, beta = b.scale(f"{name}_gamma", outputs), b.weight(f"{name}_beta", outputs)
    mean, var = b.weight(f"{name}_mean", outputs), b.scale(f"{name}_var", outputs)
    return relay.nn.relu(relay.nn.batch_norm(x, gamma, beta, mean, var)[0])
