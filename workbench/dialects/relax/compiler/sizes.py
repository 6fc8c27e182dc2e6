"""Sizes of tensors in bytes, with upper bounds where a function gives bounds of its symbolic dimensions."""

from __future__ import annotations

from math import prod
from typing import Any, TypedDict

import tvm
from tvm import relax

from workbench.analysis.tensors import Tensor
from workbench.dialects.relax import compat

_BOUNDS = "tir_var_upper_bound"
"the attribute of a function with the largest value of each symbolic dimension; StaticPlanBlockMemory reads it"


class Size(TypedDict):
    """Fields of a Value."""

    bytes: int
    expression: str


class Sizes:
    """The sizes of a function's tensors."""

    def __init__(self, function: relax.Function) -> None:
        self.analyzer = compat.arithmetic().Analyzer()
        bounds = (function.attrs or {}).get(_BOUNDS) or {}
        limits = {str(name): int(bound) for name, bound in bounds.items()}
        for variable in compat.variables_of(compat.type_of(function)):
            name = compat.symbol_name(variable)
            if name in limits:
                self.analyzer.bind(variable, tvm.ir.Range(0, limits[name] + 1))

    def tensor(self, type: Any) -> Tensor | None:
        """Return a type as a Tensor; None for any other type, and where the shape is unknown."""
        values = compat.dimensions_of(type)
        if values is None:
            return None
        return Tensor(
            tuple(int(each) if compat.is_number(each) else str(each) for each in values), compat.dtype_of(type)
        )

    def of_tensor(self, type: Any) -> Size:
        """Return the bytes of a tensor, 0 where its size has no bound; and the expression of an open size."""
        tensor = self.tensor(type)
        if tensor is None or tensor.known:
            return {"bytes": 0 if tensor is None else tensor.nbytes, "expression": ""}
        item = Tensor((), tensor.dtype).nbytes
        limits = [self.limit(each) or 0 for each in compat.dimensions_of(type) or ()]
        text = "*".join(str(each) if str(each).isalnum() else f"({each})" for each in (item, *tensor.shape))
        return {"bytes": item * prod(limits), "expression": text}

    def of_shape(self, shape: Any) -> tuple[int, str]:
        """Return the bytes of an `alloc_storage`, and their expression if they are open."""
        (size,) = shape.values
        if compat.is_number(size):
            return int(size), ""
        return self.limit(size) or 0, str(size).replace(" ", "")

    def limit(self, expr: Any) -> int | None:
        """Return the largest value of an expression; None if it has no bound."""
        if compat.is_number(expr):
            return int(expr)
        found = self.analyzer.const_int_bound(expr).max_value
        return None if found >= compat.arithmetic().ConstIntBound.POS_INF else int(found)
