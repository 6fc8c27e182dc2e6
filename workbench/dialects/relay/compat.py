"""Names of older libraries that TVM 0.17 uses, for TVM's own modules only."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
from tvm.relay.quantize import _calibrate


def give_old_names(module: Any = _calibrate) -> None:
    """Give a TVM module a numpy with `np.math`, which numpy 2 removed; `relay.quantize` calls it."""
    if "math" not in vars(module.np):
        module.np = SimpleNamespace(**vars(np), math=math)
