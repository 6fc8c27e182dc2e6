"""Relay types as text: extracting a tuple's field or a function's result from TVM's printed type."""

from __future__ import annotations


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
