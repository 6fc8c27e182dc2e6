"""Base of the Workbench's tabs that show blocks: a background thread makes the content of an open tab."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from workbench.errors import WorkbenchError
from workbench.widgets.background import Task
from workbench.widgets.blocks import Block, action, sendable, words
from workbench.widgets.messages import act
from workbench.widgets.workbench.session import Session


class Panel:
    """One tab. It does nothing until it is open."""

    name: ClassVar[str]
    "of the tab; the page has it and a dash before the names of the buttons and fields"
    trait: ClassVar[str]
    "the widget's trait that holds the blocks"
    doing: ClassVar[str]
    "the work that fills the tab, as its progress names it"

    def __init__(self, session: Session) -> None:
        self.session, self.page = session, session.page
        self.open = False
        self.trouble = ""
        self.cancelled, self._empty = False, True
        self._work = self.page.work.lane(self.name, self._failed)

    def set_open(self, is_open: bool) -> None:
        self.open = is_open
        self.refresh()

    @act("again")
    def refresh(self) -> None:
        """Make the blocks again if the tab is open: the choice or the picture has changed."""
        if self.open:
            self.start(self.make)

    def cancel(self) -> None:
        """Stop the work; the content stays, and an empty tab offers the work again."""
        self._work.cancel()
        self.cancelled = True
        if self.open:
            self.show()

    def start(self, work: Callable[[Task], None]) -> None:
        """Run work in the background; the newest request wins. An empty tab shows from now on what it waits for."""
        self.trouble, self.cancelled = "", False
        self._work.submit(lambda task: self._run(task, work), self.doing if self._empty else "")
        if self._empty:
            self.show()

    def make(self, task: Task) -> None:
        """Compute the content of the tab, and show it."""
        raise NotImplementedError

    def blocks(self) -> list[Block]:
        """Return the content of the tab; nothing before the first work is done."""
        raise NotImplementedError

    def show(self) -> None:
        """Show the content below the error of the last request, if it failed."""
        said = [words(self.trouble, "bad", f"{self.name}-trouble")] if self.trouble else []
        content = self.blocks()
        self._empty = not content
        if self._empty and (self.trouble or self.cancelled):
            said += [] if self.trouble else [words(f"{self.doing} was cancelled.", "small")]
            content = [action("Try again", f"{self.name}-again")]
        elif self._empty:
            content = [words(f"{self.doing} …", "small", f"{self.name}-waits")]
        self.page.show(**{self.trait: sendable([*said, *content])})

    def _run(self, task: Task, work: Callable[[Task], None]) -> None:
        if not task.wanted:
            return
        try:
            work(task)
        except WorkbenchError as error:
            if task.wanted:
                self.trouble = str(error)
        if task.wanted:
            self.show()

    def _failed(self, error: Exception) -> None:
        self.trouble = f"The workbench itself failed: {type(error).__name__}: {error}"
        self.show()
