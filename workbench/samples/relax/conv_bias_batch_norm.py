"""conv2d, bias, batch_norm, relu, as in VGG.

FoldBatchnormToConv2D wants the batch_norm right behind the conv2d, and here the bias stands between them; so Relax leaves
both adds where Relay's FoldScaleAxis, SimplifyExpr and FoldConstant make one of them.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from workbench.samples.relax._build import Builder


def build(blocks: int = 1, image: int = 32, channels: int = 16) -> tuple[tvm.IRModule, dict[str, Any]]:
    """Build it."""
    b = Builder()
    x = b.input("data", (1, 3, image, image))
    with b.main():
        for i in range(1, blocks + 1):
            x = _block(b, x, f"conv{i}", 3 if i == 1 else channels, channels)
        b.result = x
    return b.finish()


def _block(b: Builder, x: relax.Expr, name: str, inputs: int, outputs: int) -> relax.Var:
    x = b.emit(relax.op.nn.conv2d(x, b.weight(f"{name}_weight", outputs, inputs, 3, 3), padding=1))
    bias = b.emit(relax.op.reshape(b.weight(f"{name}_bias", outputs), (1, outputs, 1, 1)))
    x = b.batch_norm(b.emit(relax.op.add(x, bias)), name, outputs)
    return b.emit(relax.op.nn.relu(x))
