"""Random Relax programs with products of one value side by side: everything that CombineParallelMatmul looks at, and traps."""

from __future__ import annotations

import random

import numpy as np
import tvm
from tvm import relax, tirx

ACTIVATIONS = (relax.op.nn.relu, relax.op.nn.gelu, relax.op.nn.gelu_tanh, relax.op.nn.silu, relax.op.tanh)
INNER = 8


class Program:
    """One program, decided by its seed; `rare` makes the traps more or less likely."""

    def __init__(self, seed: int, rare: float = 0.04) -> None:
        self.random = random.Random(seed)
        self.rare = rare
        self.builder = relax.BlockBuilder()
        self.bindings: list[relax.VarBinding] = []
        self.params: list[relax.Var] = []
        self.values: list[relax.Var] = []
        "branches' ends, which may be used again"

    def module(self) -> tvm.IRModule:
        ends: list[relax.Var] = []
        for _ in range(self.random.choice((1, 1, 2, 2, 3))):
            ends += self.siblings()
        returned = relax.Tuple([end for end in ends if self.random.random() < 0.9] or ends[-1:])
        result = relax.Var("result", self.builder.normalize(returned).ty)
        block = relax.DataflowBlock([*self.bindings, relax.VarBinding(result, returned)])
        main = relax.Function(self.params, relax.SeqExpr([block], result), result.ty)
        return relax.transform.Normalize()(tvm.IRModule({"main": main.with_attr("global_symbol", "main")}))

    # -- pieces

    def unlikely(self) -> bool:
        return self.random.random() < self.rare

    def param(self, shape, dtype="float32") -> relax.Var:
        made = relax.Var(f"p{len(self.params)}", relax.TensorType(shape, dtype))
        self.params.append(made)
        return made

    def emit(self, value) -> relax.Var:
        made = relax.DataflowVar(f"n{len(self.bindings)}", self.builder.normalize(value).ty)
        self.bindings.append(relax.VarBinding(made, value))
        return made

    def siblings(self) -> list[relax.Var]:
        left = self.left()
        rank = len(left.ty.shape.values)
        batch = self.random.random() < 0.3
        style = self.random.choice(("bare", "bias", "bias", "active", "both", "both", "mixed"))
        activation = self.random.choice(ACTIVATIONS[:4])
        count = self.random.choice((2, 2, 3, 3, 4, 5))
        ends, right, bias = [], None, None
        for _ in range(count):
            if right is None or not self.unlikely():
                right = self.right(rank, batch=batch)
            product = self.emit(relax.op.matmul(left, right))
            form = self.random.choice(("bare", "bias", "active", "both")) if style == "mixed" else style
            if self.unlikely():
                form = "bare"
            end = product
            if form in ("bias", "both"):
                end, bias = self.biased(product, bias)
            if form in ("active", "both"):
                chosen = self.random.choice(ACTIVATIONS) if self.unlikely() or style == "mixed" else activation
                end = self.emit(chosen(end))
            ends.append(end)
            self.values.append(end)
            if self.unlikely():
                ends.append(self.emit(relax.op.exp(product)))
            if self.unlikely():
                ends.append(product)
        return ends

    def left(self) -> relax.Var:
        wide = [v for v in self.values if len(dims(v)) > 1 and dims(v)[-1] == str(INNER)]
        if wide and self.random.random() < 0.5:
            return self.random.choice(wide)
        if self.unlikely():
            return self.param((INNER,))
        rows = tirx.Var("rows", "int64") if self.unlikely() else 4
        return self.param(self.random.choice(((rows, INNER), (2, 4, INNER), (rows, INNER))))

    def right(self, rank: int, *, batch: bool):
        width = self.random.choice((3, 5, INNER, INNER))
        if self.unlikely():
            return self.param((INNER,))
        if self.unlikely():
            return relax.const(np.full((INNER, width), self.random.random(), "float32"))
        shape = (INNER, width)
        if rank != 1 and (batch != self.unlikely()):
            shape = (1 if self.unlikely() else 2, *shape)
        if self.unlikely():
            shape = (*shape[:-1], tirx.Var(f"width{len(self.params)}", "int64"))
            return self.param(shape)
        square = [v for v in self.values if dims(v) == [str(dim) for dim in shape]]
        if self.unlikely() and square:
            return self.random.choice(square)
        if self.unlikely() and self.values:
            last = self.values[-1]
            return self.emit(relax.op.add(self.param(shape), self.emit(relax.op.sum(last))))
        if self.random.random() < 0.3 and len(shape) == 2:
            return self.emit(relax.op.permute_dims(self.param(shape[::-1])))
        return self.param(shape)

    def biased(self, product: relax.Var, before):
        shape = list(product.ty.shape.values)
        bias = None
        if before is not None and self.unlikely() and dims(before)[-1:] == dims(product)[-1:]:
            bias = before
        elif self.unlikely():
            bias = self.param(
                self.random.choice(((), (1,), shape, (1, *shape), [*shape[:-1], *([1] if shape else [])]))
            )
        elif self.unlikely() and dims(product)[-1:] and dims(product)[-1].isdigit():
            bias = relax.const(np.full((int(shape[-1]),), self.random.random(), "float32"))
        if bias is None:
            bias = self.param(shape[-1:])
        pair = (bias, product) if self.unlikely() else (product, bias)
        return self.emit(relax.op.add(*pair)), bias


def dims(value: relax.Var) -> list[str]:
    """The dimensions as text, none where they are not known."""
    return [] if value.ty.shape is None else [str(dim) for dim in value.ty.shape.values]


class Convolutions(Program):
    """A program of convolutions side by side, alike more often than not."""

    def siblings(self) -> list[relax.Var]:
        same = [value for value in self.values if dims(value)[1:] == ["4", "6", "6"]]
        data = self.random.choice(same) if same and self.random.random() < 0.4 else self.param((1, 4, 6, 6))
        ends: list[relax.Var] = []
        for _ in range(self.random.choice((2, 3, 4))):
            size, groups = self.random.choice((1, 3, 3, 3)), 2 if self.unlikely() else 1
            filters = self.filters((self.random.choice((4, 4, 6)), 4 // groups, size, size), ends)
            options = {"groups": groups, "padding": size // 2, "strides": 2 if self.random.random() < 0.15 else 1}
            end = self.emit(relax.op.nn.conv2d(data, filters, **options))
            ends.append(self.emit(relax.op.nn.relu(end)) if self.random.random() < 0.5 else end)
            self.values.append(ends[-1])
        return ends

    def filters(self, shape, ends):
        given = self.param(shape)
        if ends and self.unlikely():
            return self.emit(relax.op.add(given, self.emit(relax.op.sum(ends[-1]))))
        return given
