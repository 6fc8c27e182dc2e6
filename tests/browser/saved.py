"""The driver of a saved page: a file in a browser, with the network cut off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from browser.driver import BRIEFLY
from playwright.sync_api import Browser, Locator, Page, Route, expect

NO_WORKER = "window.Worker = class { constructor() { throw new Error('workers are forbidden here'); } }"


class Saved:
    """A saved page in a browser, and everything it asked for."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.asked: list[str] = []
        self.failed: list[str] = []
        page.route("**/*", self._answer)
        page.on("pageerror", lambda error: self.failed.append(str(error)))
        page.on("console", lambda message: self.failed.append(message.text) if message.type == "error" else None)

    def _answer(self, route: Route) -> None:
        if route.request.url.startswith("file:"):
            route.continue_()
            return
        self.asked.append(route.request.url)
        route.abort()

    def open(self, path: Path) -> None:
        self.page.goto(path.as_uri())
        expect(self.page.locator("canvas").first).to_be_visible(timeout=BRIEFLY)
        # a worker answers in a few milliseconds; nothing on the page says that it did
        self.page.wait_for_timeout(300)

    def part(self, name: str) -> Locator:
        return self.page.locator(f"[data-testid='{name}']")

    def svg(self) -> str:
        """The picture as the page's own save button writes it."""
        self.page.wait_for_timeout(400)  # a title comes before its picture
        with self.page.expect_download() as download:
            self.part("save").click()
        return Path(download.value.path()).read_text(encoding="utf-8")

    def pixels(self, name: str = "canvas") -> bytes:
        self.page.wait_for_timeout(400)  # glides last 250 ms
        return self.part(name).screenshot()


@contextmanager
def saved_page(browser: Browser, script: str = "") -> Iterator[Saved]:
    """Open a page that runs a script first; nothing may fail in it, and it may ask for nothing."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, accept_downloads=True)
    context.set_default_timeout(BRIEFLY)
    page = context.new_page()
    if script:
        page.add_init_script(script)
    saved = Saved(page)
    yield saved
    assert saved.failed == []
    # the worker is the page's own text
    assert [url for url in saved.asked if not url.startswith("blob:")] == []
    context.close()
