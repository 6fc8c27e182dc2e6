"""The samples' builder for Relay."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tvm
from tvm import relay

from workbench.samples.models import Builder


class RelayBuilder(Builder):
    """Writes a `main` of nested calls."""

    ops = relay

    def variable(self, name: str, shape: Sequence[int], dtype: str) -> relay.Var:
        return relay.var(name, shape=tuple(shape), dtype=dtype)

    def constant(self, value: float | np.ndarray) -> relay.Constant:
        return relay.const(value, str(value.dtype) if isinstance(value, np.ndarray) else "float32")

    def finish(self, result: relay.Expr) -> tuple[tvm.IRModule, dict[str, object]]:
        free = [v for v in relay.analysis.free_vars(result) if v not in self.inputs]
        module = tvm.IRModule.from_expr(relay.Function([*self.inputs, *free], result))
        used = {v.name_hint for v in free}
        return module, {name: array for name, array in self.arrays.items() if name in used}

    def cast(self, x: relay.Expr, dtype: str) -> relay.Expr:
        return relay.cast(x, dtype)

    def transpose(self, x: relay.Expr, axes: Sequence[int]) -> relay.Expr:
        return relay.transpose(x, axes)

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
        # of float32: TVM 0.17 makes of a dense with int8 weights one for AVX-512 that does not type-check
        return relay.nn.dense(x, self.constant(weight.astype("float32")))

    def batch_matmul(self, a: relay.Expr, b: relay.Expr, dtype: str | None = None) -> relay.Expr:
        return relay.nn.batch_matmul(a, b, out_dtype=dtype or "")

    def right_axes(self, axes: Sequence[int]) -> tuple[int, ...]:
        return (*axes[:-2], axes[-1], axes[-2])

    def normalised(
        self, x: relay.Expr, gamma: relay.Expr, beta: relay.Expr, mean: relay.Expr, var: relay.Expr
    ) -> relay.Expr:
        return relay.nn.batch_norm(x, gamma, beta, mean, var)[0]

    def layer_norm(self, x: relay.Expr, name: str, width: int) -> relay.Expr:
        return relay.nn.layer_norm(x, self.scale(f"{name}_gamma", width), self.weight(f"{name}_beta", width))

    def average_pool(self, x: relay.Expr, channels: int) -> relay.Expr:  # noqa: ARG002  Relay finds the channels itself
        return relay.nn.batch_flatten(relay.nn.global_avg_pool2d(x))
