"""Instances of a pattern in a generated program: matches, and near misses in which one condition need not hold."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from workbench.analysis.patterns import Pattern, PatternNode
from workbench.analysis.tensors import tensor
from workbench.testing.operators import Task
from workbench.testing.values import SAFE_FLOATS, SAFE_INTEGERS, Refused, Shape, Type, Value, refuse

if TYPE_CHECKING:
    from workbench.testing.growth import Growth

TRIES = 60
"types of the root that are tried for an instance"
TYPED = ("dtype", "shape", "type")


def conditions(pattern: Pattern) -> list[int]:
    """Return the sub-patterns of which one may fail in a near miss: the root call only if there are no others."""
    kinds = ("call", "attr", *TYPED, "constant", "expr", "var", "used_by")
    found = [node.id for node in pattern.nodes if node.kind in kinds or node.id in pattern.shared]
    return [each for each in found if each != pattern.root or pattern.nodes[each].kind != "call"] or found


class Instance:
    """One place where a pattern matches, or nearly does."""

    def __init__(self, growth: Growth, pattern: Pattern, loose: int | None) -> None:
        self.growth, self.pattern, self.random = growth, pattern, growth.random
        self.loose = loose
        "the sub-pattern whose own condition is left out"
        self.values: dict[int, Value] = {}
        "sub-pattern -> its value"

    def grow(self) -> Value:
        """Make a value of the pattern's root. Raises Refused: the pattern has no value of a type that was tried."""
        random, dims = self.random, self.growth.dimension
        for _ in range(TRIES):
            near = random.choice(self.growth.values[-16:])
            images = near.shape if len(near.shape) == 4 else (random.choice([1, 2]), dims(), 4, 4)
            shape = random.choice([near.shape, near.shape, images, (dims(), dims()), (dims(), dims(), dims())])
            if random.random() < 0.2:
                shape = tuple(1 if random.random() < 0.4 else each for each in shape)
            dtype = random.choice([near.dtype, "float32", "float32", "float16", "int32", "int8", "bool"])
            typed = [each for each in self.pattern.nodes if each.kind in TYPED]
            if typed and random.random() < 0.5:
                shape, dtype = _wanted(random.choice(typed), shape, dtype)
            self.values = {}
            with suppress(Refused), self.growth.whole():
                return self.value(self.pattern.root, shape, dtype)
        raise Refused

    def value(self, id: int, shape: Shape, dtype: str, **how: Any) -> Value:
        """Return a value of this type that a sub-pattern matches; the same one where it occurs again."""
        node, found = self.pattern.nodes[id], self.values.get(id)
        if found is None or (id == self.loose and node.kind == "wildcard"):
            found = self._value(node, shape, dtype, how)
        # a number may broadcast, and the root may be of any type
        refuse(found.type != (shape, dtype) and id != self.pattern.root and bool(found.shape) and node.kind != "shape")
        found.fixed = node.kind != "wildcard"
        self.values[id] = found
        return found

    def _value(self, node: PatternNode, shape: Shape, dtype: str, how: dict[str, Any]) -> Value:
        random, inner, loose = self.random, node.children, self.loose == node.id
        if node.kind in ("wildcard", "not"):
            return self.growth.pick(0, shape, dtype, **how)
        if node.kind == "call":
            return self._call(node, shape, dtype, how)
        if node.kind in ("alt", "and"):
            return self.value(random.choice(inner), shape, dtype, **how)
        if node.kind == "attr":
            wanted = {} if loose else node.fields["attrs"]
            return self.value(inner[0], shape, dtype, **{**how, "attrs": {**wanted, **how.get("attrs", {})}})
        if node.kind in TYPED:
            return self.value(inner[0], *((shape, dtype) if loose else _wanted(node, shape, dtype)), **how)
        if node.kind == "get_item":
            return self.growth.item(self.value(inner[0], shape, dtype), max(0, node.fields["index"]))
        if node.kind == "dominates":
            return self._dominated(node, shape, dtype)
        if node.kind == "used_by":
            made = self.value(inner[0], shape, dtype)
            if loose:
                self.growth.apply("abs", [made], made.dtype)
            return self.value(inner[1], *made.type, first=made)
        refuse(node.kind not in ("var", "constant", "expr"))
        return self._leaf(node, shape, dtype, loose)

    def _leaf(self, node: PatternNode, shape: Shape, dtype: str, loose: bool) -> Value:
        """Return a constant for a variable or the reverse if the sub-pattern is left out, else what it wants."""
        leaf, named = self.growth.leaf, self.growth.named
        if loose == (node.kind == "var"):
            if not loose and "value" in node.fields:
                return leaf((), dtype, "constant", value=node.fields["value"])
            positive = SAFE_FLOATS[0] if dtype.startswith("float") else SAFE_INTEGERS[0]
            return leaf(shape, dtype, "constant", within=self.random.choice([None, positive]))
        name = "" if loose else node.fields.get("name", "")
        if name not in named:
            made = leaf(shape, dtype, self.random.choice(["input", "param"]), name=name)
            named |= {name: made} if name else {}
            return made
        return named[name]

    def _call(self, node: PatternNode, shape: Shape, dtype: str, how: dict[str, Any]) -> Value:
        callee, *parts = (self.pattern.nodes[each] for each in node.children)
        while callee.kind in ("alt", "and"):
            callee = self.pattern.nodes[self.random.choice(callee.children)]
        if len(parts) == 1 and parts[0].kind in ("tuple", "any_order"):
            parts = [self.pattern.nodes[each] for each in parts[0].children]
        refuse(callee.kind != "op")
        name = callee.fields["name"].removeprefix(self.growth.writer.prefix)
        if self.loose == node.id and len(parts) == 2 and (node.id == self.pattern.root or self.random.random() < 0.5):
            parts.reverse()
        elif self.loose == node.id:
            name = self._other(name)

        def take(place: int, size: Shape, kind: str, **more: Any) -> Value:
            if place == 0 and "first" in how:
                return how["first"]
            if node.fields["any"] or place >= len(parts):
                return self.growth.pick(place, size, kind, **more)
            return self.value(parts[place].id, size, kind, **more)

        task = Task(self.growth, name, shape, dtype, take, True, how.get("attrs", {}), parts=len(parts) or 2)
        return task.call()

    def _other(self, name: str) -> str:
        """Return another operator that takes the same operands, or takes one."""
        known = self.growth.operators
        taken = (known[name].recipe, known[name].arity) if name in known else None
        others = [each for each in known if each != name]
        alike = [each for each in others if (known[each].recipe, known[each].arity) == taken]
        return self.random.choice(alike or [each for each in others if known[each].arity == 1])

    def _dominated(self, node: PatternNode, shape: Shape, dtype: str) -> Value:
        parent, path, child = node.children
        value, on_path = self.value(parent, shape, dtype), self.pattern.nodes[path]
        for _ in range(self.random.randint(0, 2)):
            if on_path.kind == "call":
                value = self._call(on_path, shape, dtype, {"first": value})
            elif on_path.kind == "wildcard":
                value = self.growth.apply(self.random.choice(["negative", "abs", "nn.relu"]), [value], dtype)
        return self.value(child, *value.type, first=value)


def _wanted(node: PatternNode, shape: Shape, dtype: str) -> Type:
    """Return the type that a sub-pattern wants, where it wants nothing the given one."""
    found = tensor(node.fields["type"]) if node.kind == "type" else None
    if found is not None:
        return found.shape, found.dtype
    return tuple(node.fields.get("shape", shape)), node.fields.get("dtype", dtype)
