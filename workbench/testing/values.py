"""Values of generated programs, and the bounds of what elementwise operators return."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

Shape = tuple["int | str", ...]
"dimensions; a symbolic one is its name"
Type = tuple[Shape, str]
"shape and data type"
Span = tuple[float, float]
"bounds"
SIZES = {"n": 3, "m": 4}
"sizes of symbolic dimensions in runs"
LIMITS = {"float32": 1000, "float16": 60, "int8": 127, "uint8": 255, "int32": 1e6, "int64": 1e6, "bool": 1}
"largest value of each data type"
SAFE_FLOATS: tuple[Span, ...] = (0.5, 1.5), (-0.9, 0.9), (1.1, 2.0)
SAFE_INTEGERS: tuple[Span, ...] = (1, 3), (0, 3)
"ranges that operands are scaled to where an operator does not take theirs"


class Refused(Exception):
    """An operator does not take these operands, or its result would be useless: constant, infinite or not a number."""


def refuse(condition: bool) -> None:
    """Raise Refused if a condition holds."""
    if condition:
        raise Refused


@dataclass(eq=False)
class Value:
    """A value of a program, with bounds of its elements."""

    expr: Any
    shape: Shape
    dtype: str
    low: float
    high: float
    exact: bool = True
    "whether rounding cannot change it: comparisons of others may turn out differently in a correct build"
    kind: str = ""
    "input, param or constant; empty for the result of a call"
    fields: Sequence[Type] = ()
    "of a tuple, whose own type is that of the first one"
    fixed: bool = False
    "whether a pattern wants it as it is, so that it is not scaled"
    users: int = 0

    @property
    def type(self) -> Type:
        return self.shape, self.dtype

    @property
    def floating(self) -> bool:
        return self.dtype.startswith("float")

    @property
    def span(self) -> Span:
        return self.low, self.high

    @property
    def largest(self) -> float:
        return max(-self.low, self.high)


def size_of(*shape: int | str) -> int:
    """Return the number of elements of a shape, in a run."""
    return math.prod(SIZES[each] if isinstance(each, str) else each for each in shape)


_HUGE = 1 << 40
_DIVISIONS: dict[str, Callable[..., Any]] = {"floor_mod": np.mod, "mod": np.fmod, "trunc_mod": np.fmod}
_DIVISIONS |= dict.fromkeys(("floor_divide", "trunc_divide"), np.floor_divide)
_DIVISIONS["divide"] = lambda x, y: x / y if (x * y).dtype.kind == "f" else x // y
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{f"a{each}": getattr(np, f"arc{each}") for each in ("cos", "cosh", "sin", "sinh", "tan", "tanh")},
    "erf": np.tanh,
    "cast_like": lambda x, _y: x,
    "copy": lambda x: x,
    "log_add_exp": np.logaddexp,
    "nn.relu": lambda x: x * (x > 0),
    "power": lambda x, y: np.power(x * 1.0, y),  # of floats only
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "square": lambda x: x * (x * 1.0),  # TVM makes it a power
    "tan": lambda x: np.where(np.abs(x) < 1.4, np.tan(x), np.nan),
    # numpy divides integers by zero
    **{name: lambda x, y, f=f: np.where(y == 0, _HUGE, f(x, y)) for name, f in _DIVISIONS.items()},
    "left_shift": lambda x, y: np.where((y < 0) | (y > 5), _HUGE, x << np.clip(y, 0, 5)),
    "right_shift": lambda x, y: np.where((y < 0) | (y > 5), _HUGE, x >> np.clip(y, 0, 5)),
}
"operator -> the function of its bounds, where numpy has none of its name"
_STEPS = {
    *("floor", "ceil", "round", "trunc", "sign", "mod", "floor_mod", "floor_divide", "trunc_mod", "trunc_divide"),
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
}
"operators whose results jump, which take exact values only"
_EXACT = _STEPS | {"abs", "negative", "maximum", "minimum", "nn.relu", "copy", "cast_like"}
"operators of floats whose results are exact if their operands are"


def bounds(name: str, operands: Sequence[Value], result: str, ranges: Sequence[Span]) -> Span:
    """Return the bounds of an elementwise operator of operands in these ranges. Raises Refused: it has none, or one value only."""
    function = _FUNCTIONS.get(name) or getattr(np, name, None)
    refuse(name in _STEPS and not all(each.exact for each in operands))
    same = len(operands) == 1 or operands[0] is operands[1]
    grids = [_grid(*span, each.dtype, 17 if same else 9) for span, each in zip(ranges, operands, strict=True)]
    if function is None:
        refuse(len(operands) == 2 or not operands[0].floating)
        return min(-1.0, *(low for low, _ in ranges)), max(1.0, *(high for _, high in ranges))
    if len(grids) == 2:
        grids = [grids[0], grids[0]] if same else [grids[0][:, None], grids[1]]
    try:
        with np.errstate(all="ignore"):
            found = np.asarray(function(*grids))
    except (TypeError, ValueError):
        raise Refused from None
    low, high = float(found.min()), float(found.max())
    refuse(found.dtype.kind != result[0] or not low < high or not max(-low, high) <= LIMITS[result])
    return low, high


def scaled_bounds(name: str, operands: Sequence[Value], result: str) -> tuple[Span, dict[Value, Span]]:
    """Return the bounds of an elementwise operator, and those that its operands need. Raises Refused: scaling does not help."""
    safe_ranges = SAFE_FLOATS if any(each.floating for each in operands) else SAFE_INTEGERS
    for safe in (None, *safe_ranges):
        needed = {x: x.span if safe is None or x.fixed or x.dtype == "bool" else safe for x in operands}
        with suppress(Refused):
            return bounds(name, operands, result, [needed[each] for each in operands]), needed
    raise Refused


def is_exact(name: str, operands: Collection[Value]) -> bool:
    """Return whether rounding cannot change what an elementwise operator returns."""
    return all(each.exact and (name in _EXACT or not each.floating) for each in operands)


def _grid(low: float, high: float, dtype: str, points: int) -> np.ndarray:
    if dtype == "bool":
        return np.array([False, True])
    found = np.append(np.linspace(low, high, points), [0.0] if low < 0 < high else [])
    return found if dtype.startswith("float") else np.unique(np.round(found)).astype(np.int64)
