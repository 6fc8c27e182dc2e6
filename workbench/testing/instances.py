"""Instances of a pattern in a generated program: matches, and near misses in which one condition does not hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workbench.analysis.patterns import Pattern, PatternNode
from workbench.analysis.tensors import tensor
from workbench.testing.operators import RECIPES, Refused, Shape, Task, Value, call_operator

if TYPE_CHECKING:
    from workbench.testing.growth import Growth

Fault = tuple[int, str]
"a sub-pattern, and which of its conditions does not hold"
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
        """Make a value of the pattern's root. Raises Refused: no type of several that were tried fits the pattern."""
        random, dims = self.random, self.growth.dimension
        images_only = any("2d" in node.fields.get("name", "") for node in self.pattern.nodes)
        for _ in range(24):
            near = random.choice(self.growth.values[-16:])
            images = (random.choice([1, 2]), dims(), 4, 4)
            shape = random.choice([near.shape, near.shape, images, (dims(), dims()), (dims(), dims(), dims())])
            if images_only and random.random() < 0.8:
                shape = near.shape if len(near.shape) == 4 else images
            if random.random() < 0.2:
                shape = tuple(1 if random.random() < 0.4 else each for each in shape)
            dtype = random.choice([near.dtype, "float32", "float32", "float16", "int32", "int8", "bool"])
            self.values, mark = {}, self.growth.mark()
            try:
                return self.value(self.pattern.root, shape, dtype)
            except Refused:
                self.growth.forget(mark)
        raise Refused

    def value(self, id: int, shape: Shape, dtype: str, wanted: Mapping[str, Any] | None = None, **how: Any) -> Value:
        """Return a value of this type that a sub-pattern matches; the same one where it occurs again."""
        broken = self.fault is not None and self.fault[0] == id
        if id in self.values and not (broken and self.fault == (id, "sharing")):
            found = self.values[id]
            if "field" in how and found.whole is not None:
                return self.growth.fields(*found.whole, place=how["field"])
            if (found.shape, found.dtype) != (shape, dtype):
                raise Refused
            return found
        made = self._value(self.pattern.nodes[id], shape, dtype, wanted or {}, broken, how)
        if (
            id != self.pattern.root
            and made.shape
            and self.pattern.nodes[id].kind == "call"
            and (made.shape, made.dtype) != (shape, dtype)
        ):
            raise Refused
        made.fixed = self.pattern.nodes[id].kind != "wildcard"
        self.values[id] = made
        return made

    def _value(
        self, node: PatternNode, shape: Shape, dtype: str, wanted: Mapping[str, Any], broken: bool, how: dict[str, Any]
    ) -> Value:
        grow, random, inner = self.growth, self.random, node.children
        if node.kind == "call":
            return self._call(node, shape, dtype, wanted, broken, how)
        if node.kind in ("alt", "and"):
            faulty = [each for each in inner if self.fault and self._has(each, self.fault[0])]
            return self.value(random.choice(faulty or inner), shape, dtype, wanted, **how)
        if node.kind == "attr":
            return self.value(inner[0], shape, dtype, {**node.fields["attrs"], **wanted}, differ=broken, **how)
        if node.kind in ("dtype", "shape", "type"):
            found = tensor(node.fields["type"]) if node.kind == "type" else None
            kind = (
                (found.shape, found.dtype)
                if found
                else (node.fields.get("shape", shape), node.fields.get("dtype", dtype))
            )
            size, dtype = tuple(int(each) for each in kind[0] if not isinstance(each, str)), kind[1]
            if broken and (node.kind == "dtype" or (found and random.random() < 0.5)):
                dtype = random.choice([each for each in ("float32", "float16", "int8") if each != dtype])
            elif broken:
                size = tuple(each + 1 for each in size) or (4,)
            return self.value(inner[0], size, dtype, wanted, **how)
        if node.kind == "get_item":
            return self.value(inner[0], shape, dtype, wanted, field=max(0, node.fields["index"]))
        if node.kind == "dominates":
            return self._dominated(node, shape, dtype)
        if node.kind == "used_by":
            return self._used(node, shape, dtype, broken)
        if node.kind in ("var", "constant", "expr"):
            if broken == (node.kind == "var"):
                given = {} if broken or "value" not in node.fields else {"value": node.fields["value"]}
                return grow.leaf(() if given else shape, dtype, "constant", positive=random.random() < 0.5, **given)
            name = "" if broken else node.fields.get("name", "")
            if name not in grow.named:
                made = grow.leaf(shape, dtype, random.choice(["input", "param"]), name=name)
                if not name:
                    return made
                grow.named[name] = made
            if grow.named[name].type != (shape, dtype):
                raise Refused
            return grow.named[name]
        if node.kind in ("wildcard", "not"):
            return grow.pick(0, shape, dtype, **how)
        raise Refused

    def _has(self, id: int, part: int) -> bool:
        """Return whether a sub-pattern is another one or has it inside."""
        return id == part or any(self._has(each, part) for each in self.pattern.nodes[id].children)

    def _call(
        self, node: PatternNode, shape: Shape, dtype: str, wanted: Mapping[str, Any], broken: bool, how: dict[str, Any]
    ) -> Value:
        callee, *parts = (self.pattern.nodes[each] for each in node.children)
        while callee.kind in ("alt", "and"):
            callee = self.pattern.nodes[self.random.choice(callee.children)]
        if len(parts) == 1 and parts[0].kind in ("tuple", "any_order"):
            parts = [self.pattern.nodes[each] for each in parts[0].children]
        if callee.kind != "op":
            raise Refused
        name = callee.fields["name"].removeprefix(self.growth.writer.prefix)
        if broken and self.fault == (node.id, "order"):
            parts.reverse()
        elif broken:
            name = self._other(name)

        def take(place: int, size: Shape, kind: str, **more: Any) -> Value:
            if place == 0 and "first" in how:
                return how["first"]
            if node.fields["any"] or place >= len(parts):
                return self.growth.pick(place, size, kind, **more)
            return self.value(parts[place].id, size, kind, **more)

        task = Task(
            self.random, shape, dtype, take, True, wanted, how.get("differ", False), len(parts) or 2, how.get("field")
        )
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
        value = self.value(parent, shape, dtype)
        on_path = self.pattern.nodes[path]
        for _ in range(self.random.randint(0, 2)):
            if on_path.kind == "call":
                value = self._call(on_path, shape, dtype, {}, False, {"first": value})
            elif on_path.kind == "wildcard":
                task = Task(self.random, shape, dtype, lambda *_args, v=value, **_more: v, True)
                value = call_operator(self.growth, task, self.random.choice(["negative", "abs", "nn.relu"]))
        self.values.pop(child, None)
        return self.value(child, value.shape, value.dtype, first=value)

    def _used(self, node: PatternNode, shape: Shape, dtype: str, broken: bool) -> Value:
        producer, consumer = node.children
        made = self.value(producer, shape, dtype)
        if broken:
            self.growth.apply("abs", [made], made.dtype)
        return self.value(consumer, made.shape, made.dtype, first=made)
