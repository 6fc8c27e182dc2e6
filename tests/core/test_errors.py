"""Errors say what was wrong and where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import ParseError, UnknownName


def test_a_parse_error_knows_its_line_and_column():
    error = ParseError("`}`", "one\ntwo three\nfour", 8)
    assert (error.line, error.column) == (2, 5)
    assert "line 2, column 5: expected `}`, found: two three" in str(error)


@given(st.text(), st.data())
def test_a_parse_error_can_be_made_anywhere_in_any_text(text, data):
    error = ParseError("x", text, data.draw(st.integers(0, len(text))))
    assert error.line >= 1
    assert error.column >= 1


def test_a_long_line_is_cut_around_the_place():
    text = "a" * 5000 + "HERE" + "b" * 5000
    message = str(ParseError("x", text, 5000))
    assert "HERE" in message
    assert len(message) < 250


@pytest.mark.parametrize(
    ("name", "offered"), [("FuseOp", "did you mean FuseOps"), ("fuseops", "did you mean FuseOps"), ("zzz", "known: ")]
)
def test_an_unknown_name_offers_what_there_is(name, offered):
    assert offered in str(UnknownName("pass", name, ["FuseOps", "FoldConstant"]))


def test_an_unknown_name_among_none_is_still_a_sentence():
    assert str(UnknownName("pass", "x", [])).startswith("there is no pass named 'x'")
