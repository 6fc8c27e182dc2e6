"""Numbers with their nouns."""

from __future__ import annotations


def counted(number: float, noun: str) -> str:
    """Return the number with the noun, in the plural unless the number is 1.

    >>> counted(1, "kernel"), counted(2, "pass"), counted(1200, "boundary")
    ('1 kernel', '2 passes', '1,200 boundaries')
    """
    return f"{int(number):,} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """Return the plural of a noun, or of words that end in one."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"
