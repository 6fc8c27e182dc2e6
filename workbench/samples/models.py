"""The samples, each written once with a small builder that has a backend for each dialect, and the table of their names.

Operators that both dialects have by one name are in the builder; where the dialects differ, as with `dense` and `matmul`,
the method is in `_relay.py` and `_relax.py`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
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


def chain(b: Builder, /, length: int = 4, width: int = 8, rows: int = 1) -> Built:
    """Build a straight chain of `length` element-wise operators."""
    x = data = b.input("data", (rows, width))
    for i in range(length):
        x = b.relu(x) if i % 2 else b.add(x, data)
    return b.finish(x)


def mlp(b: Builder, /, layers: int = 3, width: int = 32) -> Built:
    """Build square dense layers with bias and relu: the smallest model that has kernels worth fusing."""
    x = b.input("data", (1, width))
    for i in range(layers):
        x = b.relu(b.dense(x, f"fc{i}", width, width))
    return b.finish(x)


def conv_bias_batch_norm(b: Builder, /, blocks: int = 1, image: int = 32, channels: int = 16) -> Built:
    """Build blocks of conv2d, bias, batch_norm and relu, as in VGG, where two adds of constants could be one.

    A question from TVM's forum. In Relay two adds follow the conv2d after FoldScaleAxis; SimplifyExpr, then FoldConstant,
    merge them. In Relax FoldBatchnormToConv2D needs the batch_norm directly after the conv2d, and the bias is between them;
    both adds stay.
    """
    x = b.input("data", (1, 3, image, image))
    for i in range(1, blocks + 1):
        x = _block(b, x, f"conv{i}", 3 if i == 1 else channels, channels)
    return b.finish(x)


def _block(b: Builder, x: Value, name: str, inputs: int, outputs: int) -> Value:
    x = b.conv2d(x, b.weight(f"{name}_weight", outputs, inputs, 3, 3), padding=1)
    return b.relu(b.batch_norm(b.image_bias(x, f"{name}_bias", outputs), name, outputs))


def resnet18(b: Builder, /, image: int = 32, classes: int = 10, width: int = 64) -> Built:
    """Build ResNet-18 for small square images: conv2d, batch_norm and relu with residual adds.

    `width` is the channels of the first stage.
    """
    x = _conv_norm_relu(b, b.input("data", (1, 3, image, image)), "stem", 3, width, stride=1)
    inputs = width
    for stage in range(4):
        outputs = width * 2**stage
        for block in range(2):
            stride = 2 if stage > 0 and block == 0 else 1
            x = _residual(b, x, f"stage{stage}_block{block}", inputs, outputs, stride)
            inputs = outputs
    return b.finish(b.softmax(b.dense(b.average_pool(x, inputs), "fc", inputs, classes)))


def _residual(b: Builder, x: Value, name: str, inputs: int, outputs: int, stride: int) -> Value:
    y = _conv_norm_relu(b, x, f"{name}_1", inputs, outputs, stride)
    y = b.batch_norm(_conv(b, y, f"{name}_2", outputs, outputs, 3, 1), f"{name}_2", outputs)
    if stride != 1 or inputs != outputs:
        x = b.batch_norm(_conv(b, x, f"{name}_skip", inputs, outputs, 1, stride), f"{name}_skip", outputs)
    return b.relu(b.add(y, x))


def _conv_norm_relu(b: Builder, x: Value, name: str, inputs: int, outputs: int, stride: int) -> Value:
    return b.relu(b.batch_norm(_conv(b, x, name, inputs, outputs, 3, stride), name, outputs))


def _conv(b: Builder, x: Value, name: str, inputs: int, outputs: int, kernel: int, stride: int) -> Value:
    return b.conv2d(x, b.weight(f"{name}_weight", outputs, inputs, kernel, kernel), stride, kernel // 2)


def parallel_cast(b: Builder, /, rows: int = 1, width: int = 16) -> Built:
    """Build two branches that each cast the same int32 tensor to int8 (a question from TVM's forum: how to merge them).

    Relay's kernels at opt level 0, 1, 2, 3: 8, 5, 5, 3. EliminateCommonSubexpr merges the casts, so that int8 rather than
    int32 flows between the kernels; Relax runs it only where a pipeline names it. Relay's weights are float32 that hold
    small integers, as in the question: with int8 weights TVM 0.17 rewrites the dense for AVX-512 into one that does not
    type-check.
    """
    wide = b.cast(b.input("data", (rows, width)), "int32")
    left = b.relu(b.cast(wide, "int8"))
    right = b.relu(b.cast(wide, "int8"))
    left = b.dense_constant(left, b.int8("left", (width, width)))
    right = b.dense_constant(right, b.int8("right", (width, width)))
    return b.finish(b.add(left, right))


def branches(b: Builder, /, count: int = 3, image: int = 16, channels: int = 8) -> Built:
    """Build `count` convolutions of one image, concatenated: CombineParallelConv2D makes them one.

    In Relay it is TVM's pass; TVM has none for Relax, and the pass of that name is the workbench's.
    """
    data = b.input("data", (1, 4, image, image))
    branches = []
    for i in range(count):
        x = b.conv2d(data, b.weight(f"weight{i}", channels, 4, 1, 1))
        branches.append(b.relu(b.add(x, b.weight(f"bias{i}", channels, 1, 1))))
    return b.finish(b.concat(branches, axis=1))


def attention(b: Builder, /, batch: int = 1, seq: int = 32, heads: int = 4, head: int = 16) -> Built:
    """Build a quantised multi-head attention, from `split` to the last `transpose`, from a forum question.

    About 50 small operators that should be one kernel. `dominates(split, wildcard, transpose)` never matches it, because
    the mask enters from outside the region that the split dominates.
    """
    hidden, rows = heads * head, batch * seq
    qkv = b.input("qkv", (3, rows, hidden), "int32")
    mask = b.input("input_mask", (batch, seq), "int32")

    def heads_of(part: Value, axes: tuple[int, ...] = (0, 1, 2)) -> Value:
        part = b.reshape(b.squeeze(part, 0), (batch, seq, heads, head))
        part = b.reshape(b.transpose(part, (0, 2, 1, 3)), (batch * heads, seq, head))
        return part if axes == (0, 1, 2) else b.transpose(part, axes)

    def quantised(value: Value) -> Value:
        return b.cast(b.clip(b.round(b.multiply(value, b.constant(16.0))), -127, 127), "int8")

    x = b.multiply(b.cast(qkv, "float32"), b.constant(0.000488281))
    x = b.add(x, b.constant(b.normal("bias", (3, 1, hidden))))
    query, key, value = b.split(x, 3)
    left, right = quantised(heads_of(query)), quantised(heads_of(key, b.right_axes((0, 2, 1))))
    scores = b.reshape(b.batch_matmul(left, right, "int32"), (batch, heads, seq, seq))
    scores = b.multiply(b.cast(scores, "float32"), b.constant(0.00390625))
    scores = b.add(b.multiply(scores, b.constant(0.125)), _mask(b, mask, batch, seq))
    weights = quantised(b.reshape(b.softmax(scores), (batch * heads, seq, seq)))

    out = b.batch_matmul(weights, quantised(heads_of(value, b.right_axes((0, 1, 2)))), "int32")
    out = b.reshape(out, (batch, heads, seq, head))
    return b.finish(b.reshape(b.transpose(out, (0, 2, 1, 3)), (rows, hidden)))


def _mask(b: Builder, mask: Value, batch: int, seq: int) -> Value:
    """Return 0 where a position may be attended to, -10000 elsewhere."""
    mask = b.cast(b.reshape(mask, (batch, 1, seq)), "float32")
    mask = b.expand_dims(b.multiply(b.constant(np.ones((batch, seq, 1), "float32")), mask), axis=1)
    return b.multiply(b.subtract(b.constant(1.0), mask), b.constant(-10000.0))


def bert(b: Builder, /, layers: int = 12, hidden: int = 768, seq: int = 128, heads: int = 12) -> Built:
    """Build a BERT encoder: self-attention and feed-forward layers with one mask that every layer reads."""
    x = b.input("data", (seq, hidden))
    mask = b.input("mask", (1, 1, seq))
    for i in range(layers):
        x = _layer(b, x, mask, f"layer_{i}", (hidden, seq, heads))
    return b.finish(x)


def _layer(b: Builder, x: Value, mask: Value, name: str, sizes: tuple[int, int, int]) -> Value:
    hidden, seq, heads = sizes
    head = hidden // heads

    def heads_of(part: str, axes: tuple[int, ...]) -> Value:
        projected = b.dense(x, f"{name}_{part}", hidden, hidden)
        return b.transpose(b.reshape(projected, (seq, heads, head)), axes)

    scores = b.batch_matmul(heads_of("query", (1, 0, 2)), heads_of("key", b.right_axes((1, 2, 0))))
    scores = b.add(b.multiply(scores, b.constant(1 / math.sqrt(head))), mask)
    context = b.batch_matmul(b.softmax(scores), heads_of("value", b.right_axes((1, 0, 2))))
    context = b.reshape(b.transpose(context, (1, 0, 2)), (seq, hidden))
    x = b.layer_norm(b.add(x, b.dense(context, f"{name}_output", hidden, hidden)), f"{name}_attention", hidden)

    inner = _gelu(b, b.dense(x, f"{name}_up", hidden, 4 * hidden))
    return b.layer_norm(b.add(x, b.dense(inner, f"{name}_down", 4 * hidden, hidden)), f"{name}_feed_forward", hidden)


def _gelu(b: Builder, x: Value) -> Value:
    half = b.multiply(x, b.constant(0.5))
    return b.multiply(half, b.add(b.erf(b.multiply(x, b.constant(math.sqrt(0.5)))), b.constant(1.0)))


SAMPLES: dict[str, Callable[..., Built]] = {
    "attention": attention,
    "bert": bert,
    "branches": branches,
    "chain": chain,
    "conv_bias_batch_norm": conv_bias_batch_norm,
    "mlp": mlp,
    "parallel_cast": parallel_cast,
    "resnet18": resnet18,
}
