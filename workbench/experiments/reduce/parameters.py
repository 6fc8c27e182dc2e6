"""The values of the parameters of a program whose shapes and data types changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.analysis.tensors import Tensor, tensor
from workbench.dialects.base import Workload


def fitted(workload: Workload, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the inputs of a program that have some, each cut and converted to the type of its input."""
    types = {node.op: tensor(node.type) for node in workload.graph.nodes if node.kind == "param"}
    return {name: cut for name, value in params.items() if (cut := _cut(value, types.get(name))) is not None}


def _cut(value: Any, kind: Tensor | None) -> Any:
    """Return the first elements along each dimension, of the data type; None if the value does not have enough of them."""
    if kind is None:
        return None
    if (tuple(value.shape), str(value.dtype)) == (kind.shape, kind.dtype):
        return value
    fits = len(value.shape) == len(kind.shape) and all(
        isinstance(d, int) and d <= have for d, have in zip(kind.shape, value.shape, strict=True)
    )
    array = value if isinstance(value, np.ndarray) else value.numpy()
    return array[tuple(slice(d) for d in kind.shape)].astype(kind.dtype, copy=False) if fits else None
