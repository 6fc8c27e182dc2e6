"""The operators of generated programs, and the range of the values that each returns.

Operators of one or two tensors without attributes are those that TVM registers (`elementwise` of a dialect); their ranges are numpy's
functions of the same name, on a grid. `RECIPES` has the others. A recipe makes a call forwards, from the type of an operand, or backwards,
to a result of a wanted type, as a pattern needs it. It takes each operand from its Task.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import tvm

if TYPE_CHECKING:
    from workbench.testing.programs import Growth

Shape = tuple["int | str", ...]
"dimensions; a symbolic one is its name"
Type = tuple[Shape, str]
"shape and data type"
Elementwise = Mapping[str, tuple[int, Mapping[str, str]]]
"operator -> number of operands, and data type of the operands -> data type of the result"
PROBED = ("float32", "float16", "int32", "int8", "bool")
"data types that TVM is asked about"
SIZES = {"n": 3, "m": 4}
"sizes of symbolic dimensions in runs"
LIMITS = {"float32": 1000, "float16": 60, "int8": 127, "uint8": 255, "int32": 1e6, "int64": 1e6, "bool": 1}
"largest value of each data type"
LARGEST = 4096
"most elements of a value"


class Refused(Exception):
    """An operator does not take these operands, or its result would be useless: of one value only, infinite or not a number."""


@dataclass(eq=False)
class Value:
    """A value of a program, with bounds of its elements."""

    expr: Any
    "the dialect's expression"
    shape: Shape
    dtype: str
    low: float
    high: float
    exact: bool = True
    "whether rounding cannot change it: a comparison of others may turn out differently in a correct build"
    fixed: bool = False
    "whether a pattern wants it as it is, so that it cannot be scaled"
    kind: str = ""
    "input, param or constant; empty for a call's"
    users: int = 0

    @property
    def is_float(self) -> bool:
        return self.dtype.startswith("float")


@dataclass
class Task:
    """One call to make."""

    random: Random
    shape: Shape
    "shape of the first operand; backwards, of the result"
    dtype: str
    take: Callable[..., Value]
    "(place, shape, dtype, weight=False) -> an operand"
    backwards: bool = False
    attrs: Mapping[str, Any] = field(default_factory=dict)
    "attributes that a pattern wants"
    other: bool = False
    "whether they have to have other values than these: a near miss"

    def attr(self, name: str, choices: Sequence[Any]) -> Any:
        """Return an attribute: the wanted one if there is one, else one of the choices."""
        wanted = _plain(self.attrs[name]) if name in self.attrs else None
        if wanted is not None and not self.other:
            return wanted
        left = [each for each in choices if wanted is None or _plain(each) != wanted]
        if not left:
            raise Refused
        return self.random.choice(left)

    def resized(self, axis: int, size: int | str) -> Shape:
        """Return the shape with another size of an axis."""
        return (*self.shape[:axis], size, *self.shape[axis + 1 :])


def _plain(value: Any) -> Any:
    plain = [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value
    return plain[0] if isinstance(plain, list) and len(plain) == 1 else plain


@cache
def half(name: str) -> bool:
    """Return whether TVM lowers an operator of float16 for a CPU: by LLVM's own function, not by one of C's library."""
    known = {str(each) for each in tvm.ir.Op.list_op_names()}
    for intrinsic in {f"tirx.{name}", f"tir.{name}"} & known:
        op = tvm.ir.Op.get(intrinsic)
        return op.get_attr("default.FLowerIntrinsic") is None or op.get_attr("llvm.FLowerIntrinsic") is not None
    return name != "nn.gelu"  # by erf


def size_of(shape: Shape) -> int:
    """Return the number of elements, in a run."""
    return math.prod(SIZES.get(each, each) if isinstance(each, str) else each for each in shape)


# -- ranges

_NAN = float("nan")
_DIVISIONS = {
    "floor_divide": np.floor_divide,
    "floor_mod": np.mod,
    "mod": np.fmod,
    "trunc_divide": np.floor_divide,
    "trunc_mod": np.fmod,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cast_like": lambda x, _y: x,
    "copy": lambda x: x,
    "erf": np.tanh,
    "fast_erf": np.tanh,
    "fast_exp": np.exp,
    "fast_tanh": np.tanh,
    "log_add_exp": np.logaddexp,
    "nn.relu": lambda x: x * (x > 0),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "square": lambda x: np.multiply(x, x * 1.0),  # of integers TVM makes a power, which is of floats only
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tan": lambda x: np.where(np.abs(x) < 1.4, np.tan(x), _NAN),
    **{
        name: lambda x, y, f=f: np.where(y == 0, 1 << 40, f(x, y))  # numpy returns 0 for integers
        for name, f in _DIVISIONS.items()
    },
    **{
        name: lambda x, y, f=f: np.where((y >= 0) & (y < 6), f(x, np.clip(y, 0, 6)), 1 << 40)
        for name, f in (("left_shift", np.left_shift), ("right_shift", np.right_shift))
    },
}
"operator -> the function of its range, where numpy has none of its name"
STEPS = {
    *("floor", "ceil", "round", "trunc", "sign", "mod", "floor_mod", "floor_divide", "trunc_mod", "trunc_divide"),
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
}
"operators that a rounding error may change by more than that; they take exact values only"
EXACT = STEPS | {"abs", "negative", "maximum", "minimum", "nn.relu", "copy", "cast_like"}
"operators of floats whose results are exact if their operands are"
NOT_SYMMETRIC = ("subtract", "divide", "power", "floor_divide", "greater", "less", "mod", "floor_mod")
SAFE = ((0.5, 1.5), (-0.9, 0.9), (1.1, 2.0), (1, 3), (0, 1))
"ranges that operands are scaled to where an operator does not take theirs"


def _grid(low: float, high: float, dtype: str, points: int) -> np.ndarray:
    if dtype == "bool":
        return np.array([False, True])
    found = np.linspace(low, high, points)
    if low < 0 < high:
        found = np.append(found, 0.0)
    return found if dtype.startswith("float") else np.unique(np.round(found)).astype(np.int64)


def bounds(
    name: str, operands: Sequence[Value], result: str, ranges: Sequence[tuple[float, float]]
) -> tuple[float, float]:
    """Return the bounds of an elementwise operator of operands in these ranges. Raises Refused: it has none, or a single value."""
    function = _FUNCTIONS.get(name) or getattr(np, name, None)
    one = len(operands) == 1 or operands[0] is operands[1]
    points = [_grid(*span, each.dtype, 17 if one else 9) for span, each in zip(ranges, operands, strict=True)]
    if function is None:
        if not all(each.is_float for each in operands):
            raise Refused
        return min(-1.0, *(low for low, _ in ranges)), max(1.0, *(high for _, high in ranges))
    if len(points) == 2:
        points = [points[0], points[0]] if one else [points[0][:, None], points[1][None, :]]
    try:
        with np.errstate(all="ignore"):
            found = np.asarray(function(*points))
    except (TypeError, ValueError):
        raise Refused from None
    if found.dtype.kind != {"f": "f", "i": "i", "b": "b"}.get(result[0]) or not np.isfinite(found).all():
        raise Refused
    if operands[0].dtype == "bool" and not name.startswith("logical"):
        raise Refused
    low, high = float(found.min()), float(found.max())
    if low == high or max(-low, high) > LIMITS[result]:
        raise Refused
    return low, high


# -- recipes

Recipe = Callable[["Growth", Task, str], Value]


def _elementwise(g: Growth, t: Task, name: str) -> Value:
    arity, results = g.elementwise[name]
    kinds = [each for each, result in results.items() if result == t.dtype] if t.backwards else [t.dtype]
    dtype = t.dtype if t.dtype in kinds else t.random.choice(kinds) if kinds else ""
    if dtype not in results:
        raise Refused
    shapes = [t.shape, t.shape]
    if t.random.random() < 0.3:
        shapes[1] = _narrowed(t.random, t.shape)
        if not t.backwards and t.random.random() < 0.3:
            shapes.reverse()
    return g.apply(name, [t.take(place, shapes[place], dtype) for place in range(arity)], results[dtype])


def _narrowed(random: Random, shape: Shape) -> Shape:
    """Return a shape that broadcasts to this one."""
    kept = shape[random.randint(0, len(shape)) :]
    return tuple(1 if random.random() < 0.3 else each for each in kept)


def _reduce(g: Growth, t: Task, name: str) -> Value:
    axis = t.attr("axis", range(len(t.shape) + t.backwards))
    shape = t.shape
    if t.dtype == "bool":
        raise Refused
    if t.backwards:
        shape = (*t.shape[:axis], g.dimension(), *t.shape[axis:])
    count = size_of((shape[axis],))
    x = t.take(0, shape, t.dtype)
    low, high = x.low, x.high
    if name == "sum":
        low, high = low * count, high * count
    elif name == "prod":
        low, high = -(max(-low, high) ** count), max(-low, high) ** count
    elif name in ("variance", "std"):
        low, high = 0.0, ((high - low) / 2) ** (2 if name == "variance" else 1)
    elif name.startswith("arg"):
        low, high = 0, count - 1
        if not x.exact:
            raise Refused
    if (count == 1 and name in ("variance", "std", "argmax", "argmin")) or (
        name not in _ORDERED and not x.is_float and name != "sum"
    ):
        raise Refused
    keep = t.attr("keepdims", [False] if t.backwards else [False, False, True])
    return g.make(name, [x], low, high, axis, keep, exact=name in _ORDERED and x.exact)


_ORDERED = ("max", "min", "argmax", "argmin")


def _normal(g: Growth, t: Task, name: str) -> Value:
    axis = t.attr("axis", [-1, -1, *range(len(t.shape))])
    x = t.take(0, t.shape, _float(t.dtype))
    if size_of((t.shape[axis],)) == 1 or x.high - x.low > 50:
        raise Refused
    low = 0.0 if "log" not in name else x.low - x.high - 5
    return g.make(name, [x], low, 1.0 if low == 0 else 0.0, axis)


def _float(dtype: str) -> str:
    if not dtype.startswith("float"):
        raise Refused
    return dtype


def _transpose(g: Growth, t: Task, name: str) -> Value:
    axes = list(range(len(t.shape)))
    t.random.shuffle(axes)
    axes = t.attr("axes", [axes])
    shape = list(t.shape)
    if t.backwards:
        for place, axis in enumerate(axes):
            shape[axis] = t.shape[place]
    if axes == sorted(axes) and t.random.random() < 0.97:
        raise Refused
    return g.moved(name, [t.take(0, tuple(shape), t.dtype)], list(axes))


def _reshape(g: Growth, t: Task, name: str) -> Value:
    other = g.reshaped(t.shape)
    if other == t.shape and t.random.random() < 0.97:
        raise Refused
    start, end = (other, t.shape) if t.backwards else (t.shape, other)
    return g.moved(name, [t.take(0, start, t.dtype)], end)


def _expand(g: Growth, t: Task, name: str) -> Value:
    ones = [axis for axis, each in enumerate(t.shape) if each == 1]
    if t.backwards and not ones:
        raise Refused
    axis = t.attr("axis", ones if t.backwards else range(len(t.shape) + 1))
    start = (*t.shape[:axis], *t.shape[axis + 1 :]) if t.backwards else t.shape
    return g.moved(name, [t.take(0, start, t.dtype)], axis)


def _squeeze(g: Growth, t: Task, name: str) -> Value:
    ones = [axis for axis, each in enumerate(t.shape) if each == 1]
    if not t.backwards and not ones:
        raise Refused
    axis = t.attr("axis", range(len(t.shape) + 1) if t.backwards else ones)
    start = (*t.shape[:axis], 1, *t.shape[axis:]) if t.backwards else t.shape
    return g.moved(name, [t.take(0, start, t.dtype)], [axis])


def _broadcast(g: Growth, t: Task, name: str) -> Value:
    if size_of(t.shape) == 1:
        raise Refused
    if t.backwards:
        return g.moved(name, [t.take(0, _narrowed(t.random, t.shape), t.dtype)], t.shape)
    return g.moved(
        name,
        [t.take(0, t.shape, t.dtype)],
        (g.dimension(), *(g.dimension() if each == 1 else each for each in t.shape)),
    )


def _cast(g: Growth, t: Task, name: str) -> Value:
    others = [each for each in ("float32", "float16", "int32", "int8") if each != t.dtype]
    dtype = t.attr("dtype", [t.dtype] if t.backwards else others)
    x = t.take(0, t.shape, t.random.choice([each for each in others if each != dtype]) if t.backwards else t.dtype)
    whole = not dtype.startswith("float")
    low, high = (math.trunc(x.low), math.trunc(x.high)) if whole else (x.low, x.high)
    if low == high or (whole and not x.exact):
        raise Refused
    return g.make(name, [x], low, high, dtype, exact=x.exact and (whole or not x.is_float or x.dtype == "float16"))


def _axis(t: Task, *, even: bool) -> int:
    """Return an axis whose size is a number, and even if wanted."""
    fits = [a for a, each in enumerate(t.shape) if isinstance(each, int) and (not even or each % 2 == 0)]
    if not fits:
        raise Refused
    return t.attr("axis", fits)


def _concat(g: Growth, t: Task, name: str) -> Value:
    axis = _axis(t, even=t.backwards)
    half = t.shape[axis]
    assert isinstance(half, int)
    sizes = (half // 2, half // 2) if t.backwards else (half, g.dimension())
    parts = [t.take(place, t.resized(axis, size), t.dtype) for place, size in enumerate(sizes)]
    return g.moved(name, parts, axis, together=True)


def _stack(g: Growth, t: Task, name: str) -> Value:
    if t.backwards:
        raise Refused
    return g.moved(
        name, [t.take(place, t.shape, t.dtype) for place in range(2)], t.random.randint(0, len(t.shape)), together=True
    )


def _split(g: Growth, t: Task, name: str) -> Value:
    axis = _axis(t, even=not t.backwards)
    size = t.shape[axis]
    assert isinstance(size, int)
    x = t.take(0, t.resized(axis, size * 2) if t.backwards else t.shape, t.dtype)
    parts = t.attr("indices_or_sections", [2])
    return g.fields(g.made(name, [x], parts, axis), x.low, x.high, x.exact)


def _slice(g: Growth, t: Task, name: str) -> Value:
    axis = _axis(t, even=False)
    size = t.shape[axis]
    assert isinstance(size, int)
    if t.backwards:
        x = t.take(0, t.resized(axis, size + 2), t.dtype)
        return g.moved(name, [x], begin=[1], end=[size + 1], axes=[axis], strides=[1])
    begin, step = t.random.randint(0, size // 2), t.random.choice([1, 1, 2])
    return g.moved(name, [t.take(0, t.shape, t.dtype)], begin=[begin], end=[size], axes=[axis], strides=[step])


def _pad(g: Growth, t: Task, name: str) -> Value:
    width = [(0, 1)] * len(t.shape)
    if t.backwards or not t.shape or t.dtype == "bool":
        raise Refused
    x = t.take(0, t.shape, t.dtype)
    pairs: list[Any] = (
        [list(each) for each in width] if not g.writer.prefix else [side for each in width for side in each]
    )
    return g.make(name, [x], min(0, x.low), max(0, x.high), pairs, exact=x.exact)


def _take(g: Growth, t: Task, name: str) -> Value:
    axis = t.attr("axis", range(len(t.shape)))
    count = t.shape[axis]
    start = t.resized(axis, g.dimension()) if t.backwards else t.shape
    if isinstance(count, str) and t.backwards:
        raise Refused
    x, below = t.take(0, start, t.dtype), size_of((start[axis],))
    indices = t.take(1, (count,) if t.backwards else (g.dimension(),), "int32", below=below)
    return g.moved(name, [x, indices], axis)


def _repeat(g: Growth, t: Task, name: str) -> Value:
    axis = _axis(t, even=t.backwards)
    size = t.shape[axis]
    assert isinstance(size, int)
    x = t.take(0, t.resized(axis, size // 2) if t.backwards else t.shape, t.dtype)
    times = [2 if place == axis else 1 for place in range(len(t.shape))]
    return g.moved(name, [x], times) if name == "tile" else g.moved(name, [x], 2, axis)


def _flip(g: Growth, t: Task, name: str) -> Value:
    axis = t.attr("axis", range(len(t.shape)))
    return g.moved(name, [t.take(0, t.shape, t.dtype)], axis)


def _where(g: Growth, t: Task, name: str) -> Value:
    test = t.take(0, t.shape, "bool")
    return g.moved(name, [test, t.take(1, t.shape, t.dtype), t.take(2, t.shape, t.dtype)], of=(1, 2))


def _clip(g: Growth, t: Task, name: str) -> Value:
    x = t.take(0, t.shape, t.dtype)
    low, high = -t.random.choice([1.0, 2.0, 4.0]), t.random.choice([1.0, 2.0, 6.0])
    if x.low >= high or x.high <= low or t.dtype == "bool":
        raise Refused
    return g.make(name, [x], max(low, x.low), min(high, x.high), low, high, exact=x.exact)


def _leaky(g: Growth, t: Task, name: str) -> Value:
    x = t.take(0, t.shape, _float(t.dtype))
    return g.make(name, [x], x.low, max(x.high, 0), *([0.2] if "soft" not in name else []))


def _matmul(g: Growth, t: Task, name: str) -> Value:
    if (
        len(t.shape) < 2
        or t.dtype == "bool"
        or (not name.endswith("matmul") and len(t.shape) != 2)
        or (name == "nn.matmul" and len(t.shape) != 2)
        or (name == "nn.batch_matmul" and len(t.shape) != 3)
    ):
        raise Refused
    *lead, rows, last = t.shape
    inner, columns = (g.dimension(), last) if t.backwards else (last, g.dimension())
    x = t.take(0, (*lead, rows, inner), t.dtype)
    many = name == "nn.batch_matmul" or (name == "matmul" and t.random.random() < 0.4)
    turned = name in ("nn.dense", "nn.batch_matmul")
    shape = (*(lead if many else ()), *((columns, inner) if turned else (inner, columns)))
    y = t.take(1, shape, t.dtype, weight=t.random.random() < 0.6)
    return _product(g, name, x, y, size_of((inner,)))


def _product(g: Growth, name: str, x: Value, y: Value, count: int, **attrs: Any) -> Value:
    high = max(-x.low, x.high) * max(-y.low, y.high) * count
    out = {"out_dtype": "int32"} if x.dtype == "int8" else {}
    return g.make(name, [x, y], -high, high, exact=not x.is_float and x.exact and y.exact, **out, **attrs)


def _image(t: Task) -> tuple[Any, ...]:
    if len(t.shape) != 4 or any(isinstance(each, str) for each in t.shape[1:]):
        raise Refused
    return t.shape


def _conv(g: Growth, t: Task, name: str) -> Value:
    batch, channels, height, width = _image(t)
    if t.dtype not in ("float32", "float16", "int8"):
        raise Refused
    kernel = t.random.choice([1, 1, 3, 3])
    inputs, outputs = (g.dimension(), channels) if t.backwards else (channels, g.dimension())
    x = t.take(0, (batch, inputs, height, width), t.dtype)
    y = t.take(1, (outputs, inputs, kernel, kernel), t.dtype, weight=True)
    padding = t.attr("padding", [kernel // 2])
    relay = {} if g.writer.prefix else {"channels": outputs, "kernel_size": (kernel, kernel)}
    pairs = {"strides": (1, 1), "padding": (padding, padding) if isinstance(padding, int) else tuple(padding)}
    return _product(g, name, x, y, int(inputs) * kernel * kernel, **pairs, **relay)


def _pool(g: Growth, t: Task, name: str) -> Value:
    _image(t)
    x = t.take(0, t.shape, _float(t.dtype))
    low, high = min(0, x.low), max(0, x.high)
    return g.make(
        name, [x], low, high, pool_size=(3, 3), strides=(1, 1), padding=(1, 1), exact="max" in name and x.exact
    )


def _layer_norm(g: Growth, t: Task, name: str) -> Value:
    width = t.shape[-1] if t.shape else 1
    if not isinstance(width, int) or width == 1 or len(t.shape) == 1:
        raise Refused
    x = t.take(0, t.shape, _float(t.dtype))
    rest = [t.take(place, (width,), t.dtype, weight=True) for place in range(1, 2 if name == "nn.rms_norm" else 3)]
    high = math.sqrt(width) * max(max(-each.low, each.high) for each in rest) + 1.5
    return g.make(name, [x, *rest], -high, high, -1)


def _batch_norm(g: Growth, t: Task, name: str) -> Value:
    if len(t.shape) < 2 or not isinstance(channels := t.shape[1], int):
        raise Refused
    x = t.take(0, t.shape, _float(t.dtype))
    rest = [t.take(place, (channels,), t.dtype, weight=True, positive=True) for place in range(1, 5)]
    high = 3 * (max(-x.low, x.high) + 2)
    attrs = {"training": False} if g.writer.prefix else {}
    return g.fields(g.made(name, [x, *rest], 1, **attrs), -high, high, exact=False, place=0)


def _bias_add(g: Growth, t: Task, name: str) -> Value:
    if not t.shape or not isinstance(width := t.shape[-1], int) or t.dtype == "bool":
        raise Refused
    x, bias = t.take(0, t.shape, t.dtype), t.take(1, (width,), t.dtype, weight=True)
    return g.make(name, [x, bias], x.low + bias.low, x.high + bias.high, -1)


RECIPES: dict[str, tuple[float, Recipe]] = {
    **dict.fromkeys(("sum", "mean", "max", "min"), (1.0, _reduce)),
    **dict.fromkeys(("variance", "std", "prod", "argmax", "argmin"), (0.4, _reduce)),
    **dict.fromkeys(("nn.softmax", "nn.log_softmax"), (1.0, _normal)),
    **dict.fromkeys(("permute_dims", "transpose"), (2.0, _transpose)),
    "reshape": (2.0, _reshape),
    "expand_dims": (0.7, _expand),
    "squeeze": (0.7, _squeeze),
    "broadcast_to": (0.7, _broadcast),
    **dict.fromkeys(("astype", "cast"), (2.5, _cast)),
    **dict.fromkeys(("concat", "concatenate"), (2.0, _concat)),
    "stack": (0.4, _stack),
    "split": (2.0, _split),
    "strided_slice": (1.0, _slice),
    "nn.pad": (0.4, _pad),
    "take": (1.0, _take),
    **dict.fromkeys(("tile", "repeat"), (0.4, _repeat)),
    **dict.fromkeys(("flip", "reverse"), (0.4, _flip)),
    "where": (1.5, _where),
    "clip": (1.0, _clip),
    **dict.fromkeys(("nn.leakyrelu", "nn.leaky_relu", "nn.softplus"), (0.4, _leaky)),
    **dict.fromkeys(("matmul", "nn.dense", "nn.batch_matmul", "nn.matmul"), (3.0, _matmul)),
    "nn.conv2d": (6.0, _conv),
    **dict.fromkeys(("nn.max_pool2d", "nn.avg_pool2d"), (1.0, _pool)),
    **dict.fromkeys(("nn.layer_norm", "nn.rms_norm"), (0.7, _layer_norm)),
    "nn.batch_norm": (1.5, _batch_norm),
    "nn.bias_add": (1.0, _bias_add),
}
"operator -> how often it is chosen, and how it is called"


def call_operator(g: Growth, t: Task, name: str) -> Value:
    """Make a call of an operator. Raises Refused: it does not take the task's type, or the dialect lacks it."""
    if name in g.elementwise:
        return _elementwise(g, t, name)
    if name not in RECIPES:
        raise Refused
    try:
        return RECIPES[name][1](g, t, name)
    except IndexError:  # an axis that this shape does not have
        raise Refused from None
