"""A small builder for samples, with a backend for each dialect.

A sample is written once. Operators that both dialects have by one name are here; where the dialects differ, as with `dense` and `matmul`,
the method is in `_relay.py` and `_relax.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

Value = Any
"an expression of the dialect"
Built = tuple[Any, dict[str, Any]]
"a module, and the arrays of its parameters"


class Builder(ABC):
    """Writes a `main`: its inputs, its weights, and operators in the order in which they are called.

    Weights are seeded and kept by name: the same numbers on every machine and in both dialects.
    """

    ops: Any
    "the module with the dialect's operators"

    def __init__(self, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)
        self.arrays: dict[str, np.ndarray] = {}
        self.inputs: list[Any] = []

    def normal(self, name: str, shape: tuple[int, ...], scale: float = 0.05) -> np.ndarray:
        """Return float32 values around zero (uniform: 85 million of them for bert must not take seconds)."""
        self.arrays[name] = (self.random.random(shape, dtype=np.float32) - np.float32(0.5)) * np.float32(2 * scale)
        return self.arrays[name]

    def int8(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """Return small integers, so that int8 sums do not overflow."""
        self.arrays[name] = self.random.integers(-2, 3, shape).astype(np.int8)
        return self.arrays[name]

    @abstractmethod
    def variable(self, name: str, shape: Sequence[int], dtype: str) -> Value:
        """Return a new variable of the dialect."""

    def input(self, name: str, shape: tuple[int, ...], dtype: str = "float32") -> Value:
        """Return a tensor that the caller passes."""
        self.inputs.append(self.variable(name, shape, dtype))
        return self.inputs[-1]

    def parameter(self, name: str, array: np.ndarray) -> Value:
        """Return the variable of a parameter."""
        return self.variable(name, array.shape, str(array.dtype))

    def weight(self, name: str, *shape: int, scale: float = 0.05) -> Value:
        """Return a float32 parameter around zero."""
        return self.parameter(name, self.normal(name, shape, scale))

    def scale(self, name: str, *shape: int) -> Value:
        """Return a float32 parameter in [0.5, 1.5): scales and variances."""
        self.arrays[name] = self.random.random(shape, dtype=np.float32) + np.float32(0.5)
        return self.parameter(name, self.arrays[name])

    @abstractmethod
    def constant(self, value: float | np.ndarray) -> Value:
        """Return a float32 constant."""

    @abstractmethod
    def finish(self, result: Value) -> Built:
        """Return the module with this result, and the arrays of its parameters."""

    def emit(self, value: Value) -> Value:
        """Return a call as the dialect writes it: Relay nests calls, Relax binds each to a variable."""
        return value

    def add(self, a: Value, b: Value) -> Value:
        return self.emit(self.ops.add(a, b))

    def subtract(self, a: Value, b: Value) -> Value:
        return self.emit(self.ops.subtract(a, b))

    def multiply(self, a: Value, b: Value) -> Value:
        return self.emit(self.ops.multiply(a, b))

    def relu(self, x: Value) -> Value:
        return self.emit(self.ops.nn.relu(x))

    def erf(self, x: Value) -> Value:
        return self.emit(self.ops.erf(x))

    def softmax(self, x: Value) -> Value:
        return self.emit(self.ops.nn.softmax(x))

    def round(self, x: Value) -> Value:
        return self.emit(self.ops.round(x))

    def clip(self, x: Value, low: float, high: float) -> Value:
        return self.emit(self.ops.clip(x, low, high))

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        return self.emit(self.ops.reshape(x, tuple(shape)))

    def squeeze(self, x: Value, axis: int) -> Value:
        return self.emit(self.ops.squeeze(x, axis=[axis]))

    def expand_dims(self, x: Value, axis: int) -> Value:
        return self.emit(self.ops.expand_dims(x, axis=axis))

    @abstractmethod
    def cast(self, x: Value, dtype: str) -> Value: ...
    @abstractmethod
    def transpose(self, x: Value, axes: Sequence[int]) -> Value: ...
    @abstractmethod
    def split(self, x: Value, parts: int) -> Sequence[Value]: ...
    @abstractmethod
    def concat(self, values: Sequence[Value], axis: int) -> Value: ...
    @abstractmethod
    def conv2d(self, x: Value, weight: Value, stride: int = 1, padding: int = 0) -> Value: ...

    @abstractmethod
    def image_bias(self, x: Value, name: str, channels: int) -> Value:
        """Add one number a channel to an image."""

    @abstractmethod
    def dense(self, x: Value, name: str, inputs: int, outputs: int) -> Value:
        """Return `x @ weight.T + bias`."""

    @abstractmethod
    def dense_constant(self, x: Value, weight: np.ndarray) -> Value:
        """Return `x @ weight.T` with a constant weight."""

    @abstractmethod
    def batch_matmul(self, a: Value, b: Value, dtype: str | None = None) -> Value:
        """Multiply matrices. Relay's right side is transposed, Relax's is not (`right_axes`)."""

    @abstractmethod
    def right_axes(self, axes: Sequence[int]) -> tuple[int, ...]:
        """Return axes for the right side of `batch_matmul`: as given for Relax, the last two exchanged for Relay."""

    def batch_norm(self, x: Value, name: str, channels: int) -> Value:
        gamma, beta = self.scale(f"{name}_gamma", channels), self.weight(f"{name}_beta", channels)
        mean, var = self.weight(f"{name}_mean", channels), self.scale(f"{name}_var", channels)
        return self.normalised(x, gamma, beta, mean, var)

    @abstractmethod
    def normalised(self, x: Value, gamma: Value, beta: Value, mean: Value, var: Value) -> Value:
        """Return the first result of a batch_norm over axis 1."""

    @abstractmethod
    def layer_norm(self, x: Value, name: str, width: int) -> Value: ...

    @abstractmethod
    def average_pool(self, x: Value, channels: int) -> Value:
        """Return the mean of each channel, as a matrix of one row."""
