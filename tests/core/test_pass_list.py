"""The choice of passes: undo, redo, its configuration, and values of form fields."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from workbench.dialects.catalog import PassInfo, Preset
from workbench.errors import WorkbenchError
from workbench.pipeline.spec import Pipeline
from workbench.widgets.history import KEPT_CHOICES, KEPT_RESULTS, History, Newest
from workbench.widgets.workbench.pass_list import Choice, read_value

FOLD = PassInfo("FoldConstant", "relay", opt_level=2)
FAST = PassInfo("FastMath", "relay", opt_level=4)
PRESETS = (Preset("opt 3", "A,B,A", "", 3), Preset("opt 2", "A,B,A", "", 2))


class UndoRedo(RuleBasedStateMachine):
    """History against two plain stacks."""

    def __init__(self) -> None:
        super().__init__()
        self.past, self.future = [Choice("context", Pipeline(), 0)], []
        self.history = History(self.past[0])

    @rule(level=st.integers(0, 4))
    def choose(self, level):
        choice = Choice("context", Pipeline(), level)
        assert self.history.choose(choice) == (choice != self.past[-1])
        if choice != self.past[-1]:
            self.past.append(choice)
            self.future.clear()

    @rule()
    def undo(self):
        assert self.history.undo() == (len(self.past) > 1)
        if len(self.past) > 1:
            self.future.append(self.past.pop())

    @rule()
    def redo(self):
        assert self.history.redo() == bool(self.future)
        if self.future:
            self.past.append(self.future.pop())

    @invariant()
    def agrees(self):
        assert self.history.current == self.past[-1]


TestUndoRedo = UndoRedo.TestCase


def test_history_keeps_the_newest_choices():
    history = History(0)
    for choice in range(1, 3 * KEPT_CHOICES):
        assert history.choose(choice)
    assert not history.choose(history.current)
    steps = 0
    while history.undo():
        steps += 1
    assert (steps, history.current) == (KEPT_CHOICES - 1, 2 * KEPT_CHOICES)
    assert history.redo()
    assert history.choose(-1)
    assert not history.redo()


def test_newest_results_are_kept():
    found = Newest()
    for key in range(2 * KEPT_RESULTS):
        found[key] = str(key)
        found[0] = "used again"
    assert list(found) == [*range(KEPT_RESULTS + 1, 2 * KEPT_RESULTS), 0]


def test_a_pass_runs_by_level_unless_it_is_disabled_or_required():
    assert not Choice("context", Pipeline(), 1).runs(FOLD)
    assert Choice("context", Pipeline(), 2).runs(FOLD)
    assert not Choice("context", Pipeline(), 2, disabled=("FoldConstant",)).runs(FOLD)
    assert Choice("context", Pipeline(), 0, required=("FoldConstant",)).runs(FOLD)


def test_switching_a_pass_in_the_context_does_what_it_says_with_the_least_words():
    for level in range(5):
        for info in (FOLD, FAST):
            for enabled in (True, False):
                choice = Choice("context", Pipeline(), level).context_toggled(info, enabled)
                assert choice.runs(info) == enabled
                assert len(choice.disabled + choice.required) == (enabled != (level >= info.opt_level))
                assert choice.context_toggled(info, not enabled).runs(info) != enabled


def test_a_configuration_is_named_by_its_preset_and_what_is_off():
    choice = Choice("pipeline", Pipeline.parse("A,-B,A"), 2)
    config = choice.config(PRESETS)
    assert config.label == "opt 2 passes -B"
    assert config.pipeline == "A,A"
    assert Choice("pipeline", Pipeline.parse("A,B"), 3).config(PRESETS).label == "A,B"


def test_no_pass_at_all_is_a_configuration_too():
    for text in ("-A", ""):
        config = Choice("pipeline", Pipeline.parse(text), 3).config(())
        assert config.label == "no passes"
        assert config.pipeline, "with no pipeline it is the compiler's own"
        assert not any(step.enabled for step in Pipeline.parse(config.pipeline))


def test_in_context_mode_the_configuration_is_the_context():
    config = Choice("context", Pipeline(["A"]), 1, ("B",), ("C",)).config(PRESETS)
    assert (config.opt_level, config.disabled, config.required, config.pipeline) == (1, ("B",), ("C",), "")


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [("int", " 3 ", 3), ("float", "2", 2.0), ("float", "1e3", 1e3), ("bool", "true", True), ("bool", "0", False),
     ("list", "[1]", [1]), ("any", "(1,)", (1,)), ("str", " a ", "a"), ("int | None", "4", 4)],
)  # fmt: skip
def test_text_of_a_field_is_a_value_of_its_type(kind: str, text: str, value: object) -> None:
    found = read_value(kind, text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("kind", "text"),
    [("int", "True"), ("int", "1.5"), ("float", "True"), ("bool", "2"), ("list", "3"), ("dict", ""), ("any", "x y")],
)
def test_text_of_another_type_is_refused(kind: str, text: str) -> None:
    with pytest.raises(WorkbenchError, match=r" is not (a|True)"):
        read_value(kind, text)
