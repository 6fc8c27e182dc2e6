"""Recursion without the interpreter's stack: programs nest as deeply as people's models do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def drive(start: Iterator[Any]) -> Any:
    """Run a generator that yields the generators it waits for, and is sent what they return; gives what it returns.

    >>> def depth(n):
    ...     return 0 if n == 0 else 1 + (yield depth(n - 1))
    >>> drive(depth(100_000))
    100000
    """
    stack, sent = [start], None
    while stack:
        try:
            step = stack[-1].send(sent)  # type: ignore[attr-defined]
        except StopIteration as done:
            stack.pop()
            sent = done.value
        else:
            stack.append(step)
            sent = None
    return sent
