"""The requests of an inspector's page: done in a background thread, in the order in which they came."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

import traitlets

from workbench.errors import WorkbenchError
from workbench.widgets.background import Background, Busy, Task, sentence
from workbench.widgets.messages import Cancel, Handlers, Message, Set
from workbench.widgets.page_types import failure

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from workbench.widgets.fusion.inspector import FusionInspector
    from workbench.widgets.page_types import Status
    from workbench.widgets.patterns.inspector import PatternInspector


class Requests:
    """The queue of a page's messages, which are handled one after the other.

    Parameters
    ----------
    view
        Its `status` shows the request under way and the reason why one failed.
    handlers
        The function for each message; a WorkbenchError of a function is shown, and nothing has changed then.
    """

    def __init__(self, view: FusionInspector | PatternInspector, handlers: Handlers) -> None:
        self._view = view
        self._handlers = handlers.on(Cancel, lambda _: view.cancel())
        self._lock = threading.RLock()
        self._waiting: deque[Message] = deque()
        self.work = Background(f"workbench-{type(view).__name__}", self.show_failure, self.show_busy)
        view.on_msg(self._receive)

    def cancel(self) -> None:
        """Stop the running request and drop the waiting ones; the picture stays."""
        self._waiting.clear()
        self.work.cancel()
        self.show(busy=None)

    def show(self, **status: Unpack[Status]) -> None:
        """Change the status on the page."""
        with self._lock:
            shown: Status = {**self._view.status, **status}
            self._view.status = shown

    def show_busy(self, busy: Busy | None) -> None:
        """Show the work under way; None at its end."""
        self.show(busy=busy)

    def show_failure(self, error: Exception) -> None:
        """Show an error of background work."""
        self.show(busy=None, error=failure("That failed", sentence(error)))

    def _receive(self, _: object, content: object, __: object) -> None:
        try:
            message = self._handlers.read(content)
        except WorkbenchError as error:
            self._refuse(error)
            return
        if isinstance(message, Cancel):
            self._handlers.run(message)
        elif message is not None:
            self._enqueue(message)
            # a queued request is done although a newer one replaces the task
            self.work.submit(self._run)

    def _enqueue(self, message: Message) -> None:
        """Queue a message: every click, but only the newest value of a field that is set again before its turn."""
        with self._lock:
            last = self._waiting[-1] if self._waiting else None
            if isinstance(message, Set) and isinstance(last, Set) and message.name == last.name:
                self._waiting.pop()
            self._waiting.append(message)

    def _run(self, task: Task) -> None:
        while not task.cancelled():
            with self._lock:
                if not self._waiting:
                    return
                message = self._waiting.popleft()
            self.show(error=None)
            task.report("Working", at_once=True)
            try:
                self._handlers.run(message)
            except (WorkbenchError, traitlets.TraitError) as error:
                self._refuse(error)

    def _refuse(self, error: Exception) -> None:
        """Show the error on the page; everything stays as it was."""
        self.show(error=failure("That cannot be done", str(error)))
