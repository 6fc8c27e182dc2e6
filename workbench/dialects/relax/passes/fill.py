"""FillConstants: constants that have one value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import tvm
from tvm import relax

from workbench.dialects.relax import compat
from workbench.dialects.relax.compat import identity
from workbench.dialects.relax.graph import build_graph
from workbench.dialects.relax.passes.rewriting import bindings_of, operands, rebuilt, with_main


@tvm.transform.module_pass(opt_level=0, name="FillConstants")
@dataclass(frozen=True)
class FillConstants:
    """Set all elements of the chosen constants to one value; a scalar stays as it is."""

    nodes: Sequence[int] = ()
    "the constants by their node ids in the module's graph"
    value: int = 1

    def transform_module(self, module: tvm.IRModule, _: tvm.transform.PassContext) -> tvm.IRModule:
        """Run on a module."""
        if not self.nodes:
            return module
        shown: dict[int, list[int]] = {}
        build_graph(module, "main", shown=shown)
        chosen, main = set(self.nodes), module["main"]
        instead: dict[int, relax.Expr] = {
            identity(each): with_values(each, lambda array: np.full_like(array, self.value))
            for each in constants_of(main)
            if chosen & set(shown.get(identity(each), ()))
        }
        return with_main(module, rebuilt(main, main.params, bindings_of(main), instead, [main.body.body]))


def constants_of(function: relax.Function) -> Iterator[relax.Expr]:
    """Yield the tensor constants that the bindings of a function read."""
    for binding in bindings_of(function):
        for each in operands(binding.value):
            if isinstance(each, compat.Constant) and compat.fixed_shape(compat.type_of(each)):
                yield each


def with_values(constant: relax.Expr, change: Callable[[np.ndarray], np.ndarray]) -> relax.Expr:
    """Return a constant of changed values."""
    array = np.ascontiguousarray(change(compat.value_of(constant).numpy()))
    return relax.const(array, compat.dtype_of(compat.type_of(constant)))
