"""JSON from elsewhere: what is read, what is refused, and that neither takes much memory, time or stack."""

from __future__ import annotations

import json
import math
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import json_values

from workbench.graph.received import DEPTH, Damaged, fields, literal, parse, place


@given(json_values)
def test_json_reads_back_equal(value):
    assert parse(json.dumps(value)) == value
    assert parse(json.dumps(value, ensure_ascii=False).encode()) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ('{"a":1,}', "not JSON"),
        ('["\x00"]', "not JSON"),
        ('"abc\\', "not JSON"),
        (b"\xff\xfe[\x00]\x00", "UTF-8"),
        ("\ufeff[]", "not JSON"),
        ('"\\ud800"', "UTF-8"),
        ('"\ud800"', "UTF-8"),
        ("[" * 10_000, "deeper"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "deeper"),
        ("[" * (DEPTH + 1) + "]" * (DEPTH + 1), "deeper"),
        ("1" * 100_000, "digits"),
        ("1e400", "the number 1e400"),
        ("[-1e999]", "the number -1e999"),
        ('{"a":1,"a":2}', "one key twice"),
        ("[" + "[]," * 200_000 + "1]", "more than 300000"),
        ('"' + '\\"' * 100_000, "not JSON"),
    ],
)
def test_unsound_json_is_refused(text, words):
    with pytest.raises(Damaged, match=words) as caught:
        parse(text, values=300_000)
    assert len(str(caught.value)) < 120


def test_brackets_and_commas_in_strings_do_not_count():
    value = {"text": '[[[,,,"\\' * 1000, "é\U0001f600": ["\\", "]"]}
    assert parse(json.dumps(value), values=9) == value


def test_infinite_and_undefined_numbers_are_read_as_python_writes_them():
    assert parse("[Infinity, -Infinity]") == [math.inf, -math.inf]
    assert math.isnan(parse("NaN"))


def test_deepest_json_is_read_far_down_a_stack():
    def call(depth):
        return parse("[" * DEPTH + "]" * DEPTH) if depth == 0 else call(depth - 1)

    assert call(500) == parse("[" * DEPTH + "]" * DEPTH)


def test_many_values_are_refused_before_they_take_memory():
    text = b"[" + b"[]," * 2_000_000 + b"[]]"
    tracemalloc.start()
    with pytest.raises(Damaged, match="more than 1000000 values"):
        parse(text, values=1_000_000)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 4 * len(text)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "an object is expected where it has a list"),
        ({"seconds": 1.0}, "lacks 'name'"),
        ({"name": None, "seconds": 1.0}, "'name' is null, not a text"),
        ({"name": "", "seconds": True}, "'seconds' is true or false, not a number"),
        ({"name": "", "seconds": 1.0, "depth": 1 << 63}, "'depth' is a number out of range"),
        ({"name": "", "seconds": math.nan}, "'seconds' is a number out of range"),
    ],
)
def test_fields_of_the_wrong_type_are_refused(value, words):
    with pytest.raises(Damaged, match=words):
        fields(value, {"name": str, "seconds": float} | {key: int for key in value if key == "depth"})


def test_optional_fields_may_be_missing():
    assert fields({"a": 1}, {"a": int, "b": int}, optional=True) == {"a": 1}


@pytest.mark.parametrize("value", [-1, 3, True, 1.0, "1", None])
def test_place_outside_is_refused(value):
    with pytest.raises(Damaged, match="refers to nothing"):
        place(value, 3, "start")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "f()",
        "{[]: 1}",
        "{{}}",
        "\0",
        "(" * 300,
        "-" * 20_000 + "1",
        "[" * 90 + "+1" * 9000,
        "1+" * 9000 + "1",
        "'" * 70_000,
    ],
)
def test_text_that_is_no_literal_is_refused(text):
    with pytest.raises(Damaged):
        literal(text)


@given(st.recursive(st.none() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3)))
def test_literals_read_back_equal(value):
    assert literal(repr(value)) == value
