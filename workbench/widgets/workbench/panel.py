"""Base of the Workbench's tabs that show blocks: a background thread makes the content of an open tab."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from workbench.errors import WorkbenchError
from workbench.pipeline.config import Config
from workbench.widgets.background import Background, Task
from workbench.widgets.blocks import Block, sendable, words
from workbench.widgets.workbench.page import Page
from workbench.widgets.workbench.session import Session


class Panel:
    """One tab. It does nothing until it is open."""

    name: ClassVar[str]
    "of the tab; the names of its buttons and fields begin with it and a dash"
    trait: ClassVar[str]
    "the widget's trait that holds the blocks"

    def __init__(self, session: Session, page: Page) -> None:
        self.session, self.page = session, page
        self.open = False
        self.trouble = ""
        self._work = Background(f"workbench-{self.name}", self._failed, session.reports.busy(self.name))

    def set_open(self, is_open: bool) -> None:
        """Open or close the tab."""
        self.open = is_open
        if is_open:
            self.show()  # an empty tab has a sentence too
        self.refresh()

    def refresh(self) -> None:
        """Make the blocks again if the tab is open: the choice or the picture has changed."""
        if self.open:
            self.start(self.make)

    def cancel(self) -> None:
        """Stop the work; the content stays."""
        self._work.cancel()

    def wait(self, timeout: float) -> bool:
        """Wait until all requests are done; return whether that happened in time."""
        return self._work.wait(timeout)

    def start(self, work: Callable[[Task], None]) -> None:
        """Run work in the background; the newest request wins."""
        self._work.submit(lambda task: self._run(task, work))

    def make(self, task: Task) -> None:
        """Compute the content of the tab, and show it."""
        raise NotImplementedError

    def blocks(self) -> list[Block]:
        """Return the content of the tab."""
        raise NotImplementedError

    def act(self, what: str, arg: str) -> None:
        """Handle a click on a button or a line of that name."""

    def enter(self, name: str, value: str) -> None:
        """Take the value of a field, by its name."""

    def withdraw(self, a: Config, b: Config) -> None:
        """Drop the ratio of two configurations that were raced again in another tab."""

    def show(self) -> None:
        """Show the content below the error of the last request, if it failed."""
        said = [words(self.trouble, "bad", f"{self.name}-trouble")] if self.trouble else []
        self.page.show(**{self.trait: sendable([*said, *self.blocks()])})

    def _run(self, task: Task, work: Callable[[Task], None]) -> None:
        if not task.wanted:
            return
        try:
            self.trouble = ""
            work(task)
        except WorkbenchError as error:
            self.trouble = "" if task.cancelled() else str(error)
        if task.wanted or not task.cancelled():
            self.show()

    def _failed(self, error: Exception) -> None:
        self.trouble = f"The workbench itself failed: {type(error).__name__}: {error}"
        self.show()
