"""TVM's own passes, as a pipeline can name them."""

from __future__ import annotations

import inspect

import pytest
from breadth import breadth
from tvm import relax

import workbench as wb
from workbench.dialects.relax.passes.catalog import PRESETS

NAMES = {info.name: info for info in wb.passes("relax")}


def test_every_public_pass_is_there() -> None:
    public = {name for name, thing in inspect.getmembers(relax.transform, inspect.isfunction) if name[0].isupper()}
    assert public <= NAMES.keys()
    assert {"FoldBatchnormToConv2D", "FastMathTransform", "RemoveRedundantReshape"} <= NAMES.keys(), "classes too"
    assert not {"FunctionPass", "DataflowBlockPass", "FusionPattern", "PatternCheckContext"} & NAMES.keys()


def test_options_have_names_types_and_defaults() -> None:
    layouts = NAMES["ConvertLayout"].options[0]
    assert (layouts.name, layouts.required) == ("desired_layouts", True)
    assert NAMES["ConvertLayout"].opt_level == 0, "made with its example"
    assert NAMES["FuseOpsByPattern"].opt_level is None


def test_levels_are_tvms() -> None:
    assert NAMES["FuseOps"].opt_level == 0
    assert NAMES["EliminateCommonSubexpr"].opt_level == 1


@pytest.mark.parametrize("name", sorted(name for name, info in NAMES.items() if info.opt_level is not None))
@pytest.mark.filterwarnings("ignore:.*has been renamed")
def test_a_pass_that_literals_can_make_is_made(name: str) -> None:
    from workbench.dialects.relax import DIALECT

    assert DIALECT.passes.is_pass(DIALECT.passes.make(name, NAMES[name].example))


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
@pytest.mark.parametrize(
    "name", breadth(["mlp", "parallel_cast", "conv_bias_batch_norm", "branches"], "mlp", "parallel_cast")
)
def test_a_preset_runs(preset: object, name: str) -> None:
    trace = wb.trace(wb.samples.load(name), preset.pipeline, preset.opt_level)  # type: ignore[attr-defined]
    assert trace.failed is None
    assert not any(node.op.startswith("relax.") for node in trace.end.graph.ops), "every operator became a kernel"
