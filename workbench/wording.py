"""Numbers with their nouns and units, and texts of one line."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any


def counted(number: float, noun: str) -> str:
    """Return the number with the noun, in the plural unless the number is 1.

    >>> counted(1, "kernel"), counted(2, "pass"), counted(1200, "boundary")
    ('1 kernel', '2 passes', '1,200 boundaries')
    """
    return f"{int(number):,} {noun if number == 1 else plural(noun)}"


def one_line(text: str, most: int = 40) -> str:
    r"""Return a text on one line, cut with an ellipsis if it has more characters.

    >>> one_line("Measuring\nmlp", 11)
    'Measuring …'
    """
    line = " ".join(text.splitlines())
    return line if len(line) <= most else f"{line[: max(0, most - 1)]}…"


def plural(noun: str) -> str:
    """Return the plural of a noun, or of words that end in one."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"


def time_unit(microseconds: float) -> tuple[float, str]:
    """Return a readable unit for a time, as the factor from microseconds and the unit.

    >>> time_unit(0.25)
    (1000.0, 'ns')
    >>> time_unit(2500)
    (0.001, 'ms')
    """
    if microseconds < 1:
        return 1e3, "ns"
    if microseconds < 1e3:
        return 1.0, "µs"
    return (1e-3, "ms") if microseconds < 1e6 else (1e-6, "s")


def byte_unit(count: float) -> tuple[float, str]:
    """Return a readable unit for a size, as the factor from bytes and the unit.

    >>> byte_unit(2_500_000)
    (1e-06, 'MB')
    """
    if abs(count) < 1_000:
        return 1.0, "bytes"
    if abs(count) < 999.5e3:
        return 1e-3, "kB"
    return (1e-6, "MB") if abs(count) < 999.5e6 else (1e-9, "GB")


def figures(value: float) -> str:
    """Return a number with three significant figures, without an exponent.

    >>> figures(1234.5), figures(0.1234)
    ('1,234', '0.123')
    """
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def duration(microseconds: float) -> str:
    """Return a time in a readable unit: `5.1 µs`."""
    factor, unit = time_unit(microseconds)
    return f"{figures(microseconds * factor)} {unit}"


def size(count: float) -> str:
    """Return bytes in a readable unit: `2.5 MB`."""
    factor, unit = byte_unit(count)
    return f"{figures(count * factor)} {unit}"


SCALES = {"us": 1.0, "ms": 1e3, "seconds": 1e6}
"last word of a column's name -> microseconds"


def cell(name: str, value: Any) -> str:
    """Return a value of a table; a number has the unit that the column's name has.

    >>> cell("peak_bytes", 2_500_000), cell("best_us", 1.25), cell("rounds", 1200), cell("ratio", 1.23456)
    ('2.5 MB', '1.25 µs', '1,200', '1.235')
    """
    if value is None or value != value or type(value).__name__ == "NAType":
        return ""
    if isinstance(value, (list, tuple)):
        return ", ".join(cell(name, each) for each in value)
    if isinstance(value, bool) or not isinstance(value, Real):
        return str(value)
    words = name.split("_")
    if "bytes" in words:
        return size(float(value))
    if words[-1] in SCALES:
        return duration(float(value) * SCALES[words[-1]])
    if words[-1] == "flops":
        return f"{figures(float(value))} FLOP"
    return f"{int(value):,}" if isinstance(value, Integral) else f"{float(value):.4g}"


def heading(name: str) -> str:
    """Return a column's name in words, without the unit that its values have.

    >>> heading("bytes_read"), heading("best_us"), heading("us")
    ('bytes read', 'best', 'time')
    """
    return " ".join(word for word in name.split("_") if word not in SCALES) or "time"
