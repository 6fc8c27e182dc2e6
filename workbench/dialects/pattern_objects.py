"""Patterns with TVM's own objects, made and read by the tables of a dialect's pattern language."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import tvm

from workbench.analysis.patterns import Pattern, PatternBuilder, PatternNode
from workbench.analysis.patterns.pattern import Apart, PatternError
from workbench.analysis.patterns.text import parse
from workbench.errors import UnknownName, reason_of
from workbench.wording import one_line

Make = Callable[[PatternNode, list[Any]], Any]
"makes TVM's object of a sub-pattern and of the objects of its children"
Read = Callable[[Any], Apart]


@dataclass(frozen=True)
class Paired:
    """A Pattern with TVM's own object for each sub-pattern."""

    pattern: Pattern
    objects: tuple[Any, ...]
    "in the order of pattern.nodes; None for what the dialect's language lacks"

    @property
    def root(self) -> Any:
        return self.objects[self.pattern.root]


@dataclass(frozen=True)
class PatternLanguage:
    """TVM's pattern language of a dialect."""

    kind: type
    "the class of its patterns"
    name: str
    make: Mapping[str, Make]
    "by kind of PatternNode"
    read: Mapping[str, Read]
    "by name of TVM's class"

    def pair(self, pattern: object) -> Paired:
        """Return a pattern with its objects: one of TVM's, its text, or a Pattern.

        Raises PatternError: it is none of these, or TVM rejects it, or its TVM object does not expose its conditions.
        Raises UnknownName: it names an operator that TVM does not have.
        """
        if isinstance(pattern, self.kind):
            return Paired(*PatternBuilder.read(pattern, self._take_apart))
        if isinstance(pattern, str):
            pattern = parse(pattern)
        if isinstance(pattern, Pattern):
            return Paired(pattern, self._objects(pattern))
        raise PatternError(
            f"a {type(pattern).__name__} is not a pattern; give a DFPattern of {self.name}, or its text, such as "
            'is_op("add")(wildcard(), wildcard())'
        )

    def _objects(self, pattern: Pattern) -> tuple[Any, ...]:
        made: list[Any] = []
        for node in pattern.nodes:
            if node.kind not in self.make:
                raise PatternError(f"{self.name} has no `{node.kind}`")
            try:
                made.append(self.make[node.kind](node, [made[child] for child in node.children]))
            except (RuntimeError, TypeError, ValueError, AttributeError) as error:
                raise PatternError(f"TVM rejects `{node.label}`: {reason_of(error)}") from None
        return tuple(made)

    def _take_apart(self, pattern: object) -> Apart:
        name = type(pattern).__name__
        if name not in self.read:
            raise PatternError(f"{name} is a kind of pattern that the workbench does not know yet")
        return self.read[name](pattern)


def known_operator(node: PatternNode) -> str:
    """Return the operator that a sub-pattern names; raises UnknownName if TVM does not have it."""
    name = node.fields["name"]
    try:
        tvm.ir.Op.get(name)
    except (AttributeError, RuntimeError):  # to list all operators takes milliseconds
        raise UnknownName("operator", name, [str(each) for each in tvm.ir.Op.list_op_names()]) from None
    return name


def read_expr(expr: Any, number: Any) -> Apart:
    """Return the parts of an ExprPattern of an expression; `number` is its value if it is a constant."""
    if isinstance(expr, tvm.ir.Op):
        return [], "op", {"name": expr.name}
    if number is not None and len(number.shape) == 0:
        value, dtype = number.numpy().item(), str(number.dtype)
        return [], "expr", {"text": f"const({value!r}, {dtype!r})", "value": value, "dtype": dtype}
    return [], "expr", {"text": one_line(" ".join(str(expr).split()), 60)}


MAKE: Mapping[str, Make] = {
    "attr": lambda n, c: c[0].has_attr(dict(n.fields["attrs"])),
    "shape": lambda n, c: c[0].has_shape(list(n.fields["shape"])),
    "dtype": lambda n, c: c[0].has_dtype(n.fields["dtype"]),
    "alt": lambda _, c: c[0] | c[1],
}
READ: Mapping[str, Read] = {
    "WildcardPattern": lambda _: ([], "wildcard", {}),
    "ConstantPattern": lambda _: ([], "constant", {}),
    "TupleGetItemPattern": lambda p: ([p.tuple], "get_item", {"index": int(p.index)}),
    "DataTypePattern": lambda p: ([p.pattern], "dtype", {"dtype": str(p.dtype)}),
}
