"""Relay text of other people: nesting and numbers in it end in a sentence, never in recursion or memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from breadth import breadth
from doubling import LEVELS, PROGRAMS, check

from workbench.dialects.importers.params import constants
from workbench.dialects.relay.parser import parse
from workbench.dialects.relay.paste.reading import read_all, text_only
from workbench.errors import LoadError, ParseError

MANY = 20_000


def nested(begin: str, end: str, count: int, inside: str = "%x") -> str:
    return f"def @main(%x: int32) {{ {begin * count}{inside}{end * count} }}"


BLOCKS = (
    ("fn (%y: int32) { ", " }"),
    ("if (%x) { %x } else ", ""),
    ("match (%x) { A => { ", " } }"),
    ("fn (%y: int32) { ", " }(%x)"),
    ("if (%x) { ", " } else { %x }"),
    ("if (%x) { %x } else { ", " }"),
    ("let %a = ", "; %a"),
    ("(let %a = %x; ", ")"),
)


@pytest.mark.parametrize("block", breadth(BLOCKS, *BLOCKS[:3]))
def test_nested_blocks_are_read_or_refused(block: tuple[str, str]) -> None:
    begin, end = block
    for read in (parse, read_all):
        inside = "%x" if end else "{ %x }"
        assert read(nested(begin, end, 1500, inside))
        with pytest.raises(ParseError, match="at most 2,000 functions and branches"):
            read(nested(begin, end, 4000, inside))


@pytest.mark.parametrize("place", ["def @main(%x: int32, A={}) {{ %x }}", "def @main(%x: int32) {{ f(%x, a={}) }}"])
def test_lists_in_lists(place: str) -> None:
    for read in (parse, read_all):
        assert read(place.format("[[0, 1], [2, 3]]"))
        assert read(place.format("[" * 32 + "]" * 32))
        with pytest.raises(ParseError, match="no list in 32 others"):
            read(place.format("[" * MANY + "]" * MANY))


@pytest.mark.parametrize(
    "metadata",
    ["[" * 100_000, '{"root": 1, "nodes": ' + "[" * 100_000, '{"root": 0, "nodes": [[]], "b64ndarrays": []}', "{", "1"],
)
def test_damaged_metadata(metadata: str) -> None:
    with pytest.raises(LoadError, match="#\\[metadata\\] cannot be read"):
        constants(metadata)


def test_an_index_of_a_constant_is_text() -> None:
    module = parse(f"def @main() {{ meta[relay.Constant][{'9' * 6000}] }}")
    assert len(module.constants) == 1


@pytest.mark.parametrize("make", PROGRAMS["relay"])
def test_bodies_that_double_are_drawn_once(make: Callable[[int], str]) -> None:
    check(text_only(read_all(make(LEVELS))[0], "text", "a test"))
