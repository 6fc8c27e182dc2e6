"""The list of passes: found by looking at TVM, each with what a form needs to know."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.dialects.registry import dialect

PASSES = {info.name: info for info in wb.passes("relay")}


def test_the_passes_people_ask_for_are_there():
    assert {"FuseOps", "FoldConstant", "EliminateCommonSubexpr", "CombineParallelConv2D", "qnn.Legalize"} <= set(PASSES)


@pytest.mark.parametrize(
    "name", sorted(name for name, info in PASSES.items() if not info.ours and not any(o.required for o in info.options))
)
def test_a_pass_without_required_options_can_be_made_and_has_a_level(name):
    made = dialect("relay").passes.make(name, {})
    assert dialect("relay").passes.is_pass(made) or callable(made)
    if dialect("relay").passes.is_pass(made):
        assert PASSES[name].opt_level == dialect("relay").passes.opt_level_of(made)
