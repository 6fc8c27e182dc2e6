"""ResizeDimensions: a program of other sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relay

from workbench.dialects.relay.passes.fill import with_values
from workbench.dialects.relay.passes.rewriting import with_types
from workbench.errors import PipelineError


@tvm.transform.module_pass(opt_level=0, name="ResizeDimensions")
@dataclass(frozen=True)
class ResizeDimensions:
    """Change every dimension of one size in `main`: of its inputs and constants, and the numbers of attributes.

    A constant keeps its first elements. The pass raises if the types no longer fit.
    """

    size: int
    to: int
    "the new size, which is smaller"
    attributes: bool = True
    "whether attributes that are this number, such as `units`, change too"

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
        return with_types(module, self._type, self._constant, self._value if self.attributes else None)

    def _constant(self, constant: relay.Constant) -> relay.Constant:
        return with_values(constant, lambda array: array[tuple(slice(self._size(d)) for d in array.shape)])

    def _size(self, dimension: Any) -> Any:
        return self.to if isinstance(dimension, (int, tvm.tir.IntImm)) and int(dimension) == self.size else dimension

    def _type(self, type: Any, _: relay.Var) -> Any:
        if not isinstance(type, relay.TensorType):
            return type
        return relay.TensorType([self._size(each) for each in type.shape], type.dtype)

    def _value(self, value: Any) -> Any:
        if isinstance(value, tvm.tir.IntImm) and int(value) == self.size:
            return tvm.tir.IntImm(value.dtype, self.to)
        if isinstance(value, tvm.ir.Array):
            return [self._value(each) for each in value]
        return value if isinstance(value, bool) else self._size(value)
