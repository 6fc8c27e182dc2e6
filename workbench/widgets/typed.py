"""Values of form fields: convert typed text to a value of the field's type, and back."""

from __future__ import annotations

from workbench.errors import WorkbenchError
from workbench.graph.received import Damaged, literal

_WORDS = {"int": "a whole number", "float": "a number", "bool": "True or False", "list": "a list", "dict": "a dict"}
_BOOLS = {"true": True, "1": True, "false": False, "0": False}


def kind(type: str) -> str:
    """Return the kind of form field for a type: `bool`, `int`, `float`, `str`, or `any` for a Python literal."""
    alone = type.removesuffix(" | None")
    return alone if alone in (*_WORDS, "str") else "any"


def read(type: str, text: str) -> object:
    """Return the value of a text in a field of that type.

    Raises
    ------
    WorkbenchError
        It is of another type, or not a Python literal.
    """
    wanted = kind(type)
    text = text.strip()
    if wanted == "str":
        return text
    if wanted == "bool" and text.lower() in _BOOLS:
        return _BOOLS[text.lower()]
    value = _literal(wanted, type, text)
    if wanted in ("int", "float") and isinstance(value, bool):
        # True is an int for isinstance
        raise WorkbenchError(f"{text} is not {_WORDS[wanted]}")
    if wanted == "float" and isinstance(value, int):
        return float(value)
    if wanted in _WORDS and not isinstance(value, _PYTHON[wanted]):
        raise WorkbenchError(f"{text[:60]} is not {_WORDS[wanted]}")
    return value


def written(type: str, value: object) -> str:
    """Return a value as text that `read` takes."""
    return str(value) if kind(type) == "str" or isinstance(value, bool) else repr(value)


_PYTHON: dict[str, type] = {"int": int, "float": float, "bool": bool, "list": list, "dict": dict}


def _literal(wanted: str, type: str, text: str) -> object:
    try:
        return literal(text)
    except Damaged:
        expected = _WORDS.get(wanted, f"a Python literal ({type})")
        raise WorkbenchError(f"{text[:60] or 'an empty text'} is not {expected}") from None
