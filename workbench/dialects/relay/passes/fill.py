"""FillConstants: constants that have one value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import tvm
from tvm import relay

from workbench.dialects.relay.passes.nodes import located
from workbench.dialects.relay.passes.rewriting import Memo, rewritten, with_main


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
        at = located(relay.transform.InferType()(module))
        chosen = [at.expressions[node] for node in self.nodes]
        memo: Memo = {each: with_values(each, lambda array: np.full_like(array, self.value)) for each in chosen}
        return with_main(at.module, rewritten(at.module["main"], memo))


def with_values(given: relay.Constant, change: Callable[[np.ndarray], np.ndarray]) -> relay.Constant:
    """Return a constant of changed values; a number stays as it is."""
    array = given.data.numpy()
    return relay.const(np.ascontiguousarray(change(array)), given.data.dtype) if array.shape else given
