"""Drives a real JupyterLab in Chromium: what the browser tests and the benchmarks share."""

from __future__ import annotations

import json
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
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
BRIEFLY = 60_000
"milliseconds; a shared machine may be slow, and times are measured in benchmarks/"
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

    def open(self, page: Page, notebook: str) -> Notebook:
        """Open a notebook in a workspace of its own and wait for its kernel."""
        page.goto(f"{self.url}/lab/workspaces/t{secrets.token_hex(4)}/tree/{notebook}?token={self.token}")
        page.wait_for_selector(".jp-Notebook", timeout=60_000)
        page.wait_for_function(_HAS_KERNEL, timeout=60_000)
        return Notebook(page)


@contextmanager
def running_lab(folder: Path) -> Iterator[Lab]:
    """Start JupyterLab in `folder`, with the project's notebooks in it; end it afterwards."""
    for notebook in NOTEBOOKS.glob("*.ipynb"):
        shutil.copy(notebook, folder)
    shutil.copytree(NOTEBOOKS / "data", folder / "data", dirs_exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    lab = Lab(folder, port, secrets.token_hex(8))
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}"]
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
def living_page(browser: Browser, width: int = 1600, height: int = 1100) -> Iterator[Page]:
    """Open a page; at its end, nothing may have failed in it."""
    failed: list[str] = []
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(BRIEFLY)
    page.on("pageerror", lambda error: failed.append(str(error)))
    yield page
    page.close()
    assert [each for each in failed if each != SLOW_MACHINE] == [], failed


class Notebook:
    """A notebook open in JupyterLab."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def part(self, name: str) -> Any:
        """The newest element with that data-testid."""
        return self.page.locator(f"[data-testid='{name}']").last

    def run_all(self) -> None:
        self.page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")

    def run_cell(self, source: str) -> None:
        """Add a cell at the end and run it."""
        self.page.evaluate(_RUN_CELL, source)

    def python(self, expression: str) -> Any:
        """The value of an expression in the notebook's kernel, after everything the kernel was asked before."""
        answer = self.page.evaluate(_EVALUATE, f"import json as _json; print('<<' + _json.dumps({expression}) + '>>')")
        assert "<<" in answer, answer
        return json.loads(answer.split("<<", 1)[1].rsplit(">>", 1)[0])

    def agree(self, expression: str, value: object) -> None:
        """Wait until Python has heard: a widget sends its newest state when the kernel has taken the one before."""
        for _ in range(200):
            if self.python(expression) == value:
                return
            self.page.wait_for_timeout(50)
        assert self.python(expression) == value


_HAS_KERNEL = "() => window.jupyterapp?.shell.currentWidget?.context?.sessionContext?.session?.kernel"

_EVALUATE = """
async (code) => {
  const kernel = window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel;
  let text = "";
  const future = kernel.requestExecute({ code });
  future.onIOPub = (message) => {
    if (message.header.msg_type === "stream") text += message.content.text;
    if (message.header.msg_type === "error") text += message.content.traceback.join("\\n");
  };
  await future.done;
  return text;
}
"""

_RUN_CELL = """
async (source) => {
  const app = window.jupyterapp;
  const notebook = app.shell.currentWidget.content;
  notebook.activeCellIndex = notebook.widgets.length - 1;
  await app.commands.execute("notebook:insert-cell-below");
  notebook.activeCell.model.sharedModel.setSource(source);
  await app.commands.execute("notebook:run-cell");
}
"""
