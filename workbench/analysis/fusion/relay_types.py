"""What fusion asks of a Relay type, as TVM prints it: whether it is a tensor's, its shape, its unknown dimensions."""

from __future__ import annotations

import re
from functools import cache

_SCALAR = re.compile(r"(u?int|b?float|bfloat|custom)[0-9]\w*|bool")


@cache
def shape(type: str) -> str | None:
    """A tensor type's shape as text; None for what is no tensor.

    >>> shape("Tensor[(1, ?), float32]"), shape("float32"), shape("(bool, bool)")
    ('1, ?', '', None)
    """
    if type.startswith("Tensor[(") and ")" in type:
        return type[8 : type.index(")")]
    return "" if _SCALAR.fullmatch(type) else None


def is_tensor(type: str) -> bool:
    """Whether it is a tensor's type, a scalar's included."""
    return shape(type) is not None


@cache
def fields(type: str) -> tuple[str, ...]:
    """The types of a tuple's fields."""
    if not (type.startswith("(") and type.endswith(")")):
        return (type,) if type and not is_tensor(type) else ()
    depth, parts, start = 0, [], 1
    for place in range(1, len(type) - 1):
        char = type[place]
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            parts.append(type[start:place].strip())
            start = place + 1
    last = type[start:-1].strip()
    return (*parts, last) if last else tuple(parts)


def dynamic(type: str) -> int:
    """How many dimensions of a tensor are unknown."""
    return (shape(type) or "").count("?")
