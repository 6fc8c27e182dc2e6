"""What the Relay samples share: parameters that are named, typed and filled in one call."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import relay

from workbench.samples._weights import Weights


class Builder(Weights):
    """Weights whose arrays are parameters of the function."""

    def weight(self, name: str, *shape: int, scale: float = 0.05) -> relay.Var:
        """A float32 parameter around zero."""
        return self._var(name, self.normal(name, shape, scale))

    def scale(self, name: str, *shape: int) -> relay.Var:
        """A positive float32 parameter."""
        return self._var(name, self.positive(name, shape))

    def _var(self, name: str, array: np.ndarray) -> relay.Var:
        return relay.var(name, shape=array.shape, dtype=str(array.dtype))

    def finish(self, inputs: list[relay.Var], result: relay.Expr) -> tuple[tvm.IRModule, dict[str, Any]]:
        """The module whose `main` takes the inputs, then the parameters."""
        free = [v for v in relay.analysis.free_vars(result) if v not in inputs]
        module = tvm.IRModule.from_expr(relay.Function([*inputs, *free], result))
        used = {v.name_hint for v in free}
        return module, {name: array for name, array in self.arrays.items() if name in used}


def constant(value: float | np.ndarray, dtype: str = "float32") -> relay.Constant:
    """A constant of the graph."""
    return relay.const(value, dtype)
