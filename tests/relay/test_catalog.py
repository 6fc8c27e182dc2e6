"""The list of passes: found by looking at TVM, each with what a form needs to know."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.dialects.registry import dialect
from workbench.errors import PipelineError, UnknownName

PASSES = {info.name: info for info in wb.passes("relay")}


def test_the_passes_people_ask_for_are_there():
    assert {"FuseOps", "FoldConstant", "EliminateCommonSubexpr", "CombineParallelConv2D", "qnn.Legalize"} <= set(PASSES)


@pytest.mark.parametrize("name", sorted(PASSES))
def test_a_pass_has_a_sentence_and_options_with_types(name):
    info = PASSES[name]
    assert info.doc
    assert "\n" not in info.doc
    assert all(option.name.isidentifier() and option.type for option in info.options)


@pytest.mark.parametrize(
    "name", sorted(name for name, info in PASSES.items() if not info.ours and not any(o.required for o in info.options))
)
def test_a_pass_without_required_options_can_be_made_and_has_a_level(name):
    made = dialect("relay").passes.make(name, {})
    assert dialect("relay").passes.is_pass(made) or callable(made)
    if dialect("relay").passes.is_pass(made):
        assert PASSES[name].opt_level == dialect("relay").passes.opt_level_of(made)


def test_locked_passes_say_why():
    assert PASSES["FuseOps"].locked
    assert not PASSES["FoldConstant"].locked
    assert all(len(info.locked.split()) > 3 for info in PASSES.values() if info.locked)


def test_options_show_their_defaults():
    option = next(option for option in PASSES["FuseOps"].options if option.name == "fuse_opt_level")
    assert (option.type, option.default, option.required) == ("int", -1, False)


@pytest.mark.parametrize("name", ["FuseOp", "fuseops", "Nonsense"])
def test_an_unknown_pass_is_refused_with_near_names(name):
    with pytest.raises(UnknownName, match="no Relay pass named"):
        dialect("relay").passes.make(name, {})


@pytest.mark.parametrize("options", [{"nothing": 1}, {"fuse_opt_level": "two"}])
def test_options_that_a_pass_does_not_take_are_refused_by_its_name(options):
    with pytest.raises(PipelineError, match="FuseOps cannot be made"):
        dialect("relay").passes.make("FuseOps", options)


def test_presets_and_toggles_name_passes_that_exist():
    for preset in dialect("relay").passes.presets():
        assert {step.name for step in wb.Pipeline.parse(preset.pipeline)} <= set(PASSES), preset.name
        assert preset.doc
    assert set(dialect("relay").passes.toggles()) <= set(PASSES)
