"""A real JupyterLab with both kernels, and a Chromium to drive it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser.lab import Lab, Notebook, running_browser, running_lab
from playwright.sync_api import Browser, Page


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running_lab(tmp_path_factory.mktemp("lab")) as lab:
        yield lab


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with running_browser() as browser:
        yield browser


@pytest.fixture
def failures() -> list[str]:
    """What went wrong in the page."""
    return []


@pytest.fixture
def page(browser: Browser, failures: list[str]) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1600, "height": 1100})
    page.on("pageerror", lambda error: failures.append(str(error)))
    yield page
    page.close()


@pytest.fixture
def quickstart(lab: Lab, page: Page) -> Notebook:
    """The quickstart, open and run to its end."""
    notebook = lab.open(page, "00_quickstart.ipynb")
    notebook.run_all()
    page.wait_for_selector("[data-testid='kernels-after']", timeout=60_000)
    assert notebook.python("[int(count) for count in kernels.values()]") == [8, 5, 3, 5]
    return notebook
