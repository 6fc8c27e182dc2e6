"""ResNet-18 for small images: conv2d, batch_norm and relu with residual adds."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relay

from workbench.samples.relay._build import Builder


def build(image: int = 32, classes: int = 10, width: int = 64) -> tuple[tvm.IRModule, dict[str, Any]]:
    """Build for a square image; `width` is the channels of the first stage."""
    b = Builder()
    data = relay.var("data", shape=(1, 3, image, image), dtype="float32")
    x = _conv_norm_relu(b, data, "stem", 3, width, stride=1)
    inputs = width
    for stage in range(4):
        outputs = width * 2**stage
        for block in range(2):
            stride = 2 if stage > 0 and block == 0 else 1
            x = _residual(b, x, f"stage{stage}_block{block}", inputs, outputs, stride)
            inputs = outputs
    x = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(x))
    x = relay.nn.bias_add(relay.nn.dense(x, b.weight("fc_weight", classes, inputs)), b.weight("fc_bias", classes))
    return b.finish([data], relay.nn.softmax(x))


def _residual(b: Builder, x: relay.Expr, name: str, inputs: int, outputs: int, stride: int) -> relay.Expr:
    y = _conv_norm_relu(b, x, f"{name}_1", inputs, outputs, stride)
    y = _norm(b, _conv(b, y, f"{name}_2", outputs, outputs, 3, 1), f"{name}_2", outputs)
    if stride != 1 or inputs != outputs:
        x = _norm(b, _conv(b, x, f"{name}_skip", inputs, outputs, 1, stride), f"{name}_skip", outputs)
    return relay.nn.relu(relay.add(y, x))


def _conv_norm_relu(b: Builder, x: relay.Expr, name: str, inputs: int, outputs: int, stride: int) -> relay.Expr:
    return relay.nn.relu(_norm(b, _conv(b, x, name, inputs, outputs, 3, stride), name, outputs))


def _conv(b: Builder, x: relay.Expr, name: str, inputs: int, outputs: int, kernel: int, stride: int) -> relay.Expr:
    weight = b.weight(f"{name}_weight", outputs, inputs, kernel, kernel)
    pad = kernel // 2
    return relay.nn.conv2d(
        x, weight, strides=(stride, stride), padding=(pad, pad), channels=outputs, kernel_size=(kernel, kernel)
    )


def _norm(b: Builder, x: relay.Expr, name: str, channels: int) -> relay.Expr:
    gamma, beta = b.scale(f"{name}_gamma", channels), b.weight(f"{name}_beta", channels)
    mean, var = b.weight(f"{name}_mean", channels), b.scale(f"{name}_var", channels)
    return relay.nn.batch_norm(x, gamma, beta, mean, var)[0]
