"""Instances of a pattern in a generated program: matches, and near misses in which one condition does not hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.analysis.patterns import Pattern, PatternNode
from workbench.analysis.tensors import tensor
from workbench.testing.operators import RECIPES, Task, call_operator
from workbench.testing.values import Refused, Shape, Type, Value, refuse

if TYPE_CHECKING:
    from workbench.testing.growth import Growth

Fault = tuple[int, str]
"a sub-pattern, and which of its conditions does not hold"
OPERANDS = ("weight", "positive", "below")
"what a recipe asks of an operand"
SYMMETRIC = ("add", "multiply", "maximum", "minimum", "equal", "not_equal", "logical_and", "logical_or")


def faults(pattern: Pattern) -> list[Fault]:
    """Return the conditions of a pattern that can fail alone; the root's operator only if there are no others."""
    found: list[Fault] = []
    roots = [pattern.root]  # where nothing of the pattern matches if its condition fails
    for root in roots:
        node = pattern.nodes[root]
        place = {"attr": 0, "dtype": 0, "shape": 0, "type": 0, "dominates": 2, "used_by": 1}.get(node.kind)
        roots += node.children if node.kind in ("alt", "and") else [] if place is None else [node.children[place]]
    for node in pattern.nodes:
        inner = [pattern.nodes[each] for each in node.children]
        if node.kind == "call" and inner[0].kind == "op":
            if node.id not in roots:
                found.append((node.id, "operator"))
            apart = len(inner) == 3 and inner[1] is not inner[2] and any(each.kind != "wildcard" for each in inner[1:])
            if apart and not inner[0].fields["name"].endswith(SYMMETRIC):
                found.append((node.id, "order"))
        elif node.id not in roots and node.kind in ("attr", "dtype", "type", "shape", "constant", "expr", "var"):
            found.append((node.id, "value"))
        elif node.kind == "used_by" and node.fields["only"]:
            found.append((node.id, "users"))
        elif node.kind == "wildcard" and node.id in pattern.shared:
            found.append((node.id, "sharing"))
    whole = [(root, "value") for root in roots if pattern.nodes[root].kind in ("attr", "dtype", "type", "shape")]
    return found or whole or [(each.id, "operator") for each in pattern.nodes if pattern.names_operator(each)]


class Instance:
    """One place where a pattern matches, or nearly does."""

    def __init__(self, growth: Growth, pattern: Pattern, fault: Fault | None) -> None:
        self.growth, self.pattern, self.fault, self.random = growth, pattern, fault, growth.random
        self.values: dict[int, Value] = {}
        "sub-pattern -> its value"

    def grow(self) -> Value:
        """Make a value of the pattern's root. Raises Refused: the pattern has no value of a type that was tried."""
        random, dims = self.random, self.growth.dimension
        images_only = any("2d" in node.fields.get("name", "") for node in self.pattern.nodes)
        for _ in range(24):
            near = random.choice(self.growth.values[-16:])
            images = near.shape if len(near.shape) == 4 else (random.choice([1, 2]), dims(), 4, 4)
            shape = random.choice([near.shape, near.shape, images, (dims(), dims()), (dims(), dims(), dims())])
            shape = images if images_only and random.random() < 0.8 else shape
            if random.random() < 0.2:
                shape = tuple(1 if random.random() < 0.4 else each for each in shape)
            dtype = random.choice([near.dtype, "float32", "float32", "float16", "int32", "int8", "bool"])
            typed = [each for each in self.pattern.nodes if each.kind in ("dtype", "shape", "type")]
            if typed and not self.fault and random.random() < 0.5:
                shape, dtype = self._type(random.choice(typed), shape, dtype, False)
            self.values, mark = {}, self.growth.mark()
            try:
                return self.value(self.pattern.root, shape, dtype)
            except Refused:
                self.growth.forget(mark)
        raise Refused

    def value(self, id: int, shape: Shape, dtype: str, **how: Any) -> Value:
        """Return a value of this type that a sub-pattern matches; the same one where it occurs again."""
        node, found = self.pattern.nodes[id], self.values.get(id)
        if found is not None and self.fault != (id, "sharing"):
            if "field" in how and found.whole is not None:
                return self.growth.fields(*found.whole, place=how["field"])
        else:
            found = self._value(node, shape, dtype, how)
        # a number may broadcast, and the root may be of any type
        refuse(found.type != (shape, dtype) and id != self.pattern.root and bool(found.shape) and node.kind != "shape")
        found.fixed = node.kind != "wildcard"
        self.values[id] = found
        return found

    def _value(self, node: PatternNode, shape: Shape, dtype: str, how: dict[str, Any]) -> Value:
        random, inner, broken = self.random, node.children, self.fault is not None and self.fault[0] == node.id
        if node.kind in ("wildcard", "not"):
            return self.growth.pick(0, shape, dtype, **{key: how[key] for key in how if key in OPERANDS})
        if node.kind == "call":
            return self._call(node, shape, dtype, how)
        if node.kind in ("alt", "and"):
            faulty = [each for each in inner if self.fault and self._has(each, self.fault[0])]
            return self.value(random.choice(faulty or inner), shape, dtype, **how)
        if node.kind == "attr":
            attrs = {**node.fields["attrs"], **how.get("attrs", {})}
            return self.value(
                inner[0], shape, dtype, **{**how, "attrs": attrs, "differ": broken or how.get("differ", False)}
            )
        if node.kind in ("dtype", "shape", "type"):
            return self.value(inner[0], *self._type(node, shape, dtype, broken), **how)
        if node.kind == "get_item":
            return self.value(inner[0], shape, dtype, field=max(0, node.fields["index"]))
        if node.kind == "dominates":
            return self._dominated(node, shape, dtype)
        if node.kind == "used_by":
            made = self.value(inner[0], shape, dtype)
            if broken:
                self.growth.apply("abs", [made], made.dtype)
            return self.value(inner[1], *made.type, first=made)
        if node.kind in ("var", "constant", "expr"):
            return self._leaf(node, shape, dtype, broken)
        raise Refused

    def _type(self, node: PatternNode, shape: Shape, dtype: str, broken: bool) -> Type:
        """Return the type that a sub-pattern wants, or if it is broken the given one, which must be another."""
        found = tensor(node.fields.get("type", "")) if node.kind == "type" else None
        wanted = found.shape if found else tuple(node.fields.get("shape", shape))
        kind = found.dtype if found else node.fields.get("dtype", dtype)
        refuse(broken and (wanted, kind) == (shape, dtype))
        return (shape, dtype) if broken else (wanted, kind)

    def _leaf(self, node: PatternNode, shape: Shape, dtype: str, broken: bool) -> Value:
        """Return a constant for a variable or the reverse if the sub-pattern is broken, else what it wants."""
        if broken == (node.kind == "var"):
            given = {} if broken or "value" not in node.fields else {"value": node.fields["value"]}
            return self.growth.leaf(
                () if given else shape, dtype, "constant", positive=self.random.random() < 0.5, **given
            )
        named, name = self.growth.named, "" if broken else node.fields.get("name", "")
        if name in named:
            return named[name]
        made = self.growth.leaf(shape, dtype, self.random.choice(["input", "param"]), name=name)
        named.update({name: made} if name else {})
        return made

    def _has(self, id: int, part: int) -> bool:
        """Return whether a sub-pattern is another one or has it inside."""
        return id == part or any(self._has(each, part) for each in self.pattern.nodes[id].children)

    def _call(self, node: PatternNode, shape: Shape, dtype: str, how: dict[str, Any]) -> Value:
        callee, *parts = (self.pattern.nodes[each] for each in node.children)
        while callee.kind in ("alt", "and"):
            callee = self.pattern.nodes[self.random.choice(callee.children)]
        if len(parts) == 1 and parts[0].kind in ("tuple", "any_order"):
            parts = [self.pattern.nodes[each] for each in parts[0].children]
        refuse(callee.kind != "op")
        name = callee.fields["name"].removeprefix(self.growth.writer.prefix)
        if self.fault == (node.id, "order"):
            parts.reverse()
        elif self.fault == (node.id, "operator"):
            name = self._other(name)

        def take(place: int, size: Shape, kind: str, **more: Any) -> Value:
            if place == 0 and "first" in how:
                return how["first"]
            if node.fields["any"] or place >= len(parts):
                return self.growth.pick(place, size, kind, **more)
            return self.value(parts[place].id, size, kind, **more)

        wanted = {key: how[key] for key in ("attrs", "differ", "field") if key in how}
        task = Task(self.random, shape, dtype, take, backwards=True, parts=len(parts) or 2, **wanted)
        return call_operator(self.growth, task, name)

    def _other(self, name: str) -> str:
        """Return another operator that takes the same operands, or takes the first of them."""
        known = self.growth.elementwise
        arity = known[name][0] if name in known else 1
        alike = [each for each in RECIPES if name in RECIPES and RECIPES[each][1] is RECIPES[name][1]]
        others = [each for each in alike if each != name and each in self.growth.names]
        return self.random.choice(others or [each for each in known if known[each][0] == arity and each != name])

    def _dominated(self, node: PatternNode, shape: Shape, dtype: str) -> Value:
        parent, path, child = node.children
        value, on_path = self.value(parent, shape, dtype), self.pattern.nodes[path]
        for _ in range(self.random.randint(0, 2)):
            if on_path.kind == "call":
                value = self._call(on_path, shape, dtype, {"first": value})
            elif on_path.kind == "wildcard":
                value = self.growth.apply(self.random.choice(["negative", "abs", "nn.relu"]), [value], dtype)
        return self.value(child, *value.type, first=value)
