"""Generated programs: typed, of valid shapes, and the same for the same seed.

A program grows operator by operator. Each step chooses a value, often one that nothing uses yet, and an operator that takes it; further
operands are earlier values where their types fit. Every value has bounds, and an operator that would make it infinite, undefined or
constant gets scaled operands or is not called, so that the outputs show a wrong pass.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from importlib import import_module
from itertools import accumulate
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect as dialect_named
from workbench.dialects.registry import installed
from workbench.errors import LoadError, WorkbenchError
from workbench.testing.operators import (
    EXACT,
    LARGEST,
    LIMITS,
    RECIPES,
    SAFE,
    SIZES,
    STEPS,
    Refused,
    Shape,
    Task,
    Value,
    bounds,
    call_operator,
    size_of,
)

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

MEMORY = 16
"how many of the last values an operand is chosen from"


def program(seed: int, *, dialect: str | None = None, operators: int = 8, pattern: object = None) -> Workload:
    """Return a generated program, the same for the same seed in every process.

    Parameters
    ----------
    dialect
        `relax` or `relay`; by default the one that this environment's TVM runs.
    operators
        How many operators it has, about.
    pattern
        A DFPattern, its text or a Pattern: about half of the programs have matches of it, the others near misses, in which one condition does
        not hold.

    Examples
    --------
    >>> program(17)
    Workload('generated 17', relax, 1 parameter)
    """
    return _grown(Random(seed), f"generated {seed}", dialect, operators, pattern)


def relax_programs(*, operators: int = 8, pattern: object = None) -> SearchStrategy[Workload]:
    """Return a Hypothesis strategy of Relax programs of at most so many operators; the parameters are those of `program`."""
    return _strategy("relax", operators, pattern)


def relay_programs(*, operators: int = 8, pattern: object = None) -> SearchStrategy[Workload]:
    """Return a Hypothesis strategy of Relay programs of at most so many operators; the parameters are those of `program`."""
    return _strategy("relay", operators, pattern)


def _strategy(dialect: str, operators: int, pattern: object) -> SearchStrategy[Workload]:
    try:
        from hypothesis import strategies as st
    except ModuleNotFoundError:
        raise WorkbenchError("strategies need Hypothesis; `pip install hypothesis`") from None
    randoms = st.randoms(use_true_random=False)
    return st.builds(
        lambda random, count: _grown(random, "generated", dialect, count, pattern), randoms, st.integers(1, operators)
    )


def _grown(random: Random, name: str, dialect: str | None, operators: int, pattern: object) -> Workload:
    found = dialect or installed()
    if found is None:
        raise LoadError(
            "programs are generated with TVM, and there is none in this environment; `pip install tvm-workbench[relax]`"
        )
    frontend = dialect_named(found).frontend
    growth = Growth(random, found)
    growth.begin()
    if pattern is not None:
        raise WorkbenchError("programs of patterns are not generated yet")
    growth.grow(operators)
    module, params = growth.writer.module(growth.outputs())
    workload = frontend.load(module, params, name)
    assert workload is not None, "the writer returns an IRModule"
    workload.shapes = {each: SIZES[each] for each in growth.symbols}
    return workload


COMMON = {
    "add": 4,
    "multiply": 4,
    "subtract": 2,
    "nn.relu": 2,
    "divide": 1,
    "maximum": 1,
    "exp": 1,
    "sigmoid": 1,
    "tanh": 1,
}
"how often elementwise operators are chosen, where that is more than for the others"


class Growth:
    """A program while it grows."""

    def __init__(self, random: Random, dialect: str) -> None:
        facet = import_module(f"workbench.testing._{dialect}")
        self.writer: Any = facet.RelaxWriter() if dialect == "relax" else facet.RelayWriter()
        self.elementwise = facet.elementwise()
        self.random = random
        self.arrays = np.random.default_rng(random.getrandbits(32))
        self.values: list[Value] = []
        self.by_type: dict[tuple[Shape, str], list[Value]] = defaultdict(list)
        self.unused: list[Value] = []
        self.focus: Value | None = None
        "the value that the next operator has to take"
        self.last: Value | None = None
        "the last operand"
        self.count = 0
        "operators so far"
        self.names = [*self.elementwise, *(each for each in RECIPES if each in facet.registered())]
        self.weights = list(
            accumulate(RECIPES[name][0] if name in RECIPES else COMMON.get(name, 0.2) for name in self.names)
        )
        self.sizes = [random.choice([1, 2, 3, 4, 6, 8]) for _ in range(3)]
        self.symbols: list[str] = []

    def begin(self) -> None:
        """Make the first inputs."""
        random = self.random
        if self.writer.symbolic and random.random() < 0.25:
            self.symbols = ["n"] if random.random() < 0.8 else ["n", "m"]
        dtype = random.choices(["float32", "float16", "int8", "int32"], [70, 12, 10, 8])[0]
        shape = tuple(random.choice(self.sizes) for _ in range(random.choice([1, 2, 2, 3, 3])))
        if size_of(shape) < 4:
            shape = (*shape[:-1], random.choice([4, 6]))
        if random.random() < 0.3:
            shape = (random.choice([1, 2]), *(random.choice([1, 2, 4]),), random.choice([4, 6]), random.choice([4, 6]))
        if self.symbols:
            shape = (*self.symbols, *shape[len(self.symbols) :])
        for _ in range(random.randint(1, 3)):
            self.leaf(shape, dtype if random.random() < 0.8 else "float32", "input")

    def grow(self, operators: int) -> None:
        """Add operators at random until there are so many."""
        for _ in range(4 * operators):
            if self.count >= operators:
                return
            self.step()

    def step(self) -> None:
        """Call one operator on a value; nothing where eight operators in turn do not take it."""
        self.unused = [each for each in self.unused if each.users == 0]
        recent = self.values[-MEMORY:]
        oldest = self.unused and self.random.random() < 0.75
        self.focus = start = self.unused[0] if oldest else self.random.choice(recent)
        for _ in range(8):
            name = self.random.choices(self.names, cum_weights=self.weights)[0]
            try:
                call_operator(self, Task(self.random, start.shape, start.dtype, self.pick), name)
            except Refused:
                continue
            return

    def outputs(self) -> list[Any]:
        """Return the results: values that nothing uses but a few, and sometimes another value."""
        made = [each for each in self.values if not each.kind]
        if not made:
            leaf = self.values[0]
            return [self.moved("reshape", [leaf], leaf.shape).expr]
        first = self.values[0]
        self.writer.inputs[:] = [v.expr for v in self.values if v.kind == "input" and (v.users or v is first)]
        left = [each for each in made if each.users == 0]
        if len(left) > 1 and self.random.random() < 0.15:
            left.remove(self.random.choice(left))
        if self.random.random() < 0.15:
            left.append(self.random.choice([each for each in made if each not in left] or left))
        return [each.expr for each in dict.fromkeys(left)]

    # -- values

    def dimension(self) -> int:
        """Return a size."""
        return self.random.choice(self.sizes)

    def reshaped(self, shape: Shape) -> Shape:
        """Return another shape of as many elements, with symbolic dimensions in their order."""
        found: list[int | str] = []
        for each in shape:
            last = found[-1] if found else ""
            if isinstance(each, int) and isinstance(last, int) and self.random.random() < 0.5:
                found[-1] = last * each
            elif isinstance(each, int) and each % 2 == 0 and self.random.random() < 0.3:
                found += [2, each // 2]
            else:
                found.append(each)
        if self.random.random() < 0.3:
            found.insert(self.random.randint(0, len(found)), 1)
        return tuple(found[:5]) if size_of(tuple(found[:5])) == size_of(shape) else shape

    def leaf(self, shape: Shape, dtype: str, kind: str = "", positive: bool = False, below: int = 0) -> Value:
        """Return a new input, parameter or constant."""
        open = any(isinstance(each, str) for each in shape)
        few = len(self.writer.inputs) < 4 and not (positive or below)
        kind = kind or (
            "input" if open or (few and self.random.random() < 0.3) else self.random.choice(["param", "constant"])
        )
        if kind == "input":
            expr = self.writer.input(f"x{len(self.writer.inputs)}", shape, dtype)
            low, high = (-3, 3) if dtype.startswith("float") else (0, 1) if dtype == "bool" else (-4, 4)
            return self.known(Value(expr, shape, dtype, low, high, kind=kind))
        array = self._array(shape, dtype, positive, below)
        if kind == "param":
            name = f"w{len(self.writer.arrays)}"
            self.writer.arrays[name] = array
            expr = self.writer.parameter(name, array)
        else:
            expr = self.writer.constant(array)
        return self.known(Value(expr, shape, dtype, float(array.min()), float(array.max()), kind=kind))

    def _array(self, dims: Shape, dtype: str, positive: bool, below: int) -> np.ndarray:
        shape = tuple(each for each in dims if isinstance(each, int))
        if not dtype.startswith("float"):
            low, high = (0, 2) if dtype == "bool" else (0, below) if below else (1, 4) if positive else (-2, 3)
            return self.arrays.integers(low, high, shape).astype(dtype)
        scale = 2 / max(1, size_of(shape)) ** 0.25
        low, high = (0.5, 1.5) if positive else (-scale, scale)
        return self.arrays.uniform(low, high, shape).astype(dtype)

    def known(self, value: Value) -> Value:
        """Remember a value for later operands."""
        self.values.append(value)
        self.by_type[value.shape, value.dtype].append(value)
        self.unused.append(value)
        return value

    def pick(
        self, _place: int, shape: Shape, dtype: str, *, weight: bool = False, positive: bool = False, below: int = 0
    ) -> Value:
        """Return an operand of this type: an earlier value, one made of an earlier value, or a new one."""
        found = self.by_type[shape, dtype][-MEMORY:]
        if below:
            found = [each for each in found if each.low >= 0 and each.high < below]
        if not (weight or positive) or (found and below):
            if self.focus in found:
                found, self.focus = [self.focus], None
            elif self.random.random() < 0.85:
                found = [each for each in found if each is not self.last]
            if found and self.random.random() < 0.9:
                self.last = self.random.choice([each for each in found if each.users == 0] or found)
                return self.last
            if not below and self.random.random() < 0.7 and (made := self._adapted(shape, dtype)):
                return made
        return self.leaf(shape, dtype, positive=positive, below=below)

    def _adapted(self, shape: Shape, dtype: str) -> Value | None:
        """Return a value of this type made of one of the last values: cast, reshaped or broadcast."""
        for each in reversed(self.values[-MEMORY:]):
            if (
                each.shape == shape
                and each.dtype != dtype
                and dtype != "bool"
                and (each.exact or dtype.startswith("float"))
            ):
                task = Task(self.random, shape, each.dtype, lambda *_args, v=each, **_more: v, attrs={"dtype": dtype})
                cast = "astype" if "astype" in self.names else "cast"
                try:
                    return call_operator(self, task, cast)
                except Refused:
                    continue
            if (
                each.dtype == dtype
                and each.shape != shape
                and size_of(each.shape) == size_of(shape)
                and not any(isinstance(d, str) for d in (*shape, *each.shape))
            ):
                return self.moved("reshape", [each], shape)
        return None

    # -- calls

    def made(
        self, name: str, operands: Sequence[Value], *rest: Any, together: bool = False, **attrs: Any
    ) -> tuple[Any, list[tuple[Shape, str]]]:
        """Call an operator and return the result with its types. Raises Refused: TVM refuses it, or it is too large."""
        exprs: list[Any] = [each.expr for each in operands]
        try:
            expr = self.writer.call(name, [exprs] if together else exprs, *rest, **attrs)
            types = self.writer.types(expr)
        except Exception as error:  # noqa: BLE001  TVM refuses by errors of many classes
            raise Refused(str(error)) from None
        if any(size_of(shape) > LARGEST or len(shape) > 5 for shape, _ in types):
            raise Refused
        for each in operands:
            each.users += 1
        self.count += 1
        return expr, types

    def make(
        self,
        name: str,
        operands: Sequence[Value],
        low: float,
        high: float,
        *rest: Any,
        exact: bool = False,
        **attrs: Any,
    ) -> Value:
        """Call an operator whose result has these bounds. Raises Refused: they are too far."""
        if (
            max(-low, high)
            > LIMITS[operands[0].dtype] * (1e4 if operands[0].dtype == "int8" and attrs.get("out_dtype") else 1)
            or low >= high
        ):
            raise Refused
        expr, ((shape, dtype),) = self.made(name, operands, *rest, **attrs)
        return self.known(Value(expr, shape, dtype, float(low), float(high), exact))

    def moved(
        self,
        name: str,
        operands: Sequence[Value],
        *rest: Any,
        of: Sequence[int] = (0,),
        together: bool = False,
        **attrs: Any,
    ) -> Value:
        """Call an operator that moves elements of the operands at places `of`, by default the first, or all if they are a tuple."""
        from_ = operands if together else [operands[place] for place in of]
        low, high = min(each.low for each in from_), max(each.high for each in from_)
        expr, ((shape, dtype),) = self.made(name, operands, *rest, together=together, **attrs)
        return self.known(Value(expr, shape, dtype, low, high, all(each.exact for each in operands)))

    def fields(
        self,
        result: tuple[Any, list[tuple[Shape, str]]],
        low: float,
        high: float,
        exact: bool,
        place: int | None = None,
    ) -> Value:
        """Return one of the fields of a result, and remember the others."""
        expr, types = result
        chosen = self.random.randrange(len(types)) if place is None else place
        places = (
            [each for each in range(len(types)) if each != chosen]
            if place is None and self.random.random() < 0.7
            else []
        )
        made = [
            self.known(Value(self.writer.item(expr, each), *types[each], low, high, exact))
            for each in (*places, chosen)
        ]
        return made[-1]

    def apply(self, name: str, operands: Sequence[Value], result: str) -> Value:
        """Call an elementwise operator, on scaled operands where it needs them. Raises Refused: that does not help."""
        if name in STEPS and not all(each.exact for each in operands):
            raise Refused
        ranges = [(each.low, each.high) for each in operands]
        for safe in (None, *SAFE):
            tried = [
                span if safe is None or each.fixed or each.dtype == "bool" else safe
                for each, span in zip(operands, ranges, strict=True)
            ]
            try:
                low, high = bounds(name, operands, result, tried)
            except Refused:
                continue
            break
        else:
            raise Refused
        if safe is not None:
            scaled = {
                each: each if each.fixed or each.dtype == "bool" else self._scaled(each, *safe) for each in operands
            }
            operands = [scaled[each] for each in operands]
        expr, ((shape, dtype),) = self.made(name, operands)
        exact = all(each.exact for each in operands) and (name in EXACT or not operands[0].is_float)
        return self.known(Value(expr, shape, dtype, low, high, exact))

    def _scaled(self, x: Value, low: float, high: float) -> Value:
        """Return a value made of another one with these bounds."""
        if x.exact and x.low < high and x.high > low:
            return self.make("clip", [x], max(low, x.low), min(high, x.high), low, high, exact=True)
        if not x.is_float or x.high == x.low:
            raise Refused
        scale = (high - low) / (x.high - x.low)
        factor, offset = (self.known_constant(each, x.dtype) for each in (scale, low - x.low * scale))
        product = self.make("multiply", [x, factor], x.low * scale, x.high * scale)
        return self.make("add", [product, offset], low, high)

    def known_constant(self, number: float, dtype: str) -> Value:
        """Return a scalar constant, which is not remembered."""
        return Value(self.writer.constant(np.array(number, dtype)), (), dtype, number, number)
