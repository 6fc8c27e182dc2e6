"""Text for a terminal, a log or a notebook. Control characters and HTML are escaped: names may come from foreign files."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from itertools import islice
from typing import TextIO, TypeVar

from workbench.wording import cell, heading, one_line

Item = TypeVar("Item")

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


TABLE_ROWS, PICTURES = 200, 6
"rows of a table in a notebook, and pictures below it; more are not read"
_INK = 'fill="currentColor" stroke="none"'


def html_table(sentence: str, rows: Iterable[Mapping[str, object]] = ()) -> str:
    """Return a sentence and a table with a row for each mapping, as HTML for a notebook.

    Text is at the left, numbers are at the right, with their units; an empty column is left out.

    >>> html_table("a < b")
    '<p>a &lt; b</p>'
    >>> html_table("", [{"op": "add", "best_us": 1.25}]).count("text-align:right")
    2
    """
    head = f"<p>{_safe(sentence)}</p>" if sentence else ""
    shown = list(islice(rows, TABLE_ROWS))
    if not shown:
        return head
    names = list(shown[0])
    lines = [[cell(name, row.get(name)) for name in names] for row in shown]
    used = [place for place in range(len(names)) if any(line[place] for line in lines)]
    names, lines = [names[place] for place in used], [[line[place] for place in used] for line in lines]
    sides = [_AT_RIGHT if all(map(_NUMBER.fullmatch, column)) else "left" for column in zip(*lines, strict=True)]
    top = _html_row("th", map(heading, names), sides)
    return f"{head}<table>{top}{''.join(_html_row('td', line, sides) for line in lines)}</table>"


class Listed(list[Item]):
    """A list that a notebook shows as a table; `line` returns the row of an item, `picture` its SVG or nothing."""

    def __init__(
        self,
        items: Iterable[Item],
        title: str,
        line: Callable[[Item], Mapping[str, object]],
        picture: Callable[[Item], str] | None = None,
    ) -> None:
        super().__init__(items)
        self._title, self._line, self._picture = title, line, picture

    def _repr_html_(self) -> str:
        drawn = "".join(map(self._picture, self[:PICTURES])) if self._picture else ""
        return html_table(self._title, map(self._line, self)) + drawn


def columns_svg(title: str, top: str, columns: Sequence[Sequence[str]]) -> str:
    """Return SVG of a title, a box, and columns of boxes beneath it, for a notebook.

    >>> columns_svg("2 < 3", "x", [["exp", "add"], ["tanh"]]).count("<rect")
    4
    """
    boxes, lines = [], []
    top, columns = one_line(top), [[one_line(text) for text in column] for column in columns]
    widths = [max(map(len, column)) * 7 + 14 for column in columns]
    lefts = [sum(widths[:place]) + 12 * place for place in range(len(widths))]
    across = max(lefts[-1] + widths[-1], len(top) * 7 + 14, len(title) * 7)
    shift = (across - lefts[-1] - widths[-1]) / 2

    def box(text: str, middle: float, row: int) -> None:
        width = len(text) * 7 + 14
        boxes.append(f'<rect x="{middle - width / 2}" y="{row * 34 + 24}" width="{width}" height="22" rx="4"/>')
        boxes.append(f'<text x="{middle}" y="{row * 34 + 39}" {_INK}>{_safe(text)}</text>')

    if top:
        box(top, across / 2, 0)
    for left, width, column in zip(lefts, widths, columns, strict=True):
        middle = shift + left + width / 2
        for row, text in enumerate(column, 1):
            box(text, middle, row)
            start = f"{middle} {row * 34 + 12}" if row > 1 else f"{across / 2} 46"
            lines += [f"M{start}L{middle} {row * 34 + 24}"] if row > 1 or top else []
    height = max(map(len, columns)) * 34 + 50
    return (
        f'<svg width="{across + 2}" height="{height}" viewBox="-1 0 {across + 2} {height}" style="margin:8px 24px 0 0;max-width:100%" '
        f'font-family="sans-serif" font-size="12" text-anchor="middle" fill="none" stroke="currentColor">'
        f'<path d="{"".join(lines)}"/>{"".join(boxes)}<text x="{across / 2}" y="14" {_INK}>{_safe(title)}</text></svg>'
    )


def html_code(text: str) -> str:
    """Return code as HTML for a notebook."""
    return f'<pre style="white-space:pre-wrap">{_safe(text)}</pre>'


_AT_RIGHT = "right;white-space:nowrap"
_NUMBER = re.compile(r"|[-+]?[\d.,]+%?( [^\W\d]{1,5})?( \(.*\))?")
"a number with its unit and its interval, or nothing"
_LONG_NAME = re.compile(r"[\w./]{25,}")


def _html_row(tag: str, cells: Iterable[str], sides: Iterable[str]) -> str:
    # JupyterLab aligns every cell at the right
    return f"<tr>{''.join(f'<{tag} style={chr(34)}text-align:{side}{chr(34)}>{_breakable(text)}</{tag}>' for text, side in zip(cells, sides, strict=True))}</tr>"


def _breakable(text: str) -> str:
    """Return HTML in which a line may break within a long name, so that a table fits the page."""
    return _LONG_NAME.sub(lambda found: re.sub(r"(?<=[_./])(?=\w)", "<wbr>", found[0]), _safe(text))


def _safe(text: str) -> str:
    return escape(visible(text))
