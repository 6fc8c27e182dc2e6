"""The text form of a pipeline: what is written reads back, what cannot be read says where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import PipelineError
from workbench.pipeline.spec import PassStep, Pipeline

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.]{0,8}", fullmatch=True)
tricky = st.sampled_from(["}", "{", "'", '"', "\\", "\\'", "a,b", "-x", "{'a': \"}\"}", "\n", "é", "#", "=", "<f>"])
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text() | tricky
)
values = st.recursive(
    scalars, lambda v: st.lists(v, max_size=3) | st.tuples(v, v) | st.dictionaries(scalars, v, max_size=2), max_leaves=5
)
keys = st.from_regex(r"[a-z_][a-z0-9_]{0,6}", fullmatch=True).filter(lambda key: key.isidentifier())
steps = st.builds(PassStep, names, st.dictionaries(keys, values, max_size=3), st.booleans())
pipelines = st.lists(steps, max_size=5).map(Pipeline)


@given(pipelines)
def test_reads_back_equal(pipeline):
    assert Pipeline.parse(str(pipeline)) == pipeline


@given(pipelines)
def test_equal_pipelines_have_equal_hashes(pipeline):
    assert hash(Pipeline.parse(str(pipeline))) == hash(pipeline)


@given(st.text(alphabet="AbF-{}=,'\"<>1[]( \\\n", max_size=30))
def test_any_text_is_a_pipeline_or_a_pipeline_error(text):
    try:
        pipeline = Pipeline.parse(text)
    except PipelineError:
        return
    assert Pipeline.parse(str(pipeline)) == pipeline


@given(pipelines.filter(len), st.data())
def test_toggling_twice_and_moving_back_change_nothing(pipeline, data):
    place = data.draw(st.integers(0, len(pipeline) - 1))
    to = data.draw(st.integers(0, len(pipeline) - 1))
    assert pipeline.toggled(place).toggled(place) == pipeline
    assert pipeline.toggled(place) != pipeline
    assert pipeline.moved(place, to).moved(to, place) == pipeline


def test_white_space_and_a_trailing_comma_do_not_matter():
    assert Pipeline.parse(" A ,\n - B { x = 1 } , ") == Pipeline(
        [PassStep("A"), PassStep("B", {"x": 1}, enabled=False)]
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A,,B", "character 3"),
        ("A B", "comma after A"),
        ("A{x=1", "brace at character 2"),
        ("A{x=1}}", "comma after A"),
        ("A{1}", "options of A"),
        ("A{x=1,x=2}", "options of A"),
        ("A{x=f()}", "options of A"),
        ("A{**{'x':1}}", "options of A"),
        ("A{x=1,2}", "options of A"),
        ("A{x=1)+(2}", "options of A"),
        ("!", "character 1"),
        ("A{x={[]: 1}}", "options of A"),
        ("A{x=" + "-" * 20_000 + "1}", "options of A"),
        ("A{x=" + "[" * 20_000 + "}", "options of A"),
    ],
)
def test_errors_name_the_place(text, words):
    with pytest.raises(PipelineError, match=words) as caught:
        Pipeline.parse(text)
    assert len(str(caught.value)) < 300


def test_a_function_keeps_its_name_and_itself():
    def tidy(module):
        return module

    pipeline = Pipeline(["A", tidy, "B"])
    assert str(pipeline) == "A,<tidy>,B"
    assert pipeline[1].run is tidy
    with pytest.raises(PipelineError, match="int is not a pass"):
        Pipeline([3])


def test_a_lambda_has_a_text_that_reads_back():
    pipeline = Pipeline([lambda module: module])
    assert str(Pipeline.parse(str(pipeline))) == str(pipeline) == "<lambda>"


def test_two_functions_of_one_name_are_two_passes():
    assert Pipeline([lambda module: 1]) != Pipeline([lambda module: 2])
