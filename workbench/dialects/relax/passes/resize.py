"""ResizeDimensions: a program of other sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax

from workbench.dialects.relax import compat
from workbench.dialects.relax.compat import identity, type_of
from workbench.dialects.relax.passes.fill import constants_of, with_values
from workbench.dialects.relax.passes.rewriting import bindings_of, operands, rebuilt, with_main
from workbench.errors import PipelineError


@tvm.transform.module_pass(opt_level=0, name="ResizeDimensions")
@dataclass(frozen=True)
class ResizeDimensions:
    """Change every dimension of one size in `main`: of its inputs and constants, and of shapes among the arguments.

    A constant keeps its first elements. The pass raises if the types no longer fit.
    """

    size: int
    to: int
    "the new size, which is smaller"
    attributes: bool = True
    "whether shapes that operators take, such as that of `reshape`, change too"

    def __post_init__(self) -> None:
        """Refuse sizes that no tensor can have.

        Raises
        ------
        PipelineError
            The new size is not from 1 to the old one.
        """
        if not 0 < self.to <= self.size:
            raise PipelineError(f"the new size is {self.to!r}; give a whole number from 1 to {self.size}")

    def transform_module(self, module: tvm.IRModule, _: tvm.transform.PassContext) -> tvm.IRModule:
        """Run on a module."""
        if self.to == self.size:
            return module
        main = module["main"]
        params = [relax.Var(compat.name_of(each), self._type(type_of(each))) for each in main.params]
        instead: dict[int, relax.Expr] = {identity(old): new for old, new in zip(main.params, params, strict=True)}
        for each in constants_of(main):
            instead[identity(each)] = with_values(
                each, lambda array: array[tuple(slice(self._size(d)) for d in array.shape)]
            )
        if self.attributes:
            shapes = [each for binding in bindings_of(main) for each in operands(binding.value)]
            instead |= {
                identity(each): relax.ShapeExpr([self._size(d) for d in each.values])
                for each in shapes
                if isinstance(each, relax.ShapeExpr)
            }
        return with_main(module, rebuilt(main, params, bindings_of(main), instead, [main.body.body]))

    def _size(self, dimension: Any) -> Any:
        return self.to if compat.is_number(dimension) and int(dimension) == self.size else dimension

    def _type(self, type: Any) -> Any:
        shape = compat.dimensions_of(type)
        return type if shape is None else compat.tensor_type(tuple(map(self._size, shape)), compat.dtype_of(type))
