"""A real JupyterLab with both kernels, and a Chromium to drive it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser.lab import BRIEFLY, Lab, Notebook, living_page, running_browser, running_lab
from playwright.sync_api import Browser, expect


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running_lab(tmp_path_factory.mktemp("lab")) as lab:
        yield lab


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with running_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def ran(lab: Lab, browser: Browser) -> Iterator[Notebook]:
    """The quickstart, open and run to its end; nothing may fail in its page."""
    with living_page(browser, 1600, 1100) as page:
        notebook = lab.open(page, "00_quickstart.ipynb")
        notebook.run_all()
        page.wait_for_selector("[data-testid='kernels-after']", timeout=BRIEFLY)
        assert notebook.python("[int(count) for count in kernels.values()]") == [8, 5, 3, 5]
        yield notebook


@pytest.fixture
def quickstart(ran: Notebook) -> Notebook:
    """The same, with the notebook's Workbench made anew, as running its cell again does."""
    views = ran.page.locator(".wb-workbench").count()
    ran.run_cell("bench = wb.Workbench(w)\nbench")
    expect(ran.page.locator(".wb-workbench")).to_have_count(views + 1, timeout=BRIEFLY)
    expect(ran.part("kernels-after")).to_have_text("3", timeout=BRIEFLY)
    return ran
