"""Dense layers with bias and relu: the smallest model that has kernels worth fusing."""

from __future__ import annotations

from workbench.samples._builder import Builder, Built


def build(b: Builder, /, layers: int = 3, width: int = 32) -> Built:
    """Build `layers` square layers."""
    x = b.input("data", (1, width))
    for i in range(layers):
        x = b.relu(b.dense(x, f"fc{i}", width, width))
    return b.finish(x)
