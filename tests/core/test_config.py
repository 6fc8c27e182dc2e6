"""A Config from what people write, the name that plots give it, and configurations that TVM would ignore or fail on."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from workbench.dialects.base import Workload
from workbench.dialects.catalog import PassInfo, Preset
from workbench.errors import MeasureError, UnknownName
from workbench.pipeline import config
from workbench.pipeline.config import AS_IS, Config
from workbench.pipeline.spec import Pipeline, short_name


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


CATALOG = (PassInfo("FuseOps", "relay", locked="lowering takes kernels"), PassInfo("FoldConstant", "relay"))


@pytest.fixture(autouse=True)
def catalog(monkeypatch):
    monkeypatch.setattr(
        config, "dialect_of", lambda workload: SimpleNamespace(passes=SimpleNamespace(catalog=lambda: CATALOG))
    )


def check(**fields):
    config.check_config(Workload(None, {}, "w", "relay"), Config(**fields))


def test_known_names_pass():
    check(disabled=("FoldConstant",), required=("FuseOps",))
    check(disabled=("BackwardFoldScaleAxis", "tir.UnrollLoop"))


@pytest.mark.parametrize("field", ["disabled", "required"])
def test_an_unknown_name_offers_the_nearest(field):
    with pytest.raises(UnknownName, match="did you mean FoldConstant"):
        check(**{field: ("FoldConstants",)})


def test_a_locked_pass_cannot_be_switched_off_and_the_reason_is_given():
    with pytest.raises(MeasureError, match="FuseOps cannot be switched off: lowering takes kernels"):
        check(disabled=("FuseOps",))


BUILD = "SimplifyInference,FoldConstant,EliminateCommonSubexpr,FoldConstant,FuseOps"
PRESETS = (
    Preset("opt 3", BUILD, ""),
    Preset("opt 2", BUILD, "", 2),
    Preset("merge casts", "SimplifyInference,EliminateCommonSubexpr,FuseOps", ""),
)


@pytest.mark.parametrize(
    ("text", "level", "name"),
    [
        (BUILD, 3, "opt 3 passes"),
        (BUILD, 2, "opt 2 passes"),
        (BUILD, 4, "opt 3 passes at opt level 4"),
        (BUILD.replace("Elim", "-Elim"), 3, "opt 3 passes -EliminateCommonSubexpr"),
        (BUILD.replace("EliminateCommonSubexpr,", ""), 3, "opt 3 passes -EliminateCommonSubexpr"),
        (BUILD.replace("SimplifyInference,Fold", "SimplifyInference,-Fold"), 3, "opt 3 passes -FoldConstant at 2"),
        (BUILD + ",DefuseOps", 3, "opt 3 passes +DefuseOps"),
        ("DefuseOps," + BUILD, 3, "opt 3 passes +DefuseOps at 1"),
        ("FuseOps", 3, "FuseOps"),
        ("FuseOps", 1, "FuseOps at opt level 1"),
        ("-FuseOps", 3, "no passes"),
    ],
)
def test_name_is_the_difference_from_a_preset(text: str, level: int, name: str) -> None:
    assert short_name(Pipeline.parse(text), level, PRESETS) == name


def test_moved_passes_have_names_of_their_own() -> None:
    pipeline = Pipeline.parse(BUILD)
    moved = [pipeline.moved(0, to) for to in range(len(pipeline))] + [pipeline.moved(4, to) for to in range(4)]
    names = {short_name(each, 3, PRESETS) for each in moved}
    assert len(names) == len({str(each) for each in moved})
