"""The parts of a program that are found in a paste."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from workbench.dialects.relay.parser.ast import Expr


@dataclass
class Edit:
    """A part of the text that is replaced in the repaired text."""

    start: int
    end: int
    put: str
    said: str
    "for the note"


@dataclass
class Piece:
    """One function, type definition or run of bindings."""

    kind: str
    "def fn type run version metadata"
    start: int
    end: int = 0
    name: str = ""
    function: Expr | None = None
    calls: frozenset[str] = frozenset()
    "global names in it"
    free: list[Expr] = field(default_factory=list)
    "of a run: variables that nothing binds, in the order of their first use"
    values: list[Expr] = field(default_factory=list)
    "of a run: the values that it binds"
    result: str = ""
    "of a run: its last expression, if the text lacks it"
    edits: list[Edit] = field(default_factory=list)


def everything(starts: Iterable[Expr]) -> list[Expr]:
    """Return every expression in these ones, themselves included."""
    found: list[Expr] = []
    seen: set[Expr] = set()
    waiting = list(starts)
    while waiting:
        expr = waiting.pop()
        if expr not in seen:
            seen.add(expr)
            found.append(expr)
            waiting += expr.args
    return found
