"""The operators of generated programs, and the bounds of their results.

Operators of one or two tensors without attributes are those that TVM registers; the bounds of their results are those of numpy's
function of the same name, on a grid. `RECIPES` has the others. A recipe makes a call forwards, from the type of an operand, or
backwards, to a result of a wanted type, as a pattern needs it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any

import tvm

from workbench.testing.values import Refused, Shape, Type, Value, refuse, size_of

if TYPE_CHECKING:
    from workbench.testing.growth import Growth

Elementwise = Mapping[str, tuple[int, Mapping[str, str]]]
"operator -> number of operands, and their data type -> that of the result"
PROBED = ("float32", "float16", "int32", "int8", "bool")


@dataclass
class Task:
    """One call to make."""

    random: Random
    shape: Shape
    "of the first operand; backwards, of the result"
    dtype: str
    take: Callable[..., Value]
    "(place, shape, dtype, weight=, positive=, below=) -> an operand"
    backwards: bool = False
    attrs: Mapping[str, Any] = field(default_factory=dict)
    "attributes that a pattern wants"
    parts: int = 2
    "fields of an operand that is a tuple"
    field: int | None = None
    "the wanted field of a result that is a tuple"

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

    def first(self, shape: Shape | None = None, floating: bool = False, place: int = 0) -> Value:
        """Return the first operand, or another one, by default of the task's shape."""
        refuse(floating and not self.dtype.startswith("float"))
        return self.take(place, self.shape if shape is None else shape, self.dtype)

    def made_of(self, shape: Shape) -> tuple[Value, Shape]:
        """Return the operand and the shape of the result, of which this one is not the task's."""
        return (self.first(shape), self.shape) if self.backwards else (self.first(), shape)


def _plain(value: Any) -> Any:
    plain = [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value
    return plain[0] if isinstance(plain, list) and len(plain) == 1 else plain


@cache
def registered() -> frozenset[str]:
    """Return the operators that TVM has."""
    return frozenset(str(each) for each in tvm.ir.Op.list_op_names())


def half(name: str) -> bool:
    """Return whether TVM lowers an operator of float16 for a CPU: by LLVM's function, not by one of C's library."""
    for intrinsic in registered() & {f"tirx.{name}", f"tir.{name}"}:
        op = tvm.ir.Op.get(intrinsic)
        return op.get_attr("default.FLowerIntrinsic") is None or op.get_attr("llvm.FLowerIntrinsic") is not None
    return name != "nn.gelu"  # by erf


def elementwise_of(prefix: str, names: Sequence[str], infer: Callable[[str, Sequence[Type]], Type]) -> Elementwise:
    """Return the operators of one or two tensors whose result is what they broadcast to, as TVM infers it."""
    found: dict[str, tuple[int, dict[str, str]]] = {}
    for name in sorted(names):
        op = tvm.ir.Op.get(prefix + name)
        for dtype in () if op.num_inputs not in (1, 2) or str(op.attrs_type_key or "") else PROBED:
            with suppress(Exception):  # TVM refuses by errors of many classes
                shape, result = infer(name, [((2, 3), dtype), ((2, 1), dtype)][: op.num_inputs])
                if shape == (2, 3) and (dtype != "float16" or half(name)):
                    found.setdefault(name, (op.num_inputs, {}))[1][dtype] = result
    return found


Recipe = Callable[["Growth", Task, str], Value]


def _elementwise(g: Growth, t: Task, name: str) -> Value:
    arity, results = g.elementwise[name]
    kinds = [each for each, result in results.items() if result == t.dtype] if t.backwards else [t.dtype]
    kinds = [each for each in kinds if (each == "bool") == name.startswith("logical")]
    dtype = t.dtype if t.dtype in kinds or not kinds else t.random.choice(kinds)
    refuse(dtype not in results or not kinds)
    shapes = [t.shape, t.shape]
    if t.random.random() < 0.3:
        shapes[1] = _narrowed(t.random, t.shape)
        if not t.backwards and t.random.random() < 0.3:
            shapes.reverse()
    return g.apply(name, [t.take(place, shapes[place], dtype) for place in range(arity)], results[dtype])


def _narrowed(random: Random, shape: Shape) -> Shape:
    """Return a shape that broadcasts to this one."""
    return tuple(1 if random.random() < 0.3 else each for each in shape[random.randint(0, len(shape)) :])


def _reduce(g: Growth, t: Task, name: str) -> Value:
    keep = t.attr("keepdims", [False, False, True] if not t.backwards or 1 in t.shape else [False])
    axis = t.axis(lambda size: size == 1) if t.backwards and keep else t.attr("axis", range(len(t.shape) + t.backwards))
    wide = t.resized(axis, g.dimension()) if keep else (*t.shape[:axis], g.dimension(), *t.shape[axis:])
    x = t.first(wide if t.backwards else None)
    count, ordered, index = size_of((x.shape[axis],)), name.endswith(("max", "min")), name.startswith("arg")
    squared = name in ("variance", "std")
    bad = (count == 1 and (index or squared)) or (index and not x.exact)
    refuse(bad or t.dtype == "bool" or not (x.floating or ordered or name == "sum"))
    low, high = (x.low * count, x.high * count) if name == "sum" else (0, count - 1) if index else (x.low, x.high)
    if squared:
        low, high = 0.0, ((high - low) / 2) ** (2 if name == "variance" else 1)
    return g.make(name, [x], axis, keep, span=(low, high), exact=(ordered or not x.floating) and x.exact)


def _softmax(g: Growth, t: Task, name: str) -> Value:
    axis = t.attr("axis", [-1, -1, *range(len(t.shape))])
    x = t.first(floating=True)
    refuse(size_of((t.shape[axis],)) == 1 or x.high - x.low > 50)
    return g.make(name, [x], axis, span=(x.low - x.high - 5, 0) if "log" in name else (0, 1))


def _transpose(g: Growth, t: Task, name: str) -> Value:
    axes = t.attr("axes", [t.random.sample(range(len(t.shape)), len(t.shape))])
    shape = list(t.shape)
    for place, axis in enumerate(axes if t.backwards else ()):
        shape[axis] = t.shape[place]
    refuse(axes == sorted(axes) and t.random.random() < 0.97)
    return g.make(name, [t.first(tuple(shape))], list(axes))


def _reshape(g: Growth, t: Task, name: str) -> Value:
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
    return g.make(name, [x], shape)


def _one(g: Growth, t: Task, name: str) -> Value:
    """Insert or remove a dimension of 1."""
    removes = (name == "squeeze") != t.backwards
    axis = t.axis(lambda size: size == 1) if removes else t.attr("axis", range(len(t.shape) + 1))
    x, _ = t.made_of(t.resized(axis) if removes else (*t.shape[:axis], 1, *t.shape[axis:]))
    return g.make(name, [x], [axis] if name == "squeeze" else axis)


def _broadcast(g: Growth, t: Task, name: str) -> Value:
    refuse(size_of(t.shape) == 1)
    wide = (g.dimension(), *(g.dimension() if each == 1 else each for each in t.shape))
    x, shape = t.made_of(_narrowed(t.random, t.shape) if t.backwards else wide)
    return g.make(name, [x], shape)


def _cast(g: Growth, t: Task, name: str) -> Value:
    others = [each for each in PROBED[:4] if each != t.dtype]
    dtype = t.attr("dtype", [t.dtype] if t.backwards else others)
    x = t.take(0, t.shape, t.random.choice([each for each in PROBED[:4] if each != dtype]) if t.backwards else t.dtype)
    whole = not dtype.startswith("float")
    refuse(whole and not x.exact)
    low, high = (math.trunc(x.low), math.trunc(x.high)) if whole else (x.low, x.high)
    return g.make(name, [x], dtype, span=(low, high), exact=x.exact)


def _concat(g: Growth, t: Task, name: str) -> Value:
    axis = t.axis(lambda size: isinstance(size, int) and not (t.backwards and size % t.parts))
    whole = size_of((t.shape[axis],))
    sizes = [whole // t.parts] * t.parts if t.backwards else [whole, g.dimension()]
    parts = [t.take(place, t.resized(axis, each), t.dtype) for place, each in enumerate(sizes)]
    return g.make(name, parts, axis, together=True)


def _split(g: Growth, t: Task, name: str) -> Value:
    axis = t.axis(lambda size: isinstance(size, int) and (t.backwards or size % 2 == 0))
    x = t.first(t.resized(axis, size_of((t.shape[axis],)) * 2) if t.backwards else None)
    result = g.called(name, [x], t.attr("indices_or_sections", [2]), axis)
    return g.fields(result, x.low, x.high, x.exact, t.field)


def _slice(g: Growth, t: Task, name: str) -> Value:
    axis = t.axis(lambda size: isinstance(size, int), "axes")
    size, step = size_of((t.shape[axis],)), t.random.choice([1, 1, 2])
    begin, end = (1, size + 1) if t.backwards else (t.random.randint(0, size // 2), size)
    x = t.first(t.resized(axis, size + 2) if t.backwards else None)
    return g.make(name, [x], begin=[begin], end=[end], axes=[axis], strides=[1 if t.backwards else step])


def _take(g: Growth, t: Task, name: str) -> Value:
    axis = t.axis(lambda size: not (t.backwards and isinstance(size, str)))
    x = t.first(t.resized(axis, g.dimension()) if t.backwards else None)
    count = t.shape[axis] if t.backwards else g.dimension()
    return g.make(name, [x, t.take(1, (count,), "int32", below=size_of((x.shape[axis],)))], axis)


def _clip(g: Growth, t: Task, name: str) -> Value:
    x, low, high = t.first(), -t.random.choice([1.0, 2.0, 4.0]), t.random.choice([1.0, 2.0, 6.0])
    refuse(t.dtype == "bool")
    return g.make(name, [x], low, high, span=(max(low, x.low), min(high, x.high)), exact=x.exact)


def _matmul(g: Growth, t: Task, name: str) -> Value:
    rank = {"matmul": len(t.shape), "nn.batch_matmul": 3}.get(name, 2)
    refuse(len(t.shape) != rank or rank < 2 or t.dtype == "bool")
    *lead, rows, last = t.shape
    inner, columns = (g.dimension(), last) if t.backwards else (last, g.dimension())
    many = name == "nn.batch_matmul" or (name == "matmul" and t.random.random() < 0.4)
    right = (columns, inner) if name in ("nn.dense", "nn.batch_matmul") else (inner, columns)
    x = t.take(0, (*lead, rows, inner), t.dtype)
    y = t.take(1, (*(lead if many else ()), *right), t.dtype, weight=t.random.random() < 0.6)
    return _product(g, name, x, y, inner)


def _product(g: Growth, name: str, x: Value, y: Value, inner: int | str, **attrs: Any) -> Value:
    high, out = x.largest * y.largest * size_of((inner,)), {"out_dtype": "int32"} if x.dtype == "int8" else {}
    return g.make(name, [x, y], span=(-high, high), exact=not x.floating and x.exact and y.exact, **out, **attrs)


def _conv(g: Growth, t: Task, name: str) -> Value:
    refuse(len(t.shape) != 4 or t.dtype in ("bool", "int32") or any(isinstance(each, str) for each in t.shape[1:]))
    kernel, other, (batch, channels, *image) = t.random.choice([1, 1, 3, 3]), g.dimension(), t.shape
    inputs, outputs = (other, channels) if t.backwards else (channels, other)
    x = t.take(0, (batch, inputs, *image), t.dtype)
    y = t.take(1, (outputs, inputs, kernel, kernel), t.dtype, weight=True)
    padding = t.attr("padding", [(kernel // 2, kernel // 2)])
    relay = {} if g.writer.prefix else {"channels": outputs, "kernel_size": (kernel, kernel)}
    return _product(g, name, x, y, size_of((inputs, kernel, kernel)), padding=padding, **relay)


def _pool(g: Growth, t: Task, name: str) -> Value:
    refuse(len(t.shape) != 4)
    x, attrs = t.first(floating=True), {"pool_size": (3, 3), "strides": (1, 1), "padding": (1, 1)}
    return g.make(name, [x], span=(min(0, x.low), max(0, x.high)), exact="max" in name and x.exact, **attrs)


def _weighted(g: Growth, t: Task, name: str) -> Value:
    """Normalise along an axis, or add a bias to it, with weights of its size."""
    batch, bias = name == "nn.batch_norm", name == "nn.bias_add"
    axis = 1 if batch else -1
    width: Any = t.shape[axis]
    refuse(len(t.shape) < 2 or isinstance(width, str) or (width == 1 and not (bias or batch)))
    x = t.first(floating=not bias)
    refuse(t.dtype == "bool" or (batch and t.dtype != "float32"))
    count = {"nn.layer_norm": 2, "nn.batch_norm": 4}.get(name, 1)
    rest = [t.take(place + 1, (width,), t.dtype, weight=True, positive=batch) for place in range(count)]
    attrs = {} if bias else {"epsilon": t.attr("epsilon", [1e-5, 1e-5, 0.1])}
    if batch:
        result = g.called(name, [x, *rest], axis, **attrs, **({"training": False} if g.writer.prefix else {}))
        return g.fields(result, -3 * (x.largest + 2), 3 * (x.largest + 2), False, t.field or 0)
    high = math.sqrt(size_of((width,))) * max(each.largest for each in rest) + 1.5
    span = (x.low + rest[0].low, x.high + rest[0].high) if bias else (-high, high)
    return g.make(name, [x, *rest], axis, span=span, **attrs)


RECIPES: dict[str, tuple[float, Recipe]] = {
    name: (weight, recipe)
    for weight, recipe, names in (
        (1.0, _reduce, "sum mean max min"),
        (0.4, _reduce, "variance std argmax argmin"),
        (1.0, _softmax, "nn.softmax nn.log_softmax"),
        (2.0, _transpose, "permute_dims transpose"),
        (2.0, _reshape, "reshape"),
        (0.7, _one, "expand_dims squeeze"),
        (0.7, _broadcast, "broadcast_to"),
        (2.5, _cast, "astype cast"),
        (2.0, _concat, "concat concatenate"),
        (2.0, _split, "split"),
        (1.0, _slice, "strided_slice"),
        (1.0, _take, "take"),
        (0.4, lambda g, t, name: g.make(name, [t.first()], t.axis()), "flip reverse"),
        (
            1.5,
            lambda g, t, name: g.make(name, [t.take(0, t.shape, "bool"), t.first(place=1), t.first(place=2)]),
            "where",
        ),
        (1.0, _clip, "clip"),
        (3.0, _matmul, "matmul nn.dense nn.batch_matmul nn.matmul"),
        (6.0, _conv, "nn.conv2d"),
        (1.0, _pool, "nn.max_pool2d nn.avg_pool2d"),
        (0.7, _weighted, "nn.layer_norm nn.rms_norm"),
        (1.5, _weighted, "nn.batch_norm"),
        (1.0, _weighted, "nn.bias_add"),
    )
    for name in names.split()
}
"operator -> how often it is chosen, and how it is called"


def call_operator(g: Growth, t: Task, name: str) -> Value:
    """Make a call of an operator. Raises Refused: it does not take the task's type, or the dialect lacks it."""
    try:
        return _elementwise(g, t, name) if name in g.elementwise else RECIPES[name][1](g, t, name)
    except (IndexError, KeyError, OverflowError):  # an axis that the shape lacks, no such operator, huge bounds
        raise Refused from None
