"""A real JupyterLab and a Chromium, with one page for each kernel that the tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from browser.driver import Notebook
from browser.lab import Lab, living_page, nothing_fails, running_browser, running_lab
from browser.views import PREPARE
from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running_lab(tmp_path_factory.mktemp("lab")) as lab:
        yield lab


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with running_browser() as browser:
        yield browser


@pytest.fixture(scope="session")
def shared(lab: Lab, browser: Browser) -> Iterator[Callable[[str], Notebook]]:
    """The notebook of a kernel, open with the graphs of views.py; the tests share it, because a kernel starts for seconds."""
    opened: dict[str, Notebook] = {}
    with ExitStack() as pages:

        def notebook(kernel: str) -> Notebook:
            if kernel not in opened:
                page = pages.enter_context(living_page(browser))
                opened[kernel] = lab.open(page, lab.new(f"shared-{kernel}", kernel).name)
                opened[kernel].tell(PREPARE)
            return opened[kernel]

        yield notebook


@pytest.fixture
def relax(shared: Callable[[str], Notebook]) -> Iterator[Notebook]:
    """A notebook without cells; its kernel has this environment's Python."""
    yield from _cleared(shared("python3"))


@pytest.fixture
def relay(shared: Callable[[str], Notebook]) -> Iterator[Notebook]:
    """A notebook without cells; its kernel has Relay."""
    yield from _cleared(shared("workbench-relay"))


def _cleared(notebook: Notebook) -> Iterator[Notebook]:
    notebook.page.set_viewport_size({"width": 1400, "height": 1000})
    notebook.page.mouse.move(0, 0)
    notebook.clear()
    with nothing_fails(notebook.page):
        yield notebook
