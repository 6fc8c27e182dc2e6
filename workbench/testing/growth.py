"""The growth of a program, operator by operator.

A step chooses a value, mostly one that nothing uses yet, and an operator that takes it; further operands are earlier values where
their types fit. Each value has bounds. Where an operator would make a value infinite, undefined or constant, its operands are scaled,
or another operator is called, so that the outputs show a wrong pass.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.testing.instances import Instance, conditions
from workbench.testing.operators import Task, operators, writer
from workbench.testing.values import (
    LIMITS,
    SIZES,
    Refused,
    Shape,
    Span,
    Type,
    Value,
    is_exact,
    refuse,
    scaled_bounds,
    size_of,
)

if TYPE_CHECKING:
    from workbench.testing.programs import Kind

MEMORY, RECENT = 16, 64
"how many of the last values of a type an operand is chosen from, and how many of the last values of any"
APART = 16
"operators from one instance of a pattern to the next"
LARGEST = 4096
"most elements of a value"
OF_A_TUPLE = ("concat", "concatenate")
"operators whose operands are the fields of one tuple"


class Growth:
    """A program while it grows."""

    def __init__(self, random: Random, kind: Kind, matches: bool) -> None:
        self.random, self.pattern, self.instances = random, kind.pattern, 0
        self.writer, self.operators = writer(kind.dialect), operators(kind.dialect)
        self.loose = conditions(kind.pattern) if kind.pattern and not matches else []
        self.arrays = np.random.default_rng(random.getrandbits(32))
        self.values: list[Value] = []
        self.used: list[Value] = []
        "the operands of the calls so far"
        self.named: dict[str, Value] = {}
        "variables whose names a pattern wants"
        self.next, self.last, self.count = None, None, 0
        "the value that the next operator takes, the operand chosen last, and the operators so far"
        self.weights = self._weights(kind.likely)
        self.dimensions = [random.choice([1, 2, 3, 4, 6, 8]) for _ in range(3)]
        symbols = random.choice([1, 1, 1, 2]) if self.writer.prefix and random.random() > 0.75 else 0
        self.sizes = dict(list(SIZES.items())[:symbols])
        self._begin()

    def _weights(self, likely: Collection[str]) -> dict[str, float]:
        """Return how often each operator is chosen; those of a pattern that is to be missed are not, as they might match by chance."""
        prefix = self.writer.prefix
        nodes = self.pattern.nodes if self.pattern and self.loose else ()
        left_out = [node.fields["name"] for node in nodes if node.kind == "op"]
        found = {name: each.weight for name, each in self.operators.items() if prefix + name not in left_out}
        wanted = found.keys() & {name.removeprefix(prefix) for name in likely}
        more = sum(found.values()) / max(1, len(wanted))
        return {name: weight + more * (name in wanted) for name, weight in found.items()}

    def _begin(self) -> None:
        """Make the first inputs, and sometimes a call of a function."""
        random = self.random
        dtype = random.choices(["float32", "float16", "int8", "int32"], [70, 12, 10, 8])[0]
        shape: Shape = tuple(self.dimension() for _ in range(random.choice([1, 2, 2, 3, 3])))
        if size_of(*shape) < 4:
            shape = (*shape[:-1], random.choice([4, 6]))
        if random.random() > 0.7:  # near 0 is the simplest for Hypothesis
            shape = (random.choice([1, 2]), random.choice([1, 2, 4]), random.choice([4, 6]), random.choice([4, 6]))
        shape = (*self.sizes, *shape[len(self.sizes) :])
        kinds = [dtype, *(dtype if random.random() < 0.8 else "float32" for _ in range(random.randint(0, 2)))]
        x = [self.leaf(shape, each, "input") for each in kinds][-1]
        if x.floating and not self.sizes and random.random() > 0.85:
            calls = random.sample(["negative", "tanh", "nn.relu", "abs"], 2)
            self.known(Value(self.writer.helped(x.expr, *x.type, calls), *x.type, -3, 3, "tanh" not in calls))
            x.users += 1

    def grow(self, size: int) -> None:
        """Add operators at random, and instances of the pattern, until there are so many."""
        due = self.random.randint(0, min(size, APART) // 2)
        for _ in range(4 * size):
            if self.pattern and self.count >= due:
                due = self.count + 1
                with suppress(Refused):
                    loose = self.random.choice(self.loose) if self.loose else None
                    self.spread(Instance(self, self.pattern, loose).grow())
                    self.instances, due = self.instances + 1, self.count + APART
            if self.count >= size:
                return
            self._step()

    def _step(self) -> None:
        """Call an operator on a value; nothing where eight operators in turn do not take it."""
        unused = [each for each in self.values[-RECENT:] if each.users == 0]
        recent = unused[:1] if unused and self.random.random() < 0.75 else self.values[-MEMORY:]
        if self.random.random() < 0.8:  # operators on a single number show little
            recent = [each for each in recent if size_of(*each.shape) > 1] or self.values[-MEMORY:]
        start = self.random.choice(recent)
        for name in self.random.choices([*self.weights], [*self.weights.values()], k=8):
            self.next = start
            with suppress(Refused), self.whole():
                self.spread(Task(self, name, *start.type, self.pick).call())
                return

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Forget the values that were made, if one is refused: no operand or output is one of them."""
        values, used, named = len(self.values), len(self.used), dict(self.named)
        try:
            yield
        except Refused:
            for each in self.used[used:]:
                each.users -= 1
            del self.values[values:], self.used[used:]
            self.named = named
            raise

    def module(self) -> tuple[Any, dict[str, Any]]:
        """Return the module and its parameters. Its outputs are the values that nothing uses, and sometimes another one."""
        random = self.random
        made = [each for each in self.values if not each.kind]
        made = made or [self.make("reshape", self.values[:1], self.values[0].shape)]
        left = [each for each in made if each.users == 0]
        untidy = len(left) > 1 and bool(self.writer.prefix) and random.random() < 0.15
        if untidy:
            left.remove(random.choice(left))
        if random.random() < 0.3:
            left.append(random.choice(made))
        # what an untidy program has of refused operators may read any of them
        for given, kind in ((self.writer.inputs, "input"), (getattr(self.writer, "weights", []), "param")):
            given[:] = given if untidy else [each.expr for each in self.values if each.kind == kind and each.users]
        return self.writer.module([each.expr for each in dict.fromkeys(left)], not untidy)

    # -- values

    def dimension(self) -> int:
        """Return a size."""
        return self.random.choice(self.dimensions)

    def known(self, value: Value) -> Value:
        """Remember a value for later operands."""
        self.values.append(value)
        return value

    def leaf(
        self, shape: Shape, dtype: str, kind: str = "", *, name: str = "", value: Any = None, within: Span | None = None
    ) -> Value:
        """Return a new input, parameter or constant, with elements in these bounds if it is not an input; a constant may be given."""
        symbolic, floating = any(isinstance(each, str) for each in shape), dtype.startswith("float")
        if not kind:
            few = len(self.writer.inputs) < 4 and within is None and self.random.random() < 0.3
            kind = "input" if few or symbolic else self.random.choice(["param", "constant"])
        if kind == "input":
            refuse(within is not None)
            low, high = (0, 1) if dtype == "bool" else (-3, 3) if floating else (-4, 4)
            expr = self.writer.input(name or f"x{len(self.writer.inputs)}", shape, dtype)
            return self.known(Value(expr, shape, dtype, low, high, kind=kind))
        refuse(symbolic)
        low, high = within or ((0, 1) if dtype == "bool" else (-2, 2))
        size: Any = shape
        simple = [each for each in (0, 1) if low <= each <= high]
        if value is None and kind == "constant" and simple and self.random.random() < 0.2:
            value = np.full(size, self.random.choice(simple))  # what algebraic passes look for
        elif value is None and floating:
            value = self.arrays.uniform(low, high, size) / (1 if within else size_of(*shape) ** 0.25)
        elif value is None:
            value = self.arrays.integers(int(low), int(high), size, endpoint=True)
        array, name = np.asarray(value, dtype), name or f"w{len(self.writer.arrays)}"
        if kind == "param":
            self.writer.arrays[name] = array
        expr = self.writer.parameter(name, array) if kind == "param" else self.writer.constant(array)
        return self.known(Value(expr, shape, dtype, float(array.min()), float(array.max()), kind=kind))

    def pick(
        self, _: int, shape: Shape, dtype: str, *, weight: bool = False, within: Span | None = None, **__: Any
    ) -> Value:
        """Return an operand of this type: an earlier value, one made of an earlier value, or a new one."""
        random = self.random
        found = [each for each in self.values[-RECENT:] if each.type == (shape, dtype)][-MEMORY:]
        if within:
            found = [each for each in found if within[0] <= each.low and each.high <= within[1]]
        elif self.next in found:
            found, self.next = [self.next], None
        elif random.random() < 0.85:
            found = [each for each in found if each is not self.last]
        if not weight and found and random.random() < 0.9:
            self.last = random.choice([each for each in found if each.users == 0] or found)
            return self.last
        adapted = None if weight or within or random.random() < 0.3 else self._adapted(shape, dtype)
        return adapted or self.leaf(shape, dtype, within=within)

    def _adapted(self, shape: Shape, dtype: str) -> Value | None:
        """Return a value of this type made of one of the last values: cast, or reshaped."""
        for each in reversed(self.values[-MEMORY:]):
            if each.shape == shape and each.dtype != dtype and "bool" not in (dtype, each.dtype):
                cast = "astype" if self.writer.prefix else "cast"
                with suppress(Refused):
                    return Task(self, cast, *each.type, lambda *_a, v=each, **_k: v, attrs={"dtype": dtype}).call()
            fits = each.dtype == dtype and each.shape != shape and size_of(*each.shape) == size_of(*shape)
            if fits and all(isinstance(size, int) for size in (*shape, *each.shape)):
                return self.make("reshape", [each], shape)
        return None

    # -- calls

    def make(
        self, name: str, operands: list[Value], *rest: Any, span: Span | None = None, exact: bool = False, **attrs: Any
    ) -> Value:
        """Call an operator whose result has these bounds; without any, one that moves elements of operands of the result's data type.

        Raises Refused: TVM refuses it, it is too large, or constant.
        """
        low, high = span or (0, 1)
        refuse(low >= high or max(-low, high) > LIMITS[attrs.get("out_dtype", operands[0].dtype)])
        exprs: list[Any] = [each.expr for each in operands]
        try:
            expr = self.writer.call(name, [exprs] if name in OF_A_TUPLE else exprs, *rest, **attrs)
            types: list[Type] = self.writer.types(expr)
        except Exception as error:  # noqa: BLE001  TVM refuses by errors of many classes
            raise Refused(str(error)) from None
        refuse(any(size_of(*shape) > LARGEST or len(shape) > 5 for shape, _ in types))
        for each in operands:
            each.users += 1
        self.used += operands
        self.count += 1
        if span is None:
            sources = [each for each in operands if each.dtype == types[0][1]]
            low, high = min(each.low for each in sources), max(each.high for each in sources)
            exact = all(each.exact for each in operands)
        made = Value(expr, *types[0], float(low), float(high), exact, fields=types if len(types) > 1 else [])
        return made if made.fields else self.known(made)

    def item(self, whole: Value, place: int) -> Value:
        """Return a field of a tuple; of another value, which a near miss may have in its place, the value."""
        if not whole.fields:
            return whole
        refuse(place >= len(whole.fields))
        expr = self.writer.item(whole.expr, place)
        return self.known(Value(expr, *whole.fields[place], *whole.span, whole.exact))

    def spread(self, whole: Value) -> None:
        """Take fields of a tuple, if it is one: mostly all that are of the type of the first."""
        alike = [place for place, kind in enumerate(whole.fields) if kind == whole.type]
        for place in alike if self.random.random() < 0.7 else alike[:1]:
            self.item(whole, place)

    def apply(self, name: str, operands: list[Value], result: str) -> Value:
        """Call an elementwise operator, on scaled operands where it needs them. Raises Refused: that does not help."""
        span, needed = scaled_bounds(name, operands, result)
        scaled = {x: x if low_high == x.span else self.clipped(x, *low_high) for x, low_high in needed.items()}
        taken = [scaled[each] for each in operands]
        return self.make(name, taken, span=span, exact=is_exact(name, taken))

    def clipped(self, x: Value, low: float, high: float) -> Value:
        """Return a value made of another one, with these bounds."""
        return self.make("clip", [x], low, high, span=(max(low, x.low), min(high, x.high)), exact=x.exact)
