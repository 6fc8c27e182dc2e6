"""Predict in JupyterLab: a guess typed, a choice clicked, and the answer read; markup in a question is only text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser.lab import BRIEFLY, Lab, Notebook, living_page
from browser.views import notebook
from playwright.sync_api import Browser, Locator, expect

HOSTILE = "How many <img src=x onerror=window.broken=1>?"


@pytest.fixture(scope="module")
def opened(lab: Lab, browser: Browser) -> Iterator[Notebook]:
    with living_page(browser, 1280, 900) as page:
        yield notebook(lab, page)


def asked(opened: Notebook, make: str) -> Locator:
    """A question on the page."""
    before = opened.page.locator(".wb-predict").count()
    opened.run_cell(f"view = {make}\nview")
    expect(opened.page.locator(".wb-predict")).to_have_count(before + 1, timeout=BRIEFLY)
    return opened.page.locator(".wb-predict").last


def test_a_guess_is_typed_and_the_answer_is_read(opened: Notebook) -> None:
    view = asked(opened, f"wb.Predict({HOSTILE!r}, lambda: 3, unit='kernels', because='Two <b>merge</b>.')")
    said = view.get_by_test_id("predict-said")
    expect(said).to_be_hidden()
    view.get_by_test_id("predict-check").click()  # nothing typed: the field asks for it
    expect(view.get_by_test_id("predict-guess")).to_be_focused()
    view.get_by_test_id("predict-guess").fill("5")
    view.get_by_test_id("predict-guess").press("Enter")
    expect(said).to_have_text("≠You said 5. The answer: 3 kernels. Two <b>merge</b>.", timeout=BRIEFLY)
    expect(view.get_by_test_id("predict-guess")).to_have_count(0)
    expect(view).to_contain_text(HOSTILE)
    assert opened.page.evaluate("window.broken") is None
    assert opened.python("[view.guess, view.answer]") == ["5", 3]


def test_a_choice_is_clicked_and_the_answer_can_be_had_without_a_guess(opened: Notebook) -> None:
    view = asked(opened, "wb.Predict('Is it folded?', False, choices=['yes', 'no'])")
    view.get_by_test_id("predict-choice").nth(1).click()
    expect(view.get_by_test_id("predict-said")).to_have_text("✓Right: no.", timeout=BRIEFLY)
    view = asked(opened, "wb.Predict('How many?', 4)")
    view.get_by_test_id("predict-show").click()
    expect(view.get_by_test_id("predict-said")).to_have_text("The answer: 4.", timeout=BRIEFLY)


def test_an_answer_that_fails_is_told_and_the_question_stays(opened: Notebook) -> None:
    view = asked(opened, "wb.Predict('How many?', lambda: 1 / 0)")
    view.get_by_test_id("predict-guess").fill("1")
    view.get_by_test_id("predict-check").click()
    expect(view.get_by_test_id("predict-said")).to_contain_text("division by zero", timeout=BRIEFLY)
    expect(view.get_by_test_id("predict-guess")).to_be_visible()
