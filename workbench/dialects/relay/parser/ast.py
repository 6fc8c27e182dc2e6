"""Relay as in its text: expressions that refer to each other, without resolved names or TVM objects. Types stay text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Expr:
    """One expression. Two uses of one value are two references to the same Expr."""

    kind: str
    "var constant op global constructor call tuple get_item function let if match ref"
    text: str = ""
    "the name of a var, op or global, a literal, the index of a get_item, or the form of a ref"
    args: tuple[Expr, ...] = ()
    """call: callee, arguments. tuple: fields. get_item: the tuple. let: variable, value, body. if: condition, then, else.
    match: data, then each clause's body. ref: its operands. function: the body"""
    attrs: Mapping[str, Any] = field(default_factory=dict)
    type: str = ""
    span: str = ""
    line: int = 0
    params: tuple[Expr, ...] = ()
    "the parameters of a function"
    result: str = ""
    "the type that a function declares as its result"
    patterns: tuple[Pattern, ...] = ()
    "the clauses of a match, one pattern each"


@dataclass(slots=True, eq=False)
class Pattern:
    """The left side of a match clause."""

    text: str
    variables: tuple[Expr, ...]


@dataclass(slots=True)
class Module:
    """The functions of a module, in the order of the text."""

    functions: dict[str, Expr]
    crossed: list[Expr] = field(default_factory=list)
    "functions in which a value is used outside the block that binds it"
    constants: list[Expr] = field(default_factory=list)
    "constants whose values are stored outside the text, each once"


def operands_first(starts: Iterable[Expr]) -> list[Expr]:
    """Return every expression after all its operands; a function after its parameters."""
    return post_order(starts, lambda expr: (*expr.args, *expr.params))


def post_order(starts: Iterable[T], parts: Callable[[T], Iterable[T]]) -> list[T]:
    """Return everything that is reached, each after its parts as far as there are no cycles."""
    order: list[T] = []
    seen: set[T] = set()
    stack = [(start, False) for start in starts]
    while stack:
        one, finished = stack.pop()
        if finished:
            order.append(one)
        elif one not in seen:
            seen.add(one)
            stack.append((one, True))
            stack += [(part, False) for part in parts(one)]
    return order


def split_top(text: str) -> list[str]:
    """Split at the commas outside all brackets.

    >>> split_top("Tensor[(1, 2), int8], bool")
    ['Tensor[(1, 2), int8]', 'bool']
    """
    parts: list[str] = []
    depth, start = 0, 0
    for place, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def field_type(tuple_type: str, index: int) -> str:
    """Return the type of one field of a tuple type, empty if the text is not a tuple with such a field.

    >>> field_type("(Tensor[(1, 2), int8], bool)", 1)
    'bool'
    """
    if not (tuple_type.startswith("(") and tuple_type.endswith(")")):
        return ""
    fields = split_top(tuple_type[1:-1])
    return fields[index] if index < len(fields) else ""


def result_type(function_type: str) -> str:
    """Return the result type of a function type, empty if the text is not one.

    >>> result_type("fn (int8, fn (int8) -> bool) -> bool")
    'bool'
    """
    depth = 0
    for place, char in enumerate(function_type):
        depth += (char in "([{") - (char in ")]}")
        if depth == 0 and function_type.startswith(" -> ", place):
            return function_type[place + 4 :]
    return ""
