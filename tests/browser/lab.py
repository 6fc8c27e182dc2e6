"""A real JupyterLab and a Chromium, for the browser tests and the benchmarks."""

from __future__ import annotations

import json
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from browser.driver import BRIEFLY, Notebook
from playwright.sync_api import Browser, Page, sync_playwright

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PROBED = Path(__file__).parents[2] / "js/.test/probed.js"
PROBE = f"""
import pathlib, workbench.widgets.base
workbench.widgets.base._BUNDLE = pathlib.Path({str(PROBED)!r})
workbench.widgets.base._scripts.clear()
"""
"a cell: the views of graphs made after it have `frames` and `places()` on their roots (js/testing/probed.ts)"
LAB = "import sys; sys.modules['rfc3987_syntax'] = None; from jupyterlab.labapp import main; main()"
"JupyterLab's program, without the grammar of addresses that tests/conftest.py leaves out too"
SLOW_MACHINE = "[anywidget] Failed to initialize model."
"anywidget's error when a model takes 2 s to start; the view is drawn all the same, and a test that needs it waits for it"


class Lab:
    """A running JupyterLab over a copy of the notebooks."""

    def __init__(self, folder: Path, port: int, token: str) -> None:
        self.folder = folder
        self.url = f"http://127.0.0.1:{port}"
        self.token = token

    def answers(self) -> bool:
        try:
            urllib.request.urlopen(f"{self.url}/api/status?token={self.token}", timeout=2)
        except OSError:
            return False
        return True

    def new(self, name: str, kernel: str = "python3") -> Path:
        """Write an empty notebook."""
        path = self.folder / f"{name}.ipynb"
        metadata = {"kernelspec": {"name": kernel, "display_name": kernel}}
        path.write_text(json.dumps({"cells": [], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}))
        return path

    def open(self, page: Page, notebook: str) -> Notebook:
        """Open a notebook in a workspace of its own and wait for its kernel."""
        page.goto(f"{self.url}/lab/workspaces/t{secrets.token_hex(4)}/tree/{notebook}?token={self.token}")
        page.wait_for_selector(".jp-Notebook", timeout=60_000)
        page.wait_for_function(_HAS_KERNEL, timeout=60_000)
        return Notebook(page)


@contextmanager
def running_lab(folder: Path) -> Iterator[Lab]:
    """Start JupyterLab in `folder`, with the project's notebooks in it; end it afterwards."""
    assert PROBED.exists(), "js/.test/probed.js is not there: run `make bundle`"
    for notebook in NOTEBOOKS.glob("*.ipynb"):
        shutil.copy(notebook, folder)
    shutil.copytree(NOTEBOOKS / "data", folder / "data", dirs_exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    lab = Lab(folder, port, secrets.token_hex(8))
    command = [sys.executable, "-c", LAB, "--no-browser", "--allow-root", f"--port={port}"]
    options = [
        f"--ServerApp.root_dir={folder}",
        f"--IdentityProvider.token={lab.token}",
        "--LabApp.expose_app_in_browser=True",
        "--LabApp.news_url=",
    ]
    with (folder / "lab.log").open("w") as log:
        process = subprocess.Popen([*command, *options], stdout=log, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + 60
        while not lab.answers():
            assert process.poll() is None, (folder / "lab.log").read_text()
            assert time.monotonic() < deadline, "JupyterLab did not start within 60 s"
            time.sleep(0.2)
        yield lab
    finally:
        process.terminate()
        process.wait(20)


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Start the machine's own Chromium."""
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next((found for name in names if (found := shutil.which(name))), None)
    assert program, "the browser lane needs chromium; on Debian: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield browser
        browser.close()


@contextmanager
def living_page(browser: Browser, width: int = 1400, height: int = 1000) -> Iterator[Page]:
    """Open a page; nothing may fail in it."""
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(BRIEFLY)
    with nothing_fails(page):
        yield page
        page.close()


@contextmanager
def nothing_fails(page: Page, but: str = "$^") -> Iterator[None]:
    """Assert at the end that nothing failed in a page meanwhile; `but` is an expression for errors that are expected."""
    failed: list[str] = []

    def keep(error: object) -> None:
        failed.append(str(error))

    page.on("pageerror", keep)
    yield
    page.remove_listener("pageerror", keep)
    assert [each for each in failed if each != SLOW_MACHINE and not re.fullmatch(but, each)] == [], failed


_HAS_KERNEL = "() => window.jupyterapp?.shell.currentWidget?.context?.sessionContext?.session?.kernel"
