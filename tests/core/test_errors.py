"""Errors say what was wrong and where; the key of a crash is the same for the same crash."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import MeasureError, ParseError, UnknownName, WorkerLost, reason_of
from workbench.experiments.symptoms import key_of


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


OPERATOR = (
    'ir.Op(span=None, name="relax.add", arguments=(ir.ArgumentInfo(name="x1", description="a (b)"),), support_level=10)'
)
STACK = """Traceback (most recent call last):
  1: tvm::relay::Visit()
        at /src/a.cc:3
  0: tvm::relay::AddNode()
  File "/src/b.cc", line 351
"""
PYTHON = """Traceback (most recent call last):
  File "a.py", line 2, in f
    g()
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("the program emits this call:\nR.add(y, y)", "the program emits this call: R.add(y, y)"),
        (f"In {OPERATOR}, the shapes differ", "In relax.add, the shapes differ"),
        (f"{STACK}InternalError: Check failed: size == 0 : Function:\nfn (%a) {{\n  %a\n}}\ncontains free variables",
         "InternalError: Check failed: size == 0 : Function: fn (%a) { %a } contains free variables"),
        (f"{STACK}InternalError: \n-----------\nAn error occurred during the execution of TVM.\n-----------\n  Check failed: x",
         "InternalError: Check failed: x"),
        (f"{PYTHON}ValueError: no", "ValueError: no"),
        ("error: name y\n --> <str>:7:12\n  |\n 7 | a = y", "line 7: name y"),
        (STACK, "RuntimeError"),
        ("", "RuntimeError"),
        ("1: first\n2: second", "1: first 2: second"),
        ("why " + "(" * 5000 + " because", "why " + "(" * 396 + "..." + "(" * 192 + " because"),
    ],
)  # fmt: skip
def test_reason_of_an_error(text: str, reason: str) -> None:
    assert reason_of(RuntimeError(text)) == reason


def test_addresses_numbers_and_folders_are_left_out() -> None:
    one = MeasureError("TVMError: /build/a/src/relay/op.cc:12: Check failed: (4, 8) vs (4, 8, 2) at 0x7ffe01")
    two = MeasureError("TVMError: /home/b/src/relay/op.cc:14: Check failed: (16) vs (1, 3) at 0x11")
    assert key_of(one) == key_of(two)


def test_another_message_is_another_crash() -> None:
    assert key_of(MeasureError("Check failed: a")) != key_of(MeasureError("Check failed: b"))


def test_signal_and_frames_identify_a_process_that_ended() -> None:
    lost = [WorkerLost(f"the child process ended during {job!r}", crash="SIGSEGV") for job in ("check", "look")]
    assert key_of(lost[0]) == key_of(lost[1])
    assert key_of(WorkerLost("the child process ended during 'check'", crash="SIGABRT")) != key_of(lost[0])
