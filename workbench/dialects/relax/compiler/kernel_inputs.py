"""The arguments of a kernel: its symbolic sizes, and random arrays for given ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tvm_ffi
from tvm import tirx

from workbench.dialects.compiler.inputs import random_values
from workbench.dialects.relax import compat
from workbench.dialects.relax.kinds import arguments_of
from workbench.errors import MeasureError

Sizes = Callable[[Any], int]
"from a variable to its number"


def buffers_of(function: Any) -> list[Any]:
    """Return the buffer of each parameter, None for a number."""
    return [each if hasattr(each, "shape") else None for each in arguments_of(function)]


def symbols(function: Any) -> list[Any]:
    """Return the variables that the sizes of a kernel's buffers depend on, and its parameters that are numbers."""
    found: list[Any] = []
    for parameter, buffer in zip(function.params, buffers_of(function), strict=True):
        for part in (parameter,) if buffer is None else buffer.shape:
            if not isinstance(part, int):
                tvm_ffi.structural_walk(part, [(tirx.Var, found.append)])
    return list(dict.fromkeys(found))


def concrete(value: Any, sizes: Sizes) -> int:
    """Return a size as a number. Raises MeasureError: it depends on more than symbolic sizes."""
    if not isinstance(value, int):
        known = tvm_ffi.structural_map(value, (tirx.Var, lambda var: tirx.const(sizes(var), var.ty.dtype)))
        value = compat.arithmetic().Analyzer().simplify(known)
    number = getattr(value, "value", value)
    if not isinstance(number, int):
        raise MeasureError(f"the size {value} of a tensor is not a number, so the kernel cannot be run")
    return number


def arguments(function: Any, sizes: Sizes, seed: int, below: int) -> list[Any]:
    """Return random arrays and numbers for a kernel; integers of 32 and 64 bits are less than `below`, for they may be indices."""
    found: list[Any] = []
    for parameter, buffer in zip(function.params, buffers_of(function), strict=True):
        if buffer is None:
            found.append(sizes(parameter))
            continue
        shape, dtype = [concrete(each, sizes) for each in buffer.shape], str(buffer.dtype)
        limit = below if dtype.removeprefix("u") in ("int32", "int64") else None
        found.append(np.asarray(random_values(str(parameter.name), shape, dtype, seed, limit)))
    return found
