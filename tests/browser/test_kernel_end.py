"""A widget whose kernel has ended shows it; one whose kernel is busy does not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser.driver import Notebook, View
from browser.lab import Lab, living_page
from browser.views import PREPARE, RELU
from playwright.sync_api import Browser, expect

RESTART = "() => window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel.restart()"


@pytest.fixture
def own(lab: Lab, browser: Browser) -> Iterator[Notebook]:
    """A notebook with a kernel that the test may end."""
    with living_page(browser) as page:
        notebook = lab.open(page, lab.new("ending").name)
        notebook.run_cell(PREPARE)
        yield notebook


def test_kernel_that_is_busy_restarted_or_dead(own: Notebook) -> None:
    view = own.show("wb.GraphView(BEFORE)")
    own.run_cell("import time; time.sleep(2); done = True")
    assert own.python("done")
    expect(view.part("kernel-ended")).to_have_count(0)

    own.page.evaluate(RESTART)
    expect(view.part("kernel-ended")).to_be_visible()
    view.canvas().scroll_into_view_if_needed()
    x = view.places()[RELU][0]
    view.drag(20, 200, 100, 0)
    own.until(lambda: view.places()[RELU][0] > x + 50)

    own.run_all()
    expect(own.page.locator("[data-testid='kernel-ended']")).to_have_count(0)
    view = View(own, 0)
    own.run_cell("import os; os._exit(1)")
    expect(view.part("kernel-ended")).to_have_text("The kernel has ended. Run the cell again.")
    assert view.part("search").evaluate("(input) => Boolean(input.closest('[inert]'))")
