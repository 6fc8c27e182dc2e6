"""The growth of a program, operator by operator.

A step chooses a value, mostly one that nothing uses yet, and an operator that takes it; further operands are earlier values where
their types fit. Each value has bounds. Where an operator would make a value infinite, undefined or constant, its operands are scaled,
or another operator is called, so that the outputs show a wrong pass.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import accumulate
from random import Random
from typing import Any

import numpy as np

from workbench.analysis.patterns import Pattern
from workbench.testing.instances import Instance, conditions
from workbench.testing.operators import RECIPES, Task, call_operator, registered
from workbench.testing.values import LIMITS, SIZES, Refused, Shape, Span, Type, Value, bounds, is_exact, refuse, size_of

MEMORY, RECENT = 16, 64
"how many of the last values of a type an operand is chosen from, and how many of the last values of any"
APART = 16
"operators from one instance of a pattern to the next"
LARGEST = 4096
"most elements of a value"
COMMON = {"add": 4, "multiply": 4, "subtract": 2, "nn.relu": 2, "divide": 1, "maximum": 1, "exp": 1, "sigmoid": 1}
"how often elementwise operators are chosen, where it is not 0.2"
SAFE, SAFE_NUMBERS = ((0.5, 1.5), (-0.9, 0.9), (1.1, 2.0)), ((1, 3), (0, 3))
"ranges that operands are scaled to where an operator does not take theirs: of floats, and of integers"
Values = Sequence[Value]
Called = tuple[Any, list[Type]]
"the result of a call, and its type or those of its fields"


class Growth:
    """A program while it grows."""

    def __init__(
        self, random: Random, dialect: str, pattern: Pattern | None, matches: bool, likely: Collection[str] = ()
    ) -> None:
        facet = import_module(f"workbench.testing._{dialect}")
        self.writer, self.elementwise = facet.Writer(), facet.elementwise()
        self.random, self.pattern, self.instances = random, pattern, 0
        self.loose = conditions(pattern) if pattern and not matches else []
        self.arrays = np.random.default_rng(random.getrandbits(32))
        self.values: list[Value] = []
        self.used: list[Value] = []
        "the operands of the calls so far"
        self.shown: list[Value] = []
        "values inside of matches that are outputs too"
        self.named: dict[str, Value] = {}
        "variables whose names a pattern wants"
        self.next, self.last, self.count = None, None, 0
        "the value that the next operator takes, the operand chosen last, and the operators so far"
        # a chance match would not be a near miss
        prefix = self.writer.prefix
        roots = {node.fields["name"] for node in (pattern.nodes if self.loose and pattern else ()) if node.kind == "op"}
        known = [*self.elementwise, *(each for each in RECIPES if prefix + each in registered())]
        self.names = [each for each in known if prefix + each not in roots]
        weights = {name: RECIPES[name][0] if name in RECIPES else COMMON.get(name, 0.2) for name in self.names}
        wanted = {name.removeprefix(prefix) for name in likely} & {*weights}
        more = sum(weights.values()) / max(1, len(wanted))
        self.weights = list(accumulate(weights[name] + more * (name in wanted) for name in self.names))
        self.dimensions = [random.choice([1, 2, 3, 4, 6, 8]) for _ in range(3)]
        symbols = random.choice([1, 1, 1, 2]) if prefix and random.random() > 0.75 else 0
        self.sizes = dict(list(SIZES.items())[:symbols])
        self._begin()

    def _begin(self) -> None:
        """Make the first inputs, and sometimes a call of a function."""
        random = self.random
        dtype = random.choices(["float32", "float16", "int8", "int32"], [70, 12, 10, 8])[0]
        shape: Shape = tuple(self.dimension() for _ in range(random.choice([1, 2, 2, 3, 3])))
        if size_of(shape) < 4:
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

    def grow(self, operators: int) -> None:
        """Add operators at random, and instances of the pattern, until there are so many."""
        due = self.random.randint(0, min(operators, APART) // 2)
        for _ in range(4 * operators):
            if self.pattern and self.count >= due:
                due = self.count + 1
                with suppress(Refused):
                    self._instance(self.pattern)
                    due = self.count + APART
            if self.count >= operators:
                return
            self._step()

    def _instance(self, pattern: Pattern) -> None:
        instance = Instance(self, pattern, self.random.choice(self.loose) if self.loose else None)
        root = instance.grow()
        self.instances += 1
        inner = [each for each in instance.values.values() if not each.kind and each is not root]
        if inner and self.random.random() < 0.2:
            self.shown.append(self.random.choice(inner))

    def _step(self) -> None:
        """Call an operator on a value; nothing where eight operators in turn do not take it."""
        unused = [each for each in self.values[-RECENT:] if each.users == 0]
        recent = unused[:1] if unused and self.random.random() < 0.75 else self.values[-MEMORY:]
        if self.random.random() < 0.8:  # operators on a single number show little
            recent = [each for each in recent if size_of(each.shape) > 1] or self.values[-MEMORY:]
        start = self.random.choice(recent)
        for _ in range(8):
            name, mark, self.next = self.random.choices(self.names, cum_weights=self.weights)[0], self.mark(), start
            try:
                call_operator(self, Task(self.random, *start.type, self.pick), name)
            except Refused:
                self.forget(mark)
                continue
            return

    def mark(self) -> tuple[int, int]:
        """Return a mark to which `forget` goes back."""
        return len(self.values), len(self.used)

    def forget(self, mark: tuple[int, int]) -> None:
        """Forget the values that were made since a mark: no operand or output is one of them."""
        for each in self.used[mark[1] :]:
            each.users -= 1
        gone = self.values[mark[0] :]
        del self.values[mark[0] :], self.used[mark[1] :]
        self.named = {name: each for name, each in self.named.items() if each not in gone}

    def module(self) -> tuple[Any, dict[str, Any]]:
        """Return the module and its parameters. Its outputs are the values that nothing uses, and sometimes another one."""
        random = self.random
        made = [each for each in self.values if not each.kind]
        made = made or [self.make("reshape", self.values[:1], self.values[0].shape)]
        left = [each for each in made if each.users == 0]
        untidy = len(left) > 1 and bool(self.writer.prefix) and random.random() < 0.15
        if untidy:
            left.remove(random.choice(left))
        if random.random() < 0.15:
            left.append(random.choice(made))
        # what an untidy program has of refused operators may read any of them
        for given, kind in ((self.writer.inputs, "input"), (getattr(self.writer, "weights", []), "param")):
            given[:] = given if untidy else [each.expr for each in self.values if each.kind == kind and each.users]
        outputs = dict.fromkeys([*left, *(each for each in self.shown if each in made)])
        return self.writer.module([each.expr for each in outputs], not untidy)

    # -- values

    def dimension(self) -> int:
        """Return a size."""
        return self.random.choice(self.dimensions)

    def leaf(
        self, shape: Shape, dtype: str, kind: str = "", *, positive: bool = False, below: int = 0, **given: Any
    ) -> Value:
        """Return a new input, parameter or constant; `given` may be its name, and a constant's value."""
        few = len(self.writer.inputs) < 4 and not (positive or below) and self.random.random() < 0.3
        if few or any(isinstance(each, str) for each in shape):
            kind = kind or "input"
        kind = kind or self.random.choice(["param", "constant"])
        floating = dtype.startswith("float")
        if kind == "input":
            expr = self.writer.input(given.get("name") or f"x{len(self.writer.inputs)}", shape, dtype)
            low, high = (-3, 3) if floating else (0, 1) if dtype == "bool" else (-4, 4)
            return self.known(Value(expr, shape, dtype, low, high, kind=kind))
        refuse(any(isinstance(each, str) for each in shape))
        size: Any = shape
        if "value" in given:
            array = np.asarray(given["value"])
        elif floating:
            scale = 2 / max(1, size_of(shape)) ** 0.25
            array = self.arrays.uniform(*((0.5, 1.5) if positive else (-scale, scale)), size)
        else:
            low, high = (0, below or 2) if below or dtype == "bool" else (1, 4) if positive else (-2, 3)
            array = self.arrays.integers(low, high, size)
        if kind == "constant" and not (given or below) and self.random.random() < 0.2:
            array = np.full(size, 1 if positive else self.random.choice([0, 1]))  # what algebraic passes look for
        array, name = np.asarray(array).astype(dtype), given.get("name") or f"w{len(self.writer.arrays)}"
        if kind == "param":
            self.writer.arrays[name] = array
        expr = self.writer.parameter(name, array) if kind == "param" else self.writer.constant(array)
        return self.known(Value(expr, shape, dtype, float(array.min()), float(array.max()), kind=kind))

    def known(self, value: Value) -> Value:
        """Remember a value for later operands."""
        self.values.append(value)
        return value

    def pick(
        self,
        _: int,
        shape: Shape,
        dtype: str,
        *,
        weight: bool = False,
        positive: bool = False,
        below: int = 0,
        **__: Any,
    ) -> Value:
        """Return an operand of this type: an earlier value, one made of an earlier value, or a new one."""
        found = [each for each in self.values[-RECENT:] if each.type == (shape, dtype)][-MEMORY:]
        random = self.random
        if below:
            found = [each for each in found if each.low >= 0 and each.high < below]
        elif self.next in found:
            found, self.next = [self.next], None
        elif random.random() < 0.85:
            found = [each for each in found if each is not self.last]
        if not weight and found and random.random() < 0.9:
            self.last = random.choice([each for each in found if each.users == 0] or found)
            return self.last
        adapted = None if weight or below or random.random() < 0.3 else self._adapted(shape, dtype)
        return adapted or self.leaf(shape, dtype, positive=positive, below=below)

    def _adapted(self, shape: Shape, dtype: str) -> Value | None:
        """Return a value of this type made of one of the last values: cast, or reshaped."""
        for each in reversed(self.values[-MEMORY:]):
            if each.shape == shape and each.dtype != dtype and "bool" not in (dtype, each.dtype):
                task = Task(self.random, shape, each.dtype, lambda *_a, v=each, **_k: v, attrs={"dtype": dtype})
                with suppress(Refused):
                    return call_operator(self, task, "astype" if self.writer.prefix else "cast")
            fits = each.dtype == dtype and each.shape != shape and size_of(each.shape) == size_of(shape)
            if fits and all(isinstance(size, int) for size in (*shape, *each.shape)):
                return self.make("reshape", [each], shape)
        return None

    # -- calls

    def called(self, name: str, operands: Values, *rest: Any, together: bool = False, **attrs: Any) -> Called:
        """Call an operator; `together` if it takes a tuple of the operands. Raises Refused: TVM refuses it, or it is too large."""
        exprs: list[Any] = [each.expr for each in operands]
        try:
            expr = self.writer.call(name, [exprs] if together else exprs, *rest, **attrs)
            types = self.writer.types(expr)
        except Exception as error:  # noqa: BLE001  TVM refuses by errors of many classes
            raise Refused(str(error)) from None
        refuse(any(size_of(shape) > LARGEST or len(shape) > 5 for shape, _ in types))
        for each in operands:
            each.users += 1
        self.used += operands
        self.count += 1
        return expr, types

    def make(
        self, name: str, operands: Values, *rest: Any, span: Span | None = None, exact: bool = False, **attrs: Any
    ) -> Value:
        """Call an operator whose result has these bounds; without any, one that moves elements of operands of the result's data type.

        Raises Refused: they are too far, or the result is constant.
        """
        low, high = span or (0, 1)
        refuse(low >= high or max(-low, high) > LIMITS[attrs.get("out_dtype", operands[0].dtype)])
        expr, (kind,) = self.called(name, operands, *rest, **attrs)
        if span is None:
            sources = [each for each in operands if each.dtype == kind[1]]
            low, high = min(each.low for each in sources), max(each.high for each in sources)
            exact = all(each.exact for each in operands)
        return self.known(Value(expr, *kind, float(low), float(high), exact))

    def fields(self, result: Called, low: float, high: float, exact: bool, place: int | None = None) -> Value:
        """Return a field of a result, and remember the others, if it may be any."""
        expr, types = result
        chosen = self.random.randrange(len(types)) if place is None else place
        others = place is None and self.random.random() < 0.7
        places = [*(each for each in range(len(types)) if others and each != chosen), chosen]
        whole = (result, low, high, exact)
        made = [Value(self.writer.item(expr, at), *types[at], low, high, exact, whole=whole) for at in places]
        return [self.known(each) for each in made][-1]

    def apply(self, name: str, operands: Values, result: str) -> Value:
        """Call an elementwise operator, on scaled operands where it needs them. Raises Refused: that does not help."""
        for safe in (None, *(SAFE if any(each.floating for each in operands) else SAFE_NUMBERS)):
            kept = [safe is None or each.fixed or each.dtype == "bool" for each in operands]
            spans = [(x.low, x.high) if keep or safe is None else safe for x, keep in zip(operands, kept, strict=True)]
            with suppress(Refused):
                low, high = bounds(name, operands, result, spans)
                break
        else:
            raise Refused
        scaled = {x: x if keep else self._scaled(x, *span) for x, keep, span in zip(operands, kept, spans, strict=True)}
        expr, (kind,) = self.called(name, [scaled[each] for each in operands])
        return self.known(Value(expr, *kind, low, high, is_exact(name, scaled.values())))

    def _scaled(self, x: Value, low: float, high: float) -> Value:
        """Return a value made of another one, with these bounds."""
        span = max(low, x.low), min(high, x.high)
        return self.make("clip", [x], low, high, span=span, exact=x.exact)
