"""Readers of untrusted files, JSON and Python literals, with bounds and type checks.

Every error of JSON and of a literal is a Damaged, whose message is a clause that the reader of a format completes to a sentence.
"""

from __future__ import annotations

import ast
import cmath
import errno
import json
import math
import os
import re
import stat
from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

DEPTH = 64
"nesting of lists and objects, far more than the package writes"
VALUES = 20_000_000
"values of one text; each takes about 100 bytes of memory"
LITERAL = 1 << 16
"characters of a Python literal"
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
DIGITS = 40
"of a whole number; Python refuses to print one of more than 4,300"
_LONG = re.compile(rb"[0-9]{%d}" % (DIGITS + 1))
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_INT64 = 1 << 63
_Key = TypeVar("_Key")


_TOO_LONG = f"it holds a number of more than {DIGITS} digits"


class Damaged(ValueError):
    """Received data does not have the requested form; the message is a clause."""


def size_of_file(path: Path, most: int) -> int:
    """Return the bytes of a file that is about to be read, without opening it: opening a pipe waits for a writer.

    Raises OSError: there is none, it is a folder, a device, a pipe or a socket, or it has more than `most` bytes.
    `strerror` is a clause.
    """
    found = path.stat()
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is a device, a pipe or a socket, not a file")
    if found.st_size > most:
        raise OSError(errno.EFBIG, f"it has {found.st_size:,} bytes, and of this format at most {most:,} are read")
    return found.st_size


def contents(path: Path, most: int) -> bytes:
    """Return the bytes of a received file; raises as `size_of_file`."""
    size = size_of_file(path, most)
    with path.open("rb") as file:
        return file.read(size)


def parse(text: str | bytes, values: int = VALUES) -> object:
    """Return the value of a JSON text of bounded depth and size, with numbers that are finite or written as `Infinity`.

    `values`: the most values, lists and objects that the text may hold. Raises Damaged: the text is not JSON, is not
    UTF-8, repeats a key, or exceeds a bound.
    """
    try:
        data = text.encode() if isinstance(text, str) else text
        _check_size(_STRING.sub(b"", data), values)
        found = json.loads(data.decode(), object_pairs_hook=_object, parse_float=_finite)
        if _SURROGATE.search(data):
            json.dumps(found, ensure_ascii=False).encode()
    except Damaged:
        raise
    except json.JSONDecodeError as error:
        raise Damaged(f"it is not JSON from line {error.lineno}, column {error.colno} on") from None
    except UnicodeError:
        raise Damaged("it holds bytes or characters that are not UTF-8") from None
    except RecursionError:
        raise Damaged("it is nested too deep") from None
    return found


def _check_size(structure: bytes, values: int) -> None:
    """Raise if parsing would take too much memory or stack; `structure` is the JSON without its strings."""
    if structure.count(b",") + structure.count(b"[") + structure.count(b"{") >= values:
        raise Damaged(f"it holds more than {values} values")
    brackets = structure.translate(None, _NOT_BRACKETS)
    if max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > DEPTH:
        raise Damaged(f"it nests lists and objects deeper than {DEPTH}")
    if _LONG.search(structure):
        raise Damaged(_TOO_LONG)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise Damaged("an object in it has one key twice")
    return made


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise Damaged(f"it holds the number {text[:30]}")
    return number


def fields(data: object, types: Mapping[_Key, type], *, optional: bool = False) -> dict[_Key, Any]:
    """Return the fields of an object that are named in `types`, each checked; if `optional`, those that it has.

    A float may be written as a whole number. A bool is not a number, an int fits into 64 bits, a float is finite. Raises Damaged:
    it is not an object, lacks a field, or a field is of another type.

    >>> fields({"name": "A", "seconds": 1, "more": []}, {"name": str, "seconds": float})
    {'name': 'A', 'seconds': 1.0}
    """
    if not isinstance(data, dict):
        raise Damaged(f"an object is expected where it has {_kind(data)}")
    missing = [] if optional else [name for name in types if name not in data]
    if missing:
        raise Damaged(f"an object lacks {missing[0]!r}")
    return {name: _typed(data[name], type, name) for name, type in types.items() if name in data}


def _typed(value: Any, wanted: type, name: object) -> Any:
    if wanted is float and type(value) is int:
        value = float(value)
    sound = type(value) is wanted
    if wanted is int:
        sound = sound and abs(value) < _INT64
    elif wanted is float:
        sound = sound and math.isfinite(value)
    if not sound:
        found = "a number out of range" if type(value) is wanted else _kind(value)
        raise Damaged(f"{name!r} is {found}, not {_WORDS[wanted]}")
    return value


def texts(value: object, name: str) -> tuple[str, ...]:
    """Return a list of strings as a tuple; raise Damaged for any other value."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Damaged(f"{name!r} is not a list of texts")
    return tuple(value)


def place(value: object, end: int, name: str) -> int:
    """Return a whole number from 0 up to but not including `end`; raise Damaged for any other value."""
    if type(value) is not int or not 0 <= value < end:
        raise Damaged(f"{name!r} refers to nothing")
    return value


def literal(text: str) -> object:
    """Return the value of a Python literal. Raises Damaged: the text is not a literal, or is too long or too deep."""
    if len(text) > LITERAL:
        raise Damaged(f"it is longer than {LITERAL} characters")
    try:
        tree = ast.parse(text.lstrip(" \t"), mode="eval")
        check_numbers(tree)
        return ast.literal_eval(tree)
    except Damaged:
        raise
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise Damaged("it is not a Python literal") from None


def check_numbers(tree: ast.AST) -> None:
    """Raise Damaged for a number in Python code that cannot be written again: 0xfff... of many digits, 1e999."""
    for node in ast.walk(tree):
        if is_too_long(node):
            raise Damaged(_TOO_LONG)
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, (float, complex))
            and not cmath.isfinite(node.value)
        ):
            raise Damaged("it holds a number that is out of range")


def is_too_long(node: ast.AST) -> bool:
    """Return whether a node of a syntax tree is a whole number of more than DIGITS digits."""
    return isinstance(node, ast.Constant) and isinstance(node.value, int) and abs(node.value) >= 10**DIGITS


_WORDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}


def _kind(value: object) -> str:
    return "null" if value is None else _WORDS[type(value)]
