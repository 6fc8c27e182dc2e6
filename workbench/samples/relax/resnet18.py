"""ResNet-18 for small images: conv2d, batch_norm and relu with residual adds."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from workbench.samples.relax._build import Builder


def build(image: int = 32, classes: int = 10, width: int = 64) -> tuple[tvm.IRModule, dict[str, Any]]:
    """Build it."""
    b = Builder()
    data = b.input("data", (1, 3, image, image))
    with b.main():
        x = _conv_norm_relu(b, data, "stem", 3, width, stride=1)
        inputs = width
        for stage in range(4):
            outputs = width * 2**stage
            for block in range(2):
                stride = 2 if stage > 0 and block == 0 else 1
                x = _residual(b, x, f"stage{stage}_block{block}", inputs, outputs, stride)
                inputs = outputs
        x = b.emit(relax.op.nn.adaptive_avg_pool2d(x, 1))
        x = b.dense(b.emit(relax.op.reshape(x, (1, inputs))), "fc", inputs, classes)
        b.result = b.emit(relax.op.nn.softmax(x))
    return b.finish()


def _residual(b: Builder, x: relax.Expr, name: str, inputs: int, outputs: int, stride: int) -> relax.Var:
    y = _conv_norm_relu(b, x, f"{name}_1", inputs, outputs, stride)
    y = b.batch_norm(_conv(b, y, f"{name}_2", outputs, outputs, 3, 1), f"{name}_2", outputs)
    if stride != 1 or inputs != outputs:
        x = b.batch_norm(_conv(b, x, f"{name}_skip", inputs, outputs, 1, stride), f"{name}_skip", outputs)
    return b.emit(relax.op.nn.relu(b.emit(relax.op.add(y, x))))


def _conv_norm_relu(b: Builder, x: relax.Expr, name: str, inputs: int, outputs: int, stride: int) -> relax.Var:
    convolved = _conv(b, x, name, inputs, outputs, 3, stride)
    return b.emit(relax.op.nn.relu(b.batch_norm(convolved, name, outputs)))


def _conv(b: Builder, x: relax.Expr, name: str, inputs: int, outputs: int, kernel: int, stride: int) -> relax.Var:
    weight = b.weight(f"{name}_weight", outputs, inputs, kernel, kernel)
    return b.emit(relax.op.nn.conv2d(x, weight, strides=stride, padding=kernel // 2))
