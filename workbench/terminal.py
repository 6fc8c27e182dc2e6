"""Text for a terminal or a log: names come from files of other people, and a terminal obeys the control characters in them."""

from __future__ import annotations

import sys
from typing import TextIO

_RANGES = (
    *((0x00, 0x08), (0x0B, 0x1F), (0x7F, 0x9F)),  # C0 without tab and line feed, DEL, C1
    *(
        (0x061C, 0x061C),
        (0x200E, 0x200F),
        (0x202A, 0x202E),
        (0x2066, 0x2069),
    ),  # they change the direction of what follows
    (0x2028, 0x2029),  # line and paragraph separators
    *((0xD800, 0xDFFF), (0xE0000, 0xE007F)),  # halves of characters, which no stream takes; tags, which nothing shows
)
_VISIBLE = {code: ascii(chr(code))[1:-1] for first, last in _RANGES for code in range(first, last + 1)}


def visible(text: str) -> str:
    r"""Return a text with its control characters written out; line feeds and tabs stay.

    >>> print(visible("\x1b]0;title\x07 and \u202e"))
    \x1b]0;title\x07 and \u202e
    """
    return text if text.isascii() and text.isprintable() else text.translate(_VISIBLE)


def put(text: object, file: TextIO | None = None) -> None:
    """Print a line with its control characters visible."""
    print(visible(str(text)), file=file or sys.stdout, flush=True)
