"""Names in other languages: one function a language. A name may come from a file, and its author may want it to run.

Python's values are quoted by `repr`, programs by `python`, JSON and YAML by `json.dumps`, HTML by `html.escape`, DOT by `graphviz.escape`.
"""

from __future__ import annotations

import re
import shlex
from numbers import Number
from typing import TYPE_CHECKING

from workbench.terminal import visible

if TYPE_CHECKING:
    import pandas as pd

_FORMULA = re.compile(r"[=+\-@\t\n\uff1d\uff0b\uff0d\uff20]")
"the first characters that make a spreadsheet compute a cell; the wide ones do where Chinese or Japanese is set"
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def shell(*words: object) -> str:
    r"""Return words of a command line of bash. Control characters are written out, because a terminal obeys pasted ones.

    >>> print(shell("show", "a;b.onnx", "\x15id\r"))
    show 'a;b.onnx' $'\x15id\x0d'
    """
    return " ".join(map(_shell_word, map(str, words)))


def _shell_word(word: str) -> str:
    if word.isprintable():
        return shlex.quote(word)
    written = (
        char
        if char.isprintable() and char not in "\\'"
        else f"\\x{ord(char):02x}"
        if ord(char) < 128
        else f"\\U{ord(char):08x}"
        for char in word
    )
    return f"$'{''.join(written)}'"


def shell_file(name: object) -> str:
    """Return a file's name as a word of a command line: no option, also if it begins with a hyphen."""
    return shell(f"./{name}" if str(name).startswith("-") else name)


def comment(text: object) -> str:
    """Return a text for a comment or a docstring of Python: one line that cannot end either."""
    return visible(" ".join(str(text).split())).replace("\\", "/").replace('"', "'")


def csv_text(table: pd.DataFrame) -> str:
    """Return a table as CSV without its index. Text that a spreadsheet would compute begins with an apostrophe."""
    return table.map(_csv_cell).to_csv(index=False, header=[str(_csv_cell(name)) for name in table.columns])


def _csv_cell(value: object) -> object:
    if value is None or isinstance(value, Number):
        return value
    text = visible(str(value))  # a lone carriage return would begin a row
    if _FORMULA.match(text) and not _NUMBER.fullmatch(text):
        return f"'{text}"
    return text if isinstance(value, str) else value


def python(text: str) -> str:
    """Return the Python of a string; several lines stay several lines where that is safe.

    >>> print(python("a"), python("it's"))
    'a' "it's"
    """
    safe = "\n" in text and "\\" not in text and '"""' not in text and not text.endswith('"') and text.isascii()
    return f'"""{text}"""' if safe and text.replace("\n", "").isprintable() else repr(text)
