"""A Config from what people write, and the name that plots give it."""

from __future__ import annotations

import json

import pytest

from workbench.errors import MeasureError
from workbench.pipeline.config import AS_IS, Config
from workbench.pipeline.spec import Pipeline


@pytest.mark.parametrize(
    ("given", "label"),
    [
        (2, "opt 2"),
        ({"opt_level": 3, "disabled": ["FoldConstant"]}, "opt 3 -FoldConstant"),
        ({"disabled": "FoldConstant", "required": "FastMath"}, "opt 3 -FoldConstant +FastMath"),
        ({"options": {"relay.FuseOps.max_depth": 4}}, "opt 3 max_depth=4"),
        ("A,B{x=1}", "A,B{x=1}"),
        (Pipeline(["A", "B"]), "A,B"),
        ({"pipeline": Pipeline(["A"])}, "A"),
        ({"name": "mine", "opt_level": 1}, "mine"),
        (Config(opt_level=0), "opt 0"),
    ],
)
def test_labels_say_what_differs_from_the_default(given, label):
    assert Config.of(given).label == label


@pytest.mark.parametrize("given", [None, True, 1.5, ["A"], object()])
def test_other_things_are_refused_by_type(given):
    with pytest.raises(MeasureError, match=type(given).__name__):
        Config.of(given)


def test_an_unknown_field_is_named_with_the_known_ones():
    with pytest.raises(MeasureError, match=r"'opt'.*opt_level"):
        Config.of({"opt": 3})


@pytest.mark.parametrize(
    "fields", [{"opt_level": "three"}, {"opt_level": None}, {"disabled": 3}, {"options": [1]}, {"name": 3}]
)
def test_a_field_of_the_wrong_type_is_a_measure_error(fields):
    with pytest.raises(MeasureError):
        Config.of(fields)


def test_a_pipeline_is_compiled_as_it_stands():
    context = Config.of("FuseOps").context()
    assert (context.opt_level, context.disabled, context.pipeline) == (0, AS_IS, "")
    assert Config.of(3).context() == Config.of(3)


def test_equal_configs_are_one_key_and_go_through_json():
    first, second = (Config.of({"disabled": ["A"], "options": {"k": 1}}) for _ in range(2))
    assert {first: 1}[second] == 1
    assert Config.of(json.loads(json.dumps(first.to_data()))) == first


def test_same_build_has_one_form() -> None:
    off = Config(name="a", pipeline="A,-B,C")
    assert off.same_build() == Config(name="b", pipeline="A,C").same_build()
    assert Config(disabled=("B", "A")).same_build() == Config(disabled=("A", "B")).same_build()
    # where every pass is off, it is not the compiler's own pipeline
    assert Config(pipeline="-A").same_build() != Config().same_build()
