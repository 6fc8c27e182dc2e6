"""Three convolutions of one input, concatenated: CombineParallelConv2D makes them one.

In Relay it is TVM's pass; TVM has none for Relax, and the pass of that name is the workbench's.
"""

from __future__ import annotations

from workbench.samples._builder import Builder, Built


def build(b: Builder, /, count: int = 3, image: int = 16, channels: int = 8) -> Built:
    """Build `count` convolutions of one image."""
    data = b.input("data", (1, 4, image, image))
    branches = []
    for i in range(count):
        x = b.conv2d(data, b.weight(f"weight{i}", channels, 4, 1, 1))
        branches.append(b.relu(b.add(x, b.weight(f"bias{i}", channels, 1, 1))))
    return b.finish(b.concat(branches, axis=1))
