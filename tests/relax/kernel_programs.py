"""Random Relax programs of one or two dataflow blocks, as FuseOps gets them."""

from __future__ import annotations

from random import Random
from typing import Any

import tvm
from tvm import relax

from workbench.dialects.relax import compat

ROWS, COLUMNS = 4, 8
UNARY = (relax.op.exp, relax.op.tanh, relax.op.nn.relu, relax.op.negative)
BINARY = (relax.op.add, relax.op.multiply, relax.op.maximum)


class Program:
    """A main function of one or two dataflow blocks; every value has the shape (ROWS, COLUMNS)."""

    def __init__(self, random: Random, size: int) -> None:
        self.random = random
        self.block = relax.BlockBuilder()
        whole = compat.tensor_type((ROWS, COLUMNS), "float32")
        self.row = relax.Var("row", compat.tensor_type((1, COLUMNS), "float32"))
        self.weight = relax.Var("weight", compat.tensor_type((COLUMNS, COLUMNS), "float32"))
        self.pool: list[Any] = [relax.Var(f"x{i}", whole) for i in range(random.randint(1, 2))]
        made = (self.unary, self.binary, self.binary, self.stretched, self.constant, self.arranged, self.joined)
        others = (self.parts, self.reduced, self.complex, self.complex, self.opaque, self.pair, self.alias)
        choices = (*made, *made, *others)
        with self.block.function("main", [*self.pool, self.row, self.weight]):
            for _ in range(random.randint(1, 2)):
                with self.block.dataflow():
                    for _ in range(random.randint(1, size)):
                        self.pool.append(random.choice(choices)())
                    outputs = {id(value): value for value in (self.pool[-1], *self.some(random.randint(0, 2)))}
                    kept = [self.block.emit_output(value) for value in outputs.values()]
                # what is not an output of its block is seen in it only
                self.pool = kept
            self.block.emit_func_output(kept[0] if len(kept) == 1 else relax.Tuple(kept))

    def module(self) -> tvm.IRModule:
        return annotated(self.block.get())

    def some(self, count: int) -> list[Any]:
        return [self.old() for _ in range(count)]

    def old(self) -> Any:
        return self.pool[-1] if self.random.random() < 0.5 else self.random.choice(self.pool)

    def alias(self):
        return self.block.emit(self.old())

    def unary(self):
        return self.block.emit(self.random.choice(UNARY)(self.old()))

    def binary(self):
        return self.block.emit(self.random.choice(BINARY)(self.old(), self.old()))

    def stretched(self):
        return self.block.emit(self.random.choice(BINARY)(self.old(), self.row))

    def constant(self):
        return self.block.emit(relax.op.add(self.old(), relax.const(float(self.random.randint(0, 3)), "float32")))

    def arranged(self):
        return self.block.emit(relax.op.permute_dims(self.block.emit(relax.op.permute_dims(self.old()))))

    def joined(self):
        both = self.block.emit(relax.op.concat([self.old(), self.old()], axis=1))
        return self.block.emit(relax.op.strided_slice(both, [1], [0], [COLUMNS]))

    def parts(self):
        both = self.block.emit(relax.op.split(self.old(), 2, axis=1))
        halves = [self.block.emit(relax.TupleGetItem(both, i)) for i in (0, 1)]
        return self.block.emit(relax.op.concat(halves, axis=1))

    def reduced(self):
        total = self.block.emit(relax.op.sum(self.old(), axis=[1], keepdims=True))
        return self.block.emit(self.random.choice(BINARY)(self.old(), total))

    def complex(self):
        if self.random.random() < 0.3:
            return self.block.emit(relax.op.nn.softmax(self.old()))
        return self.block.emit(relax.op.matmul(self.old(), self.weight))

    def opaque(self):
        return self.block.emit(relax.op.cumsum(self.old(), axis=1))

    def pair(self):
        pair = self.block.emit(relax.Tuple([self.old(), self.old()]))
        return self.block.emit(relax.op.add(*(self.block.emit(relax.TupleGetItem(pair, i)) for i in (0, 1))))


def annotated(module: tvm.IRModule) -> tvm.IRModule:
    """The module as FuseOps gets it in the default pipeline."""
    passes = relax.transform
    before = (
        passes.DecomposeOpsForInference(),
        passes.DeadCodeElimination(),
        passes.LegalizeOps(),
        passes.AnnotateTIROpPattern(),
    )
    return tvm.transform.Sequential(before)(module)
