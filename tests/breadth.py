"""Marks for breadth: more of the same, which only the long tests run. Each contract keeps a short test."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest


def breadth(values: Iterable[Any], *short: Any) -> list[Any]:
    """Return parameters for `parametrize` of which all but `short` are long."""
    given = list(values)
    assert set(short) <= set(given), "a short value is not among the values"
    return [each if each in short else pytest.param(each, marks=pytest.mark.long) for each in given]


def seeds(count: int) -> range:
    """Return so many seeds of random programs, from 1000, so that CI is red only by a change; LONG_SEED=N begins at N."""
    start = int(os.environ.get("LONG_SEED", "1000"))
    return range(start, start + count)
