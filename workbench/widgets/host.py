"""The Python side of a widget's page: its verbs, its background work, and the trait with its progress and its errors."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.widgets.background import Busy, Task, Work, sentence
from workbench.widgets.messages import Request, Verbs
from workbench.widgets.page_types import failure

if TYPE_CHECKING:
    from workbench.widgets.base import TextView, View

FIRST = "passes"
"the lane whose progress is shown before that of others: all tabs wait for it"


class Host:
    """The page of one widget, whose trait named `trait` shows `busy` and `error`; `title` is that of errors of background work.

    Requests of the page run at once; `in_order` in the background, one after the other, each finished before the next.
    """

    def __init__(
        self,
        view: View | TextView,
        *owners: object,
        trait: str = "status",
        title: str = "That failed",
        in_order: bool = False,
    ) -> None:
        self.view, self._trait = view, trait
        self.lock = threading.RLock()
        self.verbs = Verbs(*owners)
        self.work = Work(lambda error: self.fail(title, sentence(error)), self.show_busy)
        self._requests = self.work.lane("requests") if in_order else None
        self.task: Task | None = None
        "the request that runs in the background, for its progress and its cancel"
        self._busy: dict[str, Busy] = {}
        self._open_tab = ""
        view.on_msg(self._receive)

    def get(self, name: str) -> Any:
        return getattr(self.view, name)

    def push(self, **changes: Any) -> None:
        """Change keys of the trait."""
        with self.lock:
            self.view.set_trait(self._trait, {**self.get(self._trait), **changes})

    def fail(self, title: str, text: str) -> None:
        self.push(error=failure(title, text))

    def refuse(self, error: Exception) -> None:
        """Show why a request was refused; everything stays as it was."""
        self.fail("That cannot be done", sentence(error))

    def open_tab(self, name: str) -> None:
        """Show the progress of that lane before that of others."""
        with self.lock:
            self._open_tab = name
            self._push_busy()

    def show_busy(self, lane: str, busy: Busy | None) -> None:
        """Show the progress of a lane; None removes it."""
        with self.lock:
            self._busy.pop(lane, None)
            if busy is not None:
                self._busy[lane] = busy
            self._push_busy()

    def _push_busy(self) -> None:
        shown = next((lane for lane in (FIRST, self._open_tab) if lane in self._busy), next(reversed(self._busy), ""))
        self.push(busy=self._busy.get(shown))

    def _receive(self, _: object, content: object, __: object) -> None:
        try:
            request = self.verbs.read(content)
            if request is None:
                return
            if self._requests is None or request.key == ("", "cancel"):
                request.run()
            else:
                # of a field's values only the newest is wanted, but every click
                name = request.key if request.key[0] == "set" else request
                self._requests.submit_last(partial(self._run, request), name)
        except WorkbenchError as error:
            self.refuse(error)

    def _run(self, request: Request, task: Task) -> None:
        self.push(error=None)
        task.report("Working", at_once=True)
        self.task = task
        try:
            request.run()
        except WorkbenchError as error:
            self.refuse(error)
