"""Delta debugging: the smallest subset that shows a symptom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")


def ddmin(items: Sequence[T], shows: Callable[[tuple[T, ...]], bool]) -> tuple[T, ...]:
    """Return a 1-minimal subset that shows the symptom: without any one of its items, the symptom is gone.

    Parameters
    ----------
    items
        All items; they show the symptom, and no items do not.
    shows
        Whether a subset shows it. The order of the items is kept. An unresolved test counts as False.

    Returns
    -------
    tuple
        Found with about 2 log2(n) tests where one of n items is the cause, and at most n^2 + 3n.

    Notes
    -----
    Source: A. Zeller and R. Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002, doi:10.1109/32.988498.

    Examples
    --------
    >>> from workbench.experiments.ddmin import ddmin
    >>> ddmin(range(8), lambda some: {2, 5} <= set(some))
    (2, 5)
    """
    left, parts = tuple(items), 2
    while len(left) > 1:
        bounds = list(pairwise(len(left) * place // parts for place in range(parts + 1)))
        part = next((each for start, end in bounds if shows(each := left[start:end])), None)
        if part is not None:
            left, parts = part, 2
            continue
        # of two parts, each is the complement of the other
        rests = (left[:start] + left[end:] for start, end in bounds) if parts > 2 else ()
        rest = next(filter(shows, rests), None)
        if rest is not None:
            left, parts = rest, max(parts - 1, 2)
        elif parts >= len(left):
            break
        else:
            parts = min(2 * parts, len(left))
    return left
