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


@pytest.mark.parametrize("kind", [0, 1])
def test_attributes_of_a_body_are_read_once(dialect: str, kind: int) -> None:
    """They may be long: a list of 1,156 numbers at each of 12,000 drawn bodies took 20 s."""
    module = wb.load(PROGRAMS[dialect][kind](4)).module
    attrs = [group.attrs for group in wb.load(module).graph.groups if group.attrs]
    assert len(attrs) >= 15
    assert len(set(map(id, attrs))) <= 5
