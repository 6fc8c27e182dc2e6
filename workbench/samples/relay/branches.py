"""Three convolutions of one input, concatenated: what CombineParallelConv2D is for."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relay

from workbench.samples.relay._build import Builder


def build(count: int = 3, image: int = 16, channels: int = 8) -> tuple[tvm.IRModule, dict[str, Any]]:
    """Build `count` convolutions of one image."""
    b = Builder()
    data = relay.var("data", shape=(1, 4, image, image), dtype="float32")
    branches = []
    for i in range(count):
        x = relay.nn.conv2d(data, b.weight(f"weight{i}", channels, 4, 1, 1), channels=channels, kernel_size=(1, 1))
        branches.append(relay.nn.relu(relay.add(x, b.weight(f"bias{i}", channels, 1, 1))))
    return b.finish([data], relay.concatenate(branches, axis=1))
