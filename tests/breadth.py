"""Marks for breadth: more of the same, which only the long tests run, or the sweep. Each contract keeps a short test."""

from __future__ import annotations

import os
import subprocess
import zlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

PART = 5
"the long tests have one of so many random programs"


def breadth(values: Iterable[Any], *short: Any) -> list[Any]:
    """Return parameters for `parametrize`: of those that are not `short`, the long tests have every third, others with each commit."""
    given = list(values)
    assert set(short) <= set(given), "a short value is not among the values"
    marks = [pytest.mark.long, pytest.mark.sweep, pytest.mark.sweep]
    first = commit() % 3
    return [
        each if each in short else pytest.param(each, marks=marks[(place + first) % 3])
        for place, each in enumerate(given)
    ]


def rotating(values: Iterable[Any], most: int) -> list[Any]:
    """Return parameters of which the long tests have so many, others with each commit, and the sweep all."""
    given = list(values)
    first = commit() % len(given)
    chosen = [*given, *given][first : first + most]
    return [each if each in chosen else pytest.param(each, marks=pytest.mark.sweep) for each in given]


def seeds(count: int) -> range:
    """Return seeds of random programs: so many in the sweep, and of 25 or more a slice that rotates with the commit otherwise.

    They begin at 1000, so that CI is red only by a change; LONG_SEED=N begins at N, and then has all.
    """
    start = int(os.environ.get("LONG_SEED", "1000"))
    whole = count < 25 or {"LONG_SEED", "TVM_WORKBENCH_SWEEP"} & os.environ.keys()
    if whole:
        return range(start, start + count)
    size = count // PART
    first = start + commit() % PART * size
    return range(first, first + size)


def random_seeds(short: range, long: int) -> pytest.MarkDecorator:
    """Return the mark of a test that takes the `seeds` of random programs: a few, and in the long tests `seeds(long)`."""
    many = pytest.param(seeds(long), marks=pytest.mark.long)
    return pytest.mark.parametrize("seeds", [short, many], ids=["few", "many"])


def in_half(name: str) -> bool:
    """Return whether a long test is in the half that CI runs with this commit."""
    return zlib.crc32(name.encode()) % 2 == commit() % 2


@cache
def commit() -> int:
    """Return a number that depends on the commit; 0 without a history."""
    asked = ["git", "rev-parse", "HEAD"]
    found = subprocess.run(asked, cwd=Path(__file__).parent, capture_output=True, text=True, check=False).stdout
    return int(found[:8] or "0", 16)
