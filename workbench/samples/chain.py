"""A straight chain of element-wise operators, of any length."""

from __future__ import annotations

from workbench.samples._builder import Builder, Built


def build(b: Builder, /, length: int = 4, width: int = 8) -> Built:
    """Build a chain of `length` operators."""
    x = data = b.input("data", (1, width))
    for i in range(length):
        x = b.relu(x) if i % 2 else b.add(x, data)
    return b.finish(x)
