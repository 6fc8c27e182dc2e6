"""A straight chain of element-wise operators, as long as one likes."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relay

from workbench.samples.relay._build import Builder


def build(length: int = 4, width: int = 8) -> tuple[tvm.IRModule, dict[str, Any]]:
    """Build a chain of `length` operators."""
    data = relay.var("data", shape=(1, width), dtype="float32")
    x = data
    for i in range(length):
        x = relay.nn.relu(x) if i % 2 else relay.add(x, data)
    return Builder().finish([data], x)
