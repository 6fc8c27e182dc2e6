"""conv2d, bias, batch_norm, relu, as in VGG, where two adds of constants could be one.

A question from TVM's forum. In Relay two adds follow the conv2d after FoldScaleAxis; SimplifyExpr, then FoldConstant,
merge them. In Relax FoldBatchnormToConv2D needs the batch_norm directly after the conv2d, and the bias is between them;
both adds stay.
"""

from __future__ import annotations

from workbench.samples._builder import Builder, Built, Value


def build(b: Builder, /, blocks: int = 1, image: int = 32, channels: int = 16) -> Built:
    """Build `blocks` blocks on a square image."""
    x = b.input("data", (1, 3, image, image))
    for i in range(1, blocks + 1):
        x = _block(b, x, f"conv{i}", 3 if i == 1 else channels, channels)
    return b.finish(x)


def _block(b: Builder, x: Value, name: str, inputs: int, outputs: int) -> Value:
    x = b.conv2d(x, b.weight(f"{name}_weight", outputs, inputs, 3, 3), padding=1)
    return b.relu(b.batch_norm(b.image_bias(x, f"{name}_bias", outputs), name, outputs))
