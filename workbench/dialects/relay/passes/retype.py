"""ChangeDtype: a program of another data type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relay

from workbench.analysis.subprograms import check_dtype, check_given
from workbench.dialects.relay.passes.nodes import located
from workbench.dialects.relay.passes.rewriting import with_types


@tvm.transform.module_pass(opt_level=0, name="ChangeDtype")
@dataclass(frozen=True)
class ChangeDtype:
    """Change one data type to another in `main`: of its inputs and constants, and in attributes such as that of `cast`.

    The values of constants are converted. The pass raises if the types no longer fit.
    """

    dtype: str
    to: str
    nodes: Sequence[int] = ()
    "inputs and constants by their node ids in the module's graph, which alone change; empty for all, and the attributes"

    def __post_init__(self) -> None:
        """Refuse data types that numpy cannot convert.

        Raises
        ------
        PipelineError
            One is not a type of numbers.
        """
        check_dtype(self.dtype)
        check_dtype(self.to)

    def transform_module(self, module: tvm.IRModule, _: tvm.transform.PassContext) -> tvm.IRModule:
        """Run on a module; raises IllegalEdit if a node is not an input or a constant."""
        if not self.nodes:
            return with_types(module, self._type, self._constant, self._attribute)
        at = located(relay.transform.InferType()(module))
        check_given(at.graph, self.nodes)
        chosen = [at.expressions[node] for node in self.nodes]
        return with_types(
            at.module,
            lambda type, of: self._type(type, of) if of in chosen else type,
            lambda constant: self._constant(constant) if constant in chosen else constant,
            None,
        )

    def _type(self, type: Any, _: relay.Var) -> Any:
        is_one = isinstance(type, relay.TensorType) and type.dtype == self.dtype
        return relay.TensorType(type.shape, self.to) if is_one else type

    def _constant(self, constant: relay.Constant) -> relay.Constant:
        data = constant.data
        return relay.const(data.numpy().astype(self.to), self.to) if data.dtype == self.dtype else constant

    def _attribute(self, value: Any) -> Any:
        return self.to if isinstance(value, str) and value == self.dtype else value
