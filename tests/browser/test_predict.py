"""Predict in JupyterLab: a guess is typed and the answer read; markup in a question is only text."""

from __future__ import annotations

from browser.driver import Notebook
from playwright.sync_api import expect

HOSTILE = "How many <img src=x onerror=window.broken=1>?"


def test_guess_is_typed_and_the_answer_is_read(relax: Notebook) -> None:
    view = relax.show(f"wb.Predict({HOSTILE!r}, lambda: 3, unit='kernels', because='Two <b>merge</b>.')")
    answer = view.part("predict-said")
    expect(answer).to_be_hidden()
    view.part("predict-check").click()  # nothing typed: the field asks for it
    expect(view.part("predict-guess")).to_be_focused()
    view.part("predict-guess").fill("5")
    view.part("predict-guess").press("Enter")
    expect(answer).to_have_text("≠You said 5. The answer: 3 kernels. Two <b>merge</b>.")
    expect(view.part("predict-guess")).to_have_count(0)
    expect(view.root).to_contain_text(HOSTILE)
    assert view.page.evaluate("window.broken ?? null") is None
    assert view.python("[view.guess, view.answer]") == ["5", 3]
