"""The operators of generated programs, and the bounds of their results.

Operators of one or two tensors without attributes are those that TVM registers; the bounds of their results are those of numpy's
function of the same name, on a grid. `RECIPES` has the others. A recipe makes a call forwards, from the type of an operand, or
backwards, to a result of a wanted type, as a pattern needs it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import tvm

from workbench.testing.values import Refused, Shape, Value, refuse, size_of

if TYPE_CHECKING:
    from workbench.testing.growth import Growth

FLOATS = ("float32", "float16")
NUMBERS = (*FLOATS, "int32", "int8")
DTYPES = (*NUMBERS, "bool")
EPSILONS = (1e-5, 1e-5, 0.1)
COMMON = {"add": 4, "multiply": 4, "subtract": 2, "nn.relu": 2, "divide": 1, "maximum": 1, "exp": 1, "sigmoid": 1}
"how often elementwise operators are chosen, where it is not 0.2"


@dataclass
class Task:
    """One call to make."""

    growth: Growth
    name: str
    "of the operator"
    shape: Shape
    "of the first operand; backwards, of the result"
    dtype: str
    take: Callable[..., Value]
    "(place, shape, dtype, weight=, within=) -> an operand"
    backwards: bool = False
    attrs: Mapping[str, Any] = field(default_factory=dict)
    "attributes that a pattern wants"
    parts: int = 2
    "fields of an operand that is a tuple"

    def __post_init__(self) -> None:
        self.random, self.size = self.growth.random, self.growth.dimension

    def call(self) -> Value:
        """Make the call. Raises Refused: the operator does not take the task's type, or the dialect lacks it."""
        try:
            operator = self.growth.operators[self.name]
            refuse(self.dtype not in operator.dtypes)
            return operator.recipe(self)
        except (IndexError, KeyError, OverflowError):  # an axis that the shape lacks, no such operator, huge bounds
            raise Refused from None

    def make(self, operands: list[Value], *rest: Any, **how: Any) -> Value:
        """Call the operator, as `Growth.make` does."""
        return self.growth.make(self.name, operands, *rest, **how)

    def attr(self, name: str, choices: Iterable[Any]) -> Any:
        """Return an attribute: the wanted value, or one of the choices."""
        left = [_plain(self.attrs[name])] if name in self.attrs else [*choices]
        refuse(not left)
        return self.random.choice(left)

    def axis(self, fits: Callable[[Any], bool] = lambda _: True, name: str = "axis") -> int:
        """Return an axis whose size fits."""
        return self.attr(name, [axis for axis, size in enumerate(self.shape) if fits(size)])

    def resized(self, axis: int, *sizes: int | str) -> Shape:
        """Return the shape with other sizes in place of an axis."""
        return (*self.shape[:axis], *sizes, *self.shape[axis + 1 :])

    def first(self, shape: Shape | None = None, place: int = 0) -> Value:
        """Return the first operand, or another one, by default of the task's shape."""
        return self.take(place, self.shape if shape is None else shape, self.dtype)

    def made_of(self, shape: Shape) -> tuple[Value, Shape]:
        """Return the operand and the shape of the result, of which this one is not the task's."""
        return (self.first(shape), self.shape) if self.backwards else (self.first(), shape)


def _plain(value: Any) -> Any:
    plain = [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value
    return plain[0] if isinstance(plain, list) and len(plain) == 1 else plain


@dataclass(frozen=True)
class Operator:
    """An operator of a dialect."""

    weight: float
    "how often it is chosen"
    recipe: Callable[[Task], Value]
    dtypes: tuple[str, ...] = DTYPES
    "of a task that it takes"
    arity: int = 0
    "operands of an elementwise operator"
    results: Mapping[str, str] = field(default_factory=dict)
    "their data type -> that of the result"


def writer(dialect: str) -> Any:
    """Return an empty program of a dialect, to write into."""
    return import_module(f"workbench.testing._{dialect}").Writer()


@cache
def operators(dialect: str) -> dict[str, Operator]:
    """Return the operators of a dialect by their names without its prefix: the elementwise ones, and those of RECIPES that TVM has."""
    registered = frozenset(map(str, tvm.ir.Op.list_op_names()))
    probe, calls = writer(dialect), []
    inputs = {dtype: [probe.input("x", (2, 3), dtype), probe.input("y", (2, 1), dtype)] for dtype in DTYPES}
    found: dict[str, Operator] = {}
    for name in probe.elementwise(sorted(registered)):
        op = tvm.ir.Op.get(probe.prefix + name)
        if op.num_inputs not in (1, 2) or str(op.attrs_type_key or ""):
            continue
        results: dict[str, str] = {}
        for dtype in (each for each in DTYPES if each != "float16" or _half(name, registered)):
            with suppress(Exception):  # TVM refuses by errors of many classes
                calls = [probe.call(name, inputs[dtype][: op.num_inputs])]
                ((shape, result),) = probe.types(calls[0])
                if shape == (2, 3):
                    results[dtype] = result
        if results:
            found[name] = Operator(COMMON.get(name, 0.2), _elementwise, arity=op.num_inputs, results=results)
    probe.module(calls, tidy=False)  # ends the function, which is of no use
    return found | {name: each for name, each in RECIPES.items() if probe.prefix + name in registered}


def _half(name: str, registered: frozenset[str]) -> bool:
    """Return whether TVM lowers an operator of float16 for a CPU: by LLVM's function, not by one of C's library."""
    for intrinsic in registered & {f"tirx.{name}", f"tir.{name}"}:
        op = tvm.ir.Op.get(intrinsic)
        return op.get_attr("default.FLowerIntrinsic") is None or op.get_attr("llvm.FLowerIntrinsic") is not None
    return name != "nn.gelu"  # by erf


def _elementwise(t: Task) -> Value:
    operator = t.growth.operators[t.name]
    kinds = [each for each, result in operator.results.items() if result == t.dtype] if t.backwards else [t.dtype]
    kinds = [each for each in kinds if (each == "bool") == t.name.startswith("logical")]
    refuse(not kinds)
    dtype = t.dtype if t.dtype in kinds else t.random.choice(kinds)
    shapes = [t.shape, t.shape]
    if t.random.random() < 0.3:
        shapes[1] = _narrowed(t)
        if not t.backwards and t.random.random() < 0.3:
            shapes.reverse()
    operands = [t.take(place, shapes[place], dtype) for place in range(operator.arity)]
    return t.growth.apply(t.name, operands, operator.results[dtype])


def _narrowed(t: Task) -> Shape:
    """Return a shape that broadcasts to the task's."""
    return tuple(1 if t.random.random() < 0.3 else each for each in t.shape[t.random.randint(0, len(t.shape)) :])


def _reduce(t: Task) -> Value:
    keep = t.attr("keepdims", [False, False, True] if not t.backwards or 1 in t.shape else [False])
    axis = t.axis(lambda size: size == 1) if t.backwards and keep else t.attr("axis", range(len(t.shape) + t.backwards))
    x = t.first((*t.shape[:axis], t.size(), *t.shape[axis + keep :]) if t.backwards else None)
    count, ordered, is_index = size_of(x.shape[axis]), t.name.endswith(("max", "min")), t.name.startswith("arg")
    refuse(is_index and (count == 1 or not x.exact))
    span = x.span
    if t.name == "sum":
        span = (x.low * count, x.high * count)
    elif is_index:
        span = (0, count - 1)
    elif t.name in ("variance", "std"):
        refuse(count == 1)
        span = (0, ((x.high - x.low) / 2) ** (2 if t.name == "variance" else 1))
    return t.make([x], axis, keep, span=span, exact=(ordered or not x.floating) and x.exact)


def _softmax(t: Task) -> Value:
    axis = t.attr("axis", [-1, -1, *range(len(t.shape))])
    x = t.first()
    refuse(size_of(t.shape[axis]) == 1 or x.high - x.low > 50)
    return t.make([x], axis, span=(x.low - x.high - 5, 0) if "log" in t.name else (0, 1))


def _transpose(t: Task) -> Value:
    axes = t.attr("axes", [t.random.sample(range(len(t.shape)), len(t.shape))])
    shape = list(t.shape)
    for place, axis in enumerate(axes if t.backwards else ()):
        shape[axis] = t.shape[place]
    refuse(axes == sorted(axes) and t.random.random() < 0.97)
    return t.make([t.first(tuple(shape))], list(axes))


def _reshape(t: Task) -> Value:
    found: list[Any] = []  # sizes joined or split, the symbolic ones in their order
    for each in t.shape:
        if found and isinstance(each, int) and isinstance(found[-1], int) and t.random.random() < 0.5:
            found[-1] *= each
        else:
            found += [2, each // 2] if isinstance(each, int) and each % 2 == 0 and t.random.random() < 0.3 else [each]
    if t.random.random() < 0.3:
        found.insert(t.random.randint(0, len(found)), 1)
    other = tuple(found) if len(found) <= 5 else t.shape
    refuse(other == t.shape and t.random.random() < 0.97)
    x, shape = t.made_of(other)
    return t.make([x], shape)


def _one(t: Task) -> Value:
    """Insert or remove a dimension of 1."""
    removes = (t.name == "squeeze") != t.backwards
    axis = t.axis(lambda size: size == 1) if removes else t.attr("axis", range(len(t.shape) + 1))
    x, _ = t.made_of(t.resized(axis) if removes else (*t.shape[:axis], 1, *t.shape[axis:]))
    return t.make([x], [axis] if t.name == "squeeze" else axis)


def _broadcast(t: Task) -> Value:
    refuse(size_of(*t.shape) == 1)
    wide = (t.size(), *(t.size() if each == 1 else each for each in t.shape))
    x, shape = t.made_of(_narrowed(t) if t.backwards else wide)
    return t.make([x], shape)


def _cast(t: Task) -> Value:
    dtype = t.attr("dtype", [t.dtype] if t.backwards else [each for each in NUMBERS if each != t.dtype])
    x = t.take(0, t.shape, t.random.choice([each for each in NUMBERS if each != dtype]) if t.backwards else t.dtype)
    is_whole = not dtype.startswith("float")
    refuse(is_whole and not x.exact)
    return t.make([x], dtype, span=(math.trunc(x.low), math.trunc(x.high)) if is_whole else x.span, exact=x.exact)


def _concat(t: Task) -> Value:
    axis = t.axis(lambda size: isinstance(size, int) and not (t.backwards and size % t.parts))
    whole = size_of(t.shape[axis])
    sizes = [whole // t.parts] * t.parts if t.backwards else [whole, t.size()]
    parts = [t.take(place, t.resized(axis, each), t.dtype) for place, each in enumerate(sizes)]
    return t.make(parts, axis)


def _split(t: Task) -> Value:
    axis = t.axis(lambda size: isinstance(size, int) and (t.backwards or size % 2 == 0))
    x = t.first(t.resized(axis, size_of(t.shape[axis]) * 2) if t.backwards else None)
    return t.make([x], t.attr("indices_or_sections", [2]), axis)


def _slice(t: Task) -> Value:
    axis = t.axis(lambda size: isinstance(size, int), "axes")
    size, step = size_of(t.shape[axis]), t.random.choice([1, 1, 2])
    begin, end = (1, size + 1) if t.backwards else (t.random.randint(0, size // 2), size)
    x = t.first(t.resized(axis, size + 2) if t.backwards else None)
    return t.make([x], begin=[begin], end=[end], axes=[axis], strides=[1 if t.backwards else step])


def _take(t: Task) -> Value:
    axis = t.axis(lambda size: not (t.backwards and isinstance(size, str)))
    x = t.first(t.resized(axis, t.size()) if t.backwards else None)
    count = t.shape[axis] if t.backwards else t.size()
    return t.make([x, t.take(1, (count,), "int32", within=(0, size_of(x.shape[axis]) - 1))], axis)


def _flip(t: Task) -> Value:
    return t.make([t.first()], t.axis())


def _where(t: Task) -> Value:
    return t.make([t.take(0, t.shape, "bool"), t.first(place=1), t.first(place=2)])


def _clip(t: Task) -> Value:
    return t.growth.clipped(t.first(), -t.random.choice([1.0, 2.0, 4.0]), t.random.choice([1.0, 2.0, 6.0]))


def _matmul(t: Task) -> Value:
    rank = {"matmul": len(t.shape), "nn.batch_matmul": 3}.get(t.name, 2)
    refuse(len(t.shape) != rank or rank < 2)
    *lead, rows, last = t.shape
    inner, columns = (t.size(), last) if t.backwards else (last, t.size())
    many = t.name == "nn.batch_matmul" or (t.name == "matmul" and t.random.random() < 0.4)
    right = (columns, inner) if t.name in ("nn.dense", "nn.batch_matmul") else (inner, columns)
    x = t.take(0, (*lead, rows, inner), t.dtype)
    y = t.take(1, (*(lead if many else ()), *right), t.dtype, weight=t.random.random() < 0.6)
    return _product(t, x, y, size_of(inner))


def _product(t: Task, x: Value, y: Value, count: int, **attrs: Any) -> Value:
    """Make the call whose elements are sums of so many products."""
    high, out = x.largest * y.largest * count, {"out_dtype": "int32"} if x.dtype == "int8" else {}
    return t.make([x, y], span=(-high, high), exact=not x.floating and x.exact and y.exact, **out, **attrs)


def _conv(t: Task) -> Value:
    refuse(len(t.shape) != 4 or any(isinstance(each, str) for each in t.shape[1:]))
    kernel, other, (batch, channels, *image) = t.random.choice([1, 1, 3, 3]), t.size(), t.shape
    inputs, outputs = (other, channels) if t.backwards else (channels, other)
    x = t.take(0, (batch, inputs, *image), t.dtype)
    y = t.take(1, (outputs, inputs, kernel, kernel), t.dtype, weight=True)
    padding = t.attr("padding", [(kernel // 2, kernel // 2)])
    relay = {} if t.growth.writer.prefix else {"channels": outputs, "kernel_size": (kernel, kernel)}
    return _product(t, x, y, size_of(inputs, kernel, kernel), padding=padding, **relay)


def _pool(t: Task) -> Value:
    refuse(len(t.shape) != 4)
    x, attrs = t.first(), {"pool_size": (3, 3), "strides": (1, 1), "padding": (1, 1)}
    return t.make([x], span=(min(0, x.low), max(0, x.high)), exact="max" in t.name and x.exact, **attrs)


def _bias(t: Task) -> Value:
    refuse(len(t.shape) < 2)
    x, bias = t.first(), t.take(1, t.shape[-1:], t.dtype, weight=True)
    return t.make([x, bias], -1, span=(x.low + bias.low, x.high + bias.high))


def _norm(t: Task) -> Value:
    """Normalise along the last axis."""
    count = size_of(t.shape[-1])
    refuse(len(t.shape) < 2 or count == 1)
    x, scales = t.first(), 2 if t.name == "nn.layer_norm" else 1
    weights = [t.take(1 + place, t.shape[-1:], t.dtype, weight=True) for place in range(scales)]
    high = math.sqrt(count) * max(each.largest for each in weights) + 1.5
    return t.make([x, *weights], -1, span=(-high, high), epsilon=t.attr("epsilon", EPSILONS))


def _batch_norm(t: Task) -> Value:
    refuse(len(t.shape) < 2)
    x = t.first()
    weights = [t.take(place, t.shape[1:2], t.dtype, weight=True, within=(0.5, 1.5)) for place in range(1, 5)]
    how = {"training": False} if t.growth.writer.prefix else {}
    high = 3 * (x.largest + 2)
    return t.make([x, *weights], 1, span=(-high, high), epsilon=t.attr("epsilon", EPSILONS), **how)


RECIPES: dict[str, Operator] = {
    name: Operator(weight, recipe, dtypes)
    for weight, recipe, dtypes, names in (
        (1.0, _reduce, NUMBERS, "sum max min"),
        (1.0, _reduce, FLOATS, "mean"),
        (0.4, _reduce, FLOATS, "variance std"),
        (0.4, _reduce, NUMBERS, "argmax argmin"),
        (1.0, _softmax, FLOATS, "nn.softmax nn.log_softmax"),
        (2.0, _transpose, DTYPES, "permute_dims transpose"),
        (2.0, _reshape, DTYPES, "reshape"),
        (0.7, _one, DTYPES, "expand_dims squeeze"),
        (0.7, _broadcast, DTYPES, "broadcast_to"),
        (2.5, _cast, DTYPES, "astype cast"),
        (2.0, _concat, DTYPES, "concat concatenate"),
        (2.0, _split, DTYPES, "split"),
        (1.0, _slice, DTYPES, "strided_slice"),
        (1.0, _take, DTYPES, "take"),
        (0.4, _flip, DTYPES, "flip reverse"),
        (1.5, _where, DTYPES, "where"),
        (1.0, _clip, NUMBERS, "clip"),
        (3.0, _matmul, NUMBERS, "matmul nn.dense nn.batch_matmul nn.matmul"),
        (6.0, _conv, ("float32", "float16", "int8"), "nn.conv2d"),
        (1.0, _pool, FLOATS, "nn.max_pool2d nn.avg_pool2d"),
        (0.7, _norm, FLOATS, "nn.layer_norm nn.rms_norm"),
        (1.5, _batch_norm, ("float32",), "nn.batch_norm"),
        (1.0, _bias, NUMBERS, "nn.bias_add"),
    )
    for name in names.split()
}
"the operators that are not elementwise"
