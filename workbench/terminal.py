"""Text for a terminal, a log or a notebook. Control characters and HTML are escaped: names may come from foreign files."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from html import escape
from itertools import islice
from typing import TextIO

_RANGES = (
    *((0x00, 0x08), (0x0B, 0x1F), (0x7F, 0x9F)),  # C0 without tab and line feed, DEL, C1
    *(
        (0x061C, 0x061C),
        (0x200E, 0x200F),
        (0x202A, 0x202E),
        (0x2066, 0x2069),
    ),  # they change the direction of the text
    (0x2028, 0x2029),  # line and paragraph separators
    *((0xD800, 0xDFFF), (0xE0000, 0xE007F)),  # halves of characters, which no stream accepts; tags, which are invisible
)
_VISIBLE = {code: ascii(chr(code))[1:-1] for first, last in _RANGES for code in range(first, last + 1)}


def visible(text: str) -> str:
    r"""Return a text with its control characters written out; line feeds and tabs stay.

    >>> print(visible("\x1b]0;title\x07 and \u202e"))
    \x1b]0;title\x07 and \u202e
    """
    return text if text.isascii() and text.isprintable() else text.translate(_VISIBLE)


def print_line(text: object, file: TextIO | None = None) -> None:
    """Print a line with its control characters visible."""
    print(visible(str(text)), file=file or sys.stdout, flush=True)


TABLE_ROWS = 200
"rows of a table in a notebook; more are not read"


def html_table(sentence: str, rows: Iterable[Mapping[str, object]] = ()) -> str:
    """Return a sentence and a table with a row for each mapping, as HTML for a notebook.

    >>> html_table("a < b", [{"op": "add", "us": 1.25}])
    '<p>a &lt; b</p><table><tr><th>op</th><th>us</th></tr><tr><td>add</td><td>1.25</td></tr></table>'
    """
    shown = list(islice(rows, TABLE_ROWS))
    if not shown:
        return f"<p>{escape(visible(sentence))}</p>"
    lines = [_html_row("th", shown[0].keys()), *(_html_row("td", row.values()) for row in shown)]
    return f"<p>{escape(visible(sentence))}</p><table>{''.join(lines)}</table>"


def _html_row(tag: str, cells: Iterable[object]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(visible(_cell(cell)))}</{tag}>" for cell in cells) + "</tr>"


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
