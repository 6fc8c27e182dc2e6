"""Predict: the answer is found when it is asked for, once, and what is said of a guess is so."""

from __future__ import annotations

import threading

import pytest
from page_driver import Page

import workbench as wb
from workbench.errors import WorkbenchError
from workbench.widgets.predict import agrees, worded


class Counted:
    """A function that counts its calls."""

    def __init__(self, value):
        self.value, self.calls = value, 0

    def __call__(self):
        self.calls += 1
        return self.value


def says(view, guess):
    """What the page sends when a reader answers."""
    Page(view).send("reveal", guess=guess)
    return view.shown


def test_nothing_is_found_before_somebody_asks():
    answer = Counted(3)
    view = wb.Predict("How many?", answer)
    Page(view).still()
    assert answer.calls == 0
    assert view.shown == {"stage": "asked"}
    assert view.said == ""


def test_a_later_cell_gets_the_answer_and_the_page_goes_on_asking():
    answer = Counted(3)
    view = wb.Predict("How many?", answer)
    assert (view.answer, view.answer, answer.calls) == (3, 3, 1)
    assert view.shown == {"stage": "asked"}


def test_an_answer_that_is_a_value_needs_no_function():
    assert wb.Predict("How many?", 4).answer == 4


@pytest.mark.parametrize(
    ("guess", "right", "said"),
    [
        ("3", True, "Right: 3 kernels."),
        (" 3 kernels", True, "Right: 3 kernels."),
        ("6", False, "You said 6. The answer: 3 kernels."),
        ("six", False, "You said six. The answer: 3 kernels."),
        ("", False, "The answer: 3 kernels."),
    ],
)
def test_what_is_said_of_a_guess(guess, right, said):
    view = wb.Predict("How many?", Counted(3), unit="kernels", because="Two were merged.")
    assert says(view, guess) == {"stage": "shown", "said": said, "right": right, "because": "Two were merged."}
    assert view.guess == guess.strip()


def test_a_choice_is_compared_as_words():
    assert says(wb.Predict("Is it folded?", False, choices=["yes", "no"]), "no")["right"]
    assert not says(wb.Predict("Is it folded?", False, choices=["yes", "no"]), "yes")["right"]


@pytest.mark.parametrize(("guess", "answer"), [("1e3", 1000), ("", 0), ("-", 1), ("NaN", 1), ("3", "4"), ("1", True)])
def test_what_is_no_answer(guess, answer):
    assert not agrees(guess, answer)


def test_units_are_singular_for_one():
    assert [worded(n, "kernels") for n in (0, 1, 2)] == ["0 kernels", "1 kernel", "2 kernels"]


def test_an_answer_that_cannot_be_found_is_told_and_may_be_asked_for_again():
    failing = [True]

    def answer():
        if failing:
            raise WorkbenchError("there is no GPU")
        return 1

    view = wb.Predict("How many?", answer)
    assert says(view, "1") == {"stage": "failed", "said": "The answer was not found. there is no GPU"}
    failing.clear()
    assert says(view, "1")["right"]


def test_two_who_ask_at_once_wait_for_one_answer():
    begun, go = threading.Event(), threading.Event()
    calls = []

    def answer():
        calls.append(1)
        begun.set()
        assert go.wait(10)
        return 5

    view = wb.Predict("How many?", answer)
    Page(view).post({"type": "reveal", "guess": "5"})
    assert begun.wait(10)
    assert view.shown == {"stage": "busy"}
    go.set()
    assert view.answer == 5
    assert view.wait(10)
    assert view.shown["right"]
    assert calls == [1]


def test_a_saved_notebook_has_the_question_and_the_answer_behind_a_click():
    view = wb.Predict("Is <b> a tag?", Counted(1), unit="kernels", because="a < b")
    before = Page(view).still()
    assert "Is &lt;b&gt; a tag?" in before
    assert "1 kernel" not in before
    assert view.answer == 1
    after = Page(view).still()
    assert "<details><summary>" in after
    assert "1 kernel. a &lt; b" in after


def test_a_question_is_not_saved_as_a_picture(tmp_path):
    with pytest.raises(WorkbenchError, match="a question has no picture"):
        wb.Predict("How many?", 1).save(tmp_path / "question.png")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("message", [{"type": "reveal"}, {"type": "reveal", "guess": 3}])
def test_a_message_that_lacks_its_guess_is_refused(message):
    view = wb.Predict("How many?", Counted(3))
    with pytest.raises(WorkbenchError):
        Page(view).post(message)
    assert view.shown == {"stage": "asked"}
