"""The samples' builder for Relax."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np
import tvm
from tvm import relax
from tvm.relax import op

from workbench.dialects.relax import compat
from workbench.samples.models import Builder


class RelaxBuilder(Builder):
    """Writes a `main` that binds each operator to a variable; its parameters are the inputs, then the weights."""

    ops = op

    def __init__(self) -> None:
        super().__init__()
        self.block = relax.BlockBuilder()
        self.weights: list[relax.Var] = []
        self.function, self.dataflow = ExitStack(), ExitStack()
        self.started = False

    def variable(self, name: str, shape: Sequence[int], dtype: str) -> relax.Var:
        return relax.Var(name, compat.tensor_type(tuple(shape), dtype))

    def parameter(self, name: str, array: np.ndarray) -> relax.Var:
        self.weights.append(super().parameter(name, array))
        return self.weights[-1]

    def constant(self, value: float | np.ndarray) -> relax.Expr:
        return relax.const(value, str(value.dtype) if isinstance(value, np.ndarray) else "float32")

    def emit(self, value: relax.Expr) -> relax.Var:
        """Bind a value and return its variable. The first call opens `main`, whose inputs are known by then."""
        if not self.started:
            self.started = True
            self.function.enter_context(self.block.function("main", attrs={"num_input": len(self.inputs)}))
            self.dataflow.enter_context(self.block.dataflow())
        return self.block.emit(value)

    def finish(self, result: relax.Expr, *more: relax.Expr) -> tuple[tvm.IRModule, dict[str, object]]:
        outputs = [self.block.emit_output(each) for each in (result, *more)]
        self.dataflow.close()
        self.block.emit_func_output(
            outputs[0] if len(outputs) == 1 else relax.Tuple(outputs), [*self.inputs, *self.weights]
        )
        self.function.close()
        return self.block.get(), {v: self.arrays[v] for v in map(compat.name_of, self.weights)}

    def cast(self, x: relax.Expr, dtype: str) -> relax.Var:
        return self.emit(op.astype(x, dtype))

    def transpose(self, x: relax.Expr, axes: Sequence[int]) -> relax.Var:
        return self.emit(op.permute_dims(x, list(axes)))

    def split(self, x: relax.Expr, parts: int) -> list[relax.Var]:
        found = self.emit(op.split(x, parts, axis=0))
        return [self.emit(relax.TupleGetItem(found, place)) for place in range(parts)]

    def concat(self, values: Sequence[relax.Expr], axis: int) -> relax.Var:
        return self.emit(op.concat(list(values), axis=axis))

    def conv2d(self, x: relax.Expr, weight: relax.Var, stride: int = 1, padding: int = 0) -> relax.Var:
        return self.emit(op.nn.conv2d(x, weight, strides=stride, padding=padding))

    def image_bias(self, x: relax.Expr, name: str, channels: int) -> relax.Var:
        return self.add(x, self.reshape(self.weight(name, channels), (1, channels, 1, 1)))

    def dense(self, x: relax.Expr, name: str, inputs: int, outputs: int) -> relax.Var:
        # it is stored in the layout of Relay's `nn.dense`, and transposed here
        weight = self.emit(op.permute_dims(self.weight(f"{name}_weight", outputs, inputs)))
        return self.add(self.batch_matmul(x, weight), self.weight(f"{name}_bias", outputs))

    def dense_constant(self, x: relax.Expr, weight: np.ndarray) -> relax.Var:
        # transposes the constant here rather than in a kernel
        return self.batch_matmul(x, relax.const(np.ascontiguousarray(weight.T), str(weight.dtype)))

    def batch_matmul(self, a: relax.Expr, b: relax.Expr, dtype: str | None = None) -> relax.Var:
        return self.emit(op.matmul(a, b, out_dtype=dtype))

    def right_axes(self, axes: Sequence[int]) -> tuple[int, ...]:
        return tuple(axes)

    def normalised(
        self, x: relax.Expr, gamma: relax.Expr, beta: relax.Expr, mean: relax.Expr, var: relax.Expr
    ) -> relax.Var:
        # `training` is on by default, and uses the batch's own mean and variance
        normal = self.emit(op.nn.batch_norm(x, gamma, beta, mean, var, axis=1, training=False))
        return self.emit(relax.TupleGetItem(normal, 0))

    def layer_norm(self, x: relax.Expr, name: str, width: int) -> relax.Var:
        gamma, beta = self.scale(f"{name}_gamma", width), self.weight(f"{name}_beta", width)
        return self.emit(op.nn.layer_norm(x, gamma, beta, axes=[-1]))

    def average_pool(self, x: relax.Expr, channels: int) -> relax.Var:
        return self.reshape(self.emit(op.nn.adaptive_avg_pool2d(x, 1)), (1, channels))
