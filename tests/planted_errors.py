"""Models with one kernel that computes something else, for both dialects."""

from __future__ import annotations

from typing import Any

import workbench as wb
from workbench.dialects.registry import dialect as door
from workbench.samples import _builder_of


def stack(
    dialect: str, layers: int = 6, planted: int | None = None, width: int = 16, value: float = 0.5
) -> wb.Workload:
    """Dense layers with bias and relu; in the planted layer a constant that is added before the relu is another one."""
    builder = _builder_of(dialect)
    x = builder.input("data", (2, width))
    for layer in range(layers):
        x = builder.dense(x, f"fc{layer}", width, width)
        x = builder.relu(builder.add(x, builder.constant(value if layer == planted else 0.25)))
    return loaded(builder, x, dialect)


def bare_stack(dialect: str, layers: int = 3, planted: bool = False) -> wb.Workload:
    """Convolutions with bias and relu; the planted one has erf instead of relu in the second layer."""
    builder = _builder_of(dialect)
    x = builder.input("data", (1, 8, 12, 12))
    for layer in range(layers):
        x = builder.conv2d(x, builder.weight(f"w{layer}", 8, 8, 3, 3), padding=1)
        x = builder.image_bias(x, f"b{layer}", 8)
        x = builder.erf(x) if planted and layer == 1 else builder.relu(x)
    return loaded(builder, x, dialect)


def loaded(builder: Any, result: Any, dialect: str) -> wb.Workload:
    """Return the workload of a finished sample."""
    module, params = builder.finish(result)
    found = door(dialect).frontend.load(module, params, "planted")
    assert found is not None
    return found
