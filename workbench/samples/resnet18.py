"""ResNet-18 for small images: conv2d, batch_norm and relu with residual adds."""

from __future__ import annotations

from workbench.samples._builder import Builder, Built, Value


def build(b: Builder, /, image: int = 32, classes: int = 10, width: int = 64) -> Built:
    """Build for a square image; `width` is the channels of the first stage."""
    x = _conv_norm_relu(b, b.input("data", (1, 3, image, image)), "stem", 3, width, stride=1)
    inputs = width
    for stage in range(4):
        outputs = width * 2**stage
        for block in range(2):
            stride = 2 if stage > 0 and block == 0 else 1
            x = _residual(b, x, f"stage{stage}_block{block}", inputs, outputs, stride)
            inputs = outputs
    return b.finish(b.softmax(b.dense(b.average_pool(x, inputs), "fc", inputs, classes)))


def _residual(b: Builder, x: Value, name: str, inputs: int, outputs: int, stride: int) -> Value:
    y = _conv_norm_relu(b, x, f"{name}_1", inputs, outputs, stride)
    y = b.batch_norm(_conv(b, y, f"{name}_2", outputs, outputs, 3, 1), f"{name}_2", outputs)
    if stride != 1 or inputs != outputs:
        x = b.batch_norm(_conv(b, x, f"{name}_skip", inputs, outputs, 1, stride), f"{name}_skip", outputs)
    return b.relu(b.add(y, x))


def _conv_norm_relu(b: Builder, x: Value, name: str, inputs: int, outputs: int, stride: int) -> Value:
    return b.relu(b.batch_norm(_conv(b, x, name, inputs, outputs, 3, stride), name, outputs))


def _conv(b: Builder, x: Value, name: str, inputs: int, outputs: int, kernel: int, stride: int) -> Value:
    return b.conv2d(x, b.weight(f"{name}_weight", outputs, inputs, kernel, kernel), stride, kernel // 2)
