"""A small builder for samples, with a backend for each dialect.

A sample is written once. Where the dialects have different operators, such as `dense` and `matmul`, the backends
differ; where they have the same, `_relay.py` and `_relax.py` only name it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

Value = Any
"an expression of the dialect"
Built = tuple[Any, dict[str, Any]]
"a module, and the arrays of its parameters"


class Weights:
    """Makes seeded arrays and keeps them by name: the same numbers on every machine and in both dialects."""

    def __init__(self, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)
        self.arrays: dict[str, np.ndarray] = {}

    def normal(self, name: str, shape: tuple[int, ...], scale: float = 0.05) -> np.ndarray:
        """Return float32 values around zero (uniform: 85 million of them for bert must not take seconds)."""
        self.arrays[name] = (self.random.random(shape, dtype=np.float32) - np.float32(0.5)) * np.float32(2 * scale)
        return self.arrays[name]

    def positive(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """Return float32 values in [0.5, 1.5): scales and variances."""
        self.arrays[name] = self.random.random(shape, dtype=np.float32) + np.float32(0.5)
        return self.arrays[name]

    def int8(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """Return small integers, so that int8 sums do not overflow."""
        self.arrays[name] = self.random.integers(-2, 3, shape).astype(np.int8)
        return self.arrays[name]


class Builder(Protocol):
    """Writes a `main`: its inputs, its weights, and operators in the order in which they are called."""

    random: np.random.Generator
    arrays: dict[str, np.ndarray]

    def normal(self, name: str, shape: tuple[int, ...], scale: float = 0.05) -> np.ndarray: ...
    def int8(self, name: str, shape: tuple[int, ...]) -> np.ndarray: ...

    def input(self, name: str, shape: tuple[int, ...], dtype: str = "float32") -> Value:
        """Return a tensor that the caller passes."""
        ...

    def weight(self, name: str, *shape: int, scale: float = 0.05) -> Value:
        """Return a float32 parameter around zero."""
        ...

    def scale(self, name: str, *shape: int) -> Value:
        """Return a positive float32 parameter."""
        ...

    def constant(self, value: float | np.ndarray) -> Value:
        """Return a float32 constant."""
        ...

    def finish(self, result: Value) -> Built:
        """Return the module with this result, and the arrays of its parameters."""
        ...

    def add(self, a: Value, b: Value) -> Value: ...
    def subtract(self, a: Value, b: Value) -> Value: ...
    def multiply(self, a: Value, b: Value) -> Value: ...
    def relu(self, x: Value) -> Value: ...
    def erf(self, x: Value) -> Value: ...
    def softmax(self, x: Value) -> Value: ...
    def round(self, x: Value) -> Value: ...
    def clip(self, x: Value, low: float, high: float) -> Value: ...
    def cast(self, x: Value, dtype: str) -> Value: ...
    def reshape(self, x: Value, shape: Sequence[int]) -> Value: ...
    def transpose(self, x: Value, axes: Sequence[int]) -> Value: ...
    def squeeze(self, x: Value, axis: int) -> Value: ...
    def expand_dims(self, x: Value, axis: int) -> Value: ...
    def split(self, x: Value, parts: int) -> Sequence[Value]: ...
    def concat(self, values: Sequence[Value], axis: int) -> Value: ...

    def conv2d(self, x: Value, weight: Value, stride: int = 1, padding: int = 0) -> Value: ...

    def image_bias(self, x: Value, name: str, channels: int) -> Value:
        """Add one number a channel to an image."""
        ...

    def dense(self, x: Value, name: str, inputs: int, outputs: int) -> Value:
        """Return `x @ weight.T + bias`."""
        ...

    def dense_constant(self, x: Value, weight: np.ndarray) -> Value:
        """Return `x @ weight.T` with a constant weight."""
        ...

    def batch_matmul(self, a: Value, b: Value, dtype: str | None = None) -> Value:
        """Multiply matrices. Relay's right side is transposed, Relax's is not (`right_axes`)."""
        ...

    def right_axes(self, axes: Sequence[int]) -> tuple[int, ...]:
        """Return axes for the right side of `batch_matmul`: as given for Relax, the last two exchanged for Relay."""
        ...

    def batch_norm(self, x: Value, name: str, channels: int) -> Value: ...
    def layer_norm(self, x: Value, name: str, width: int) -> Value: ...

    def average_pool(self, x: Value, channels: int) -> Value:
        """Return the mean of each channel, as a matrix of one row."""
        ...
