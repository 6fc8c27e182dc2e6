"""The samples' builder for Relay."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tvm
from tvm import relay

from workbench.samples._builder import Weights


class RelayBuilder(Weights):
    """Writes a `main` of nested calls."""

    def __init__(self) -> None:
        super().__init__()
        self.inputs: list[relay.Var] = []

    def input(self, name: str, shape: tuple[int, ...], dtype: str = "float32") -> relay.Var:
        self.inputs.append(relay.var(name, shape=shape, dtype=dtype))
        return self.inputs[-1]

    def weight(self, name: str, *shape: int, scale: float = 0.05) -> relay.Var:
        return _variable(name, self.normal(name, shape, scale))

    def scale(self, name: str, *shape: int) -> relay.Var:
        return _variable(name, self.positive(name, shape))

    def constant(self, value: float | np.ndarray) -> relay.Constant:
        return relay.const(value, "float32")

    def finish(self, result: relay.Expr) -> tuple[tvm.IRModule, dict[str, object]]:
        free = [v for v in relay.analysis.free_vars(result) if v not in self.inputs]
        module = tvm.IRModule.from_expr(relay.Function([*self.inputs, *free], result))
        used = {v.name_hint for v in free}
        return module, {name: array for name, array in self.arrays.items() if name in used}

    def add(self, a: relay.Expr, b: relay.Expr) -> relay.Expr:
        return relay.add(a, b)

    def subtract(self, a: relay.Expr, b: relay.Expr) -> relay.Expr:
        return relay.subtract(a, b)

    def multiply(self, a: relay.Expr, b: relay.Expr) -> relay.Expr:
        return relay.multiply(a, b)

    def relu(self, x: relay.Expr) -> relay.Expr:
        return relay.nn.relu(x)

    def erf(self, x: relay.Expr) -> relay.Expr:
        return relay.erf(x)

    def softmax(self, x: relay.Expr) -> relay.Expr:
        return relay.nn.softmax(x)

    def round(self, x: relay.Expr) -> relay.Expr:
        return relay.round(x)

    def clip(self, x: relay.Expr, low: float, high: float) -> relay.Expr:
        return relay.clip(x, low, high)

    def cast(self, x: relay.Expr, dtype: str) -> relay.Expr:
        return relay.cast(x, dtype)

    def reshape(self, x: relay.Expr, shape: Sequence[int]) -> relay.Expr:
        return relay.reshape(x, shape)

    def transpose(self, x: relay.Expr, axes: Sequence[int]) -> relay.Expr:
        return relay.transpose(x, axes)

    def squeeze(self, x: relay.Expr, axis: int) -> relay.Expr:
        return relay.squeeze(x, axis=[axis])

    def expand_dims(self, x: relay.Expr, axis: int) -> relay.Expr:
        return relay.expand_dims(x, axis=axis)

    def split(self, x: relay.Expr, parts: int) -> list[relay.Expr]:
        found = relay.split(x, indices_or_sections=parts)
        return [found[place] for place in range(parts)]

    def concat(self, values: Sequence[relay.Expr], axis: int) -> relay.Expr:
        return relay.concatenate(values, axis=axis)

    def conv2d(self, x: relay.Expr, weight: relay.Var, stride: int = 1, padding: int = 0) -> relay.Expr:
        channels, _, *kernel = map(int, weight.type_annotation.shape)
        return relay.nn.conv2d(
            x, weight, strides=(stride, stride), padding=(padding, padding), channels=channels, kernel_size=kernel
        )

    def image_bias(self, x: relay.Expr, name: str, channels: int) -> relay.Expr:
        return relay.nn.bias_add(x, self.weight(name, channels))

    def dense(self, x: relay.Expr, name: str, inputs: int, outputs: int) -> relay.Expr:
        product = relay.nn.dense(x, self.weight(f"{name}_weight", outputs, inputs))
        return relay.nn.bias_add(product, self.weight(f"{name}_bias", outputs))

    def dense_constant(self, x: relay.Expr, weight: np.ndarray) -> relay.Expr:
        return relay.nn.dense(x, self.constant(weight))

    def batch_matmul(self, a: relay.Expr, b: relay.Expr, dtype: str | None = None) -> relay.Expr:
        return relay.nn.batch_matmul(a, b, out_dtype=dtype or "")

    def right_axes(self, axes: Sequence[int]) -> tuple[int, ...]:
        return (*axes[:-2], axes[-1], axes[-2])

    def batch_norm(self, x: relay.Expr, name: str, channels: int) -> relay.Expr:
        gamma, beta = self.scale(f"{name}_gamma", channels), self.weight(f"{name}_beta", channels)
        mean, var = self.weight(f"{name}_mean", channels), self.scale(f"{name}_var", channels)
        return relay.nn.batch_norm(x, gamma, beta, mean, var)[0]

    def layer_norm(self, x: relay.Expr, name: str, width: int) -> relay.Expr:
        return relay.nn.layer_norm(x, self.scale(f"{name}_gamma", width), self.weight(f"{name}_beta", width))

    def average_pool(self, x: relay.Expr, channels: int) -> relay.Expr:  # noqa: ARG002  Relay finds the channels itself
        return relay.nn.batch_flatten(relay.nn.global_avg_pool2d(x))


def _variable(name: str, array: np.ndarray) -> relay.Var:
    return relay.var(name, shape=array.shape, dtype=str(array.dtype))
