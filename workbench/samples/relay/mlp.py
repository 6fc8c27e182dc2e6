"""Dense layers with bias and relu: the smallest model that has kernels worth fusing."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relay

from workbench.samples.relay._build import Builder


def build(layers: int = 3, width: int = 32) -> tuple[tvm.IRModule, dict[str, Any]]:
    """Build `layers` square layers."""
    b = Builder()
    data = relay.var("data", shape=(1, width), dtype="float32")
    x = data
    for i in range(layers):
        x = relay.nn.dense(x, b.weight(f"fc{i}_weight", width, width))
        x = relay.nn.relu(relay.nn.bias_add(x, b.weight(f"fc{i}_bias", width)))
    return b.finish([data], x)
