"""Functions whose bodies would be drawn at each call more often than can be seen are drawn once, and called."""

from __future__ import annotations

import pytest
from doubling import LEVELS, PROGRAMS, check

import workbench as wb


@pytest.mark.parametrize("kind", [0, 1])
def test_bodies_that_double_are_drawn_once(dialect: str, kind: int) -> None:
    make = PROGRAMS[dialect][kind]
    check(wb.load(make(LEVELS)))
    few = wb.load(make(4)).graph
    assert len([node for node in few.nodes if node.op.endswith("exp")]) == 8
