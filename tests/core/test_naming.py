"""Names of pipelines: the difference from a preset."""

from __future__ import annotations

import pytest

from workbench.dialects.catalog import Preset
from workbench.pipeline.spec import Pipeline, short_name

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
