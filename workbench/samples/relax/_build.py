"""What the Relax samples share: named parameters that are filled as they are made, and operators bound in order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import tvm
from tvm import relax

from workbench.dialects import compat
from workbench.samples._weights import Weights


class Builder(Weights):
    """Writes a `main` whose parameters are the inputs, then the weights."""

    def __init__(self) -> None:
        super().__init__()
        self.block = relax.BlockBuilder()
        self.inputs: list[relax.Var] = []
        self.weights: list[relax.Var] = []
        self.result: relax.Expr | None = None

    def input(self, name: str, shape: tuple[int, ...], dtype: str = "float32") -> relax.Var:
        """A tensor that the caller gives."""
        self.inputs.append(relax.Var(name, compat.tensor_type(shape, dtype)))
        return self.inputs[-1]

    def weight(self, name: str, *shape: int, scale: float = 0.05) -> relax.Var:
        """A float32 parameter around zero."""
        return self._var(name, self.normal(name, shape, scale))

    def scale(self, name: str, *shape: int) -> relax.Var:
        """A positive float32 parameter."""
        return self._var(name, self.positive(name, shape))

    def _var(self, name: str, array: np.ndarray) -> relax.Var:
        self.weights.append(relax.Var(name, compat.tensor_type(array.shape, str(array.dtype))))
        return self.weights[-1]

    def emit(self, value: relax.Expr) -> relax.Var:
        """Bind a value and give its variable."""
        return self.block.emit(value)

    def dense(self, x: relax.Expr, name: str, inputs: int, outputs: int) -> relax.Var:
        """`x @ weight.T + bias`, the weight stored as Relay's `nn.dense` takes it."""
        weight = self.emit(relax.op.permute_dims(self.weight(f"{name}_weight", outputs, inputs)))
        return self.emit(relax.op.add(self.emit(relax.op.matmul(x, weight)), self.weight(f"{name}_bias", outputs)))

    def batch_norm(self, x: relax.Expr, name: str, channels: int) -> relax.Var:
        """Normalise with the stored mean and variance; `training` is on by default, and uses the batch's own."""
        gamma, beta = self.scale(f"{name}_gamma", channels), self.weight(f"{name}_beta", channels)
        mean, var = self.weight(f"{name}_mean", channels), self.scale(f"{name}_var", channels)
        normal = self.emit(relax.op.nn.batch_norm(x, gamma, beta, mean, var, axis=1, training=False))
        return self.emit(relax.TupleGetItem(normal, 0))

    @contextmanager
    def main(self) -> Iterator[None]:
        """Where the operators are emitted; it ends with `self.result` set."""
        with self.block.function("main", attrs={"num_input": len(self.inputs)}):
            with self.block.dataflow():
                yield
                output = self.block.emit_output(self.result)
            self.block.emit_func_output(output, [*self.inputs, *self.weights])

    def finish(self) -> tuple[tvm.IRModule, dict[str, Any]]:
        """The module, and the arrays of its weights."""
        return self.block.get(), {v: self.arrays[v] for v in map(compat.name_of, self.weights)}


def constant(value: float | np.ndarray, dtype: str = "float32") -> relax.Expr:
    """A constant of the graph."""
    return relax.const(value, dtype)
