"""Patterns typed as Python: read without running anything, written so that they read back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.analysis.patterns.pattern import PatternError, code
from workbench.analysis.patterns.text import LANGUAGE, parse
from workbench.errors import UnknownName, WorkbenchError

GOOD = [
    "wildcard()",
    "is_op('nn.conv2d')(wildcard(), is_constant())",
    "is_op('split')(None)",
    "relay.dataflow_pattern.is_op('add')(wildcard(), is_var('x'))",
    "from tvm.relay.dataflow_pattern import *\nx = wildcard()\npattern = is_op('add')(x, x)",
    "is_op('nn.dense')(wildcard(), wildcard()).optional(lambda y: is_op('nn.relu')(y))",
    "(is_op('add') | is_op('subtract'))(wildcard(), wildcard())",
    "wildcard() + wildcard() * is_expr(const(2.0)) / is_expr(const(-1, 'int32')) - is_constant()",
    "is_tuple_get_item(is_tuple([wildcard(), is_tuple(None)]), 1)",
    "is_if(wildcard(), is_op('exp')(wildcard()), wildcard())",
    "is_let(is_var(), wildcard(), wildcard())",
    "FunctionPattern([wildcard()], is_op('exp')(None))(wildcard())",
    "FunctionPattern(None, wildcard())",
    "CallPattern(is_op('exp'), None)",
    "is_op('transpose')(None).dominates(is_op('split')(None))",
    "dominates(is_op('split')(None), wildcard()(None), is_op('transpose')(None))",
    "wildcard().has_attr({'groups': 1, 'axes': [0, -1]}).has_dtype('int8').has_shape([1, 2])",
    "has_type(TensorType((2, 3), 'float32'), wildcard())",
    "has_type(TupleType([TensorType([2]), TensorType([])]))",
]


@pytest.mark.parametrize("text", GOOD)
def test_what_is_read_is_written_so_that_it_reads_back(text):
    pattern = parse(text)
    again = parse(code(pattern))
    assert shape(again) == shape(pattern)


def shape(pattern):
    """The tree, without the numbers of shared sub-patterns but with which places share one."""
    numbers: dict[int, int] = {}
    return [(depth, numbers.setdefault(id, len(numbers)), text.split(" #")[0]) for depth, id, text in pattern.lines()]


def test_a_pattern_is_a_tree_of_words():
    pattern = parse("dominates(is_op('split')(None), wildcard(), is_op('transpose')(is_constant()))")
    assert pattern.nodes[pattern.root].kind == "dominates"
    assert str(pattern).splitlines() == [
        "dominates",
        "  parent: split, any arguments",
        "  path: any value",
        "  child: transpose",
        "    argument 0: a constant",
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("1 +", "line 1: a pattern is Python"),
        ("3", "a pattern is needed"),
        ("'add'", "a pattern is needed"),
        ("is_op()", "is_op takes (op_name)"),
        ("is_op(1)", "op_name is a name in quotes"),
        ("wildcard(1)", "wildcard takes ()"),
        ("is_op('a')(3)", "a pattern is needed"),
        ("is_op('a')(x=wildcard())", "by place"),
        ("wildcard() @ wildcard()", "patterns join by"),
        ("wildcard().optional(wildcard())", "optional takes a lambda"),
        ("wildcard().has_shape('x')", "a list of whole numbers"),
        ("wildcard().has_attr([1])", "a dict"),
        ("for x in y: pass", "the last line must be the pattern"),
        ("x.y = wildcard()\nwildcard()", "only `name = pattern`"),
        ("(lambda: 1)()", "not"),
        ("wildcard()" + "(None)" * 300, "nests more than"),
        ("is_expr(wildcard())", "const(...)"),
        ("wildcard().used_by(wildcard(), 'a')", "the index is a whole number"),
        ("is_expr(const(1, 2))", "dtype is a name in quotes"),
        ("add", "give an operator by is_op('add'), not `add`"),
        ("nn.relu", "give an operator by is_op('nn.relu')"),
        ("is_op('add')(relu(wildcard()), None)", "give an operator by is_op('relu')"),
        ("nn.relu(wildcard())", "give an operator by is_op('nn.relu'), not `nn.relu`"),
        ("relax.nn.relu(wildcard())", "is_op('relax.nn.relu')"),
        ("relay.nn.relu(wildcard())", "is_op('nn.relu')"),
        ("tvm.relay.op.add(wildcard(), wildcard())", "is_op('add')"),
        ("wildcard.split(wildcard())", "call it, as wildcard()"),
        ("is_op", "call it, as is_op(op_name)"),
    ],
)
def test_what_is_no_pattern_is_refused_in_a_sentence(text, says):
    with pytest.raises(PatternError, match=re.escape(says)) as caught:
        parse(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "open('x')",
        "is_op('a').__class__",
        "wildcard().match(1)",
        "().__class__.__bases__[0].__subclasses__()",
        "exec('1')",
        "[x for x in (1,)]",
        "wildcard",
    ],
)
def test_nothing_outside_the_language_is_looked_at(text):
    with pytest.raises(WorkbenchError):
        parse(text)


def test_a_misspelt_name_is_met_with_the_nearest():
    with pytest.raises(UnknownName, match="did you mean is_constant"):
        parse("is_op('add')(wildcard(), is_constnt())")


def test_a_misspelt_method_of_a_named_pattern():
    with pytest.raises(UnknownName, match="did you mean optional"):
        parse("conv = is_op('nn.conv2d')(None)\nconv.optionl(lambda y: y)")


@given(
    st.text()
    | st.lists(st.sampled_from([*LANGUAGE, "(", ")", ",", "'a'", "None", "|", ".", "x", "=", "\n", "1"])).map("".join)
)
def test_any_text_gives_a_pattern_or_a_sentence(text):
    try:
        pattern = parse(text)
    except WorkbenchError:
        return
    assert shape(parse(code(pattern))) == shape(pattern)
