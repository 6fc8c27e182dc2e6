"""A view of one graph that speaks: words come from Python as blocks, and what is clicked is a call that a person could type."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

import traitlets

from workbench.errors import WorkbenchError
from workbench.widgets import messages
from workbench.widgets.background import Background, Task, busy
from workbench.widgets.graph.traits import OneGraph

FIELDS: messages.Fields = {"act": {"what": str, "arg": str}, "set": {"name": str, "value": str}, "cancel": {}}
"what the page may say"
Asked = tuple[str, dict[str, str]]
"the kind of a message, and its fields"


class Inspector(OneGraph):
    """Base of the inspectors. What the page asks for is done beside the notebook, in the order in which it was asked."""

    panels = traitlets.Dict(help="what the page shows in words: its head, its card, and the open tab").tag(sync=True)
    marks = traitlets.Dict(help="what is shaded and marked on the graph").tag(sync=True)
    status = traitlets.Dict(help="what is being done, and what failed").tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        self._lock = threading.RLock()
        self._asked: deque[Asked] = deque()
        self._doing = Background(f"workbench-{type(self).__name__}", self._failed)
        super().__init__(**traits)
        self.on_msg(self._on_message)

    def cancel(self) -> None:
        """Give up what the page asked for; what is shown stays."""
        self._asked.clear()
        self._doing.cancel()
        self._tell(busy=None)

    def wait(self, timeout: float = 120) -> bool:
        """Wait until what the page asked for is done; whether that was in time."""
        return self._doing.wait(timeout)

    def _do(self, kind: str, fields: dict[str, str]) -> None:
        """Do what a message of `FIELDS` says; a WorkbenchError says why it cannot be done."""
        raise NotImplementedError

    def _on_message(self, _: Any, message: Any, __: Any) -> None:
        try:
            found = messages.read(message, FIELDS)
        except WorkbenchError as error:
            self._refuse(error)
            return
        if found is None:
            return
        if found[0] == "cancel":
            self.cancel()
            return
        self._queue(found)
        # a request that a newer one replaces is not lost: what was asked stands in the queue
        self._doing.submit(self._work)

    def _queue(self, asked: Asked) -> None:
        """Every click counts; of a field that is set again before its turn, only the newest value."""
        with self._lock:
            last = self._asked[-1] if self._asked else None
            if last and asked[0] == last[0] == "set" and asked[1]["name"] == last[1]["name"]:
                self._asked.pop()
            self._asked.append(asked)

    def _work(self, task: Task) -> None:
        while not task.cancelled():
            with self._lock:
                if not self._asked:
                    return
                kind, fields = self._asked.popleft()
            self._guarded(kind, fields)

    def _guarded(self, kind: str, fields: dict[str, str]) -> None:
        self._tell(busy=busy("Working", None), error=None)
        try:
            self._do(kind, fields)
        except (WorkbenchError, traitlets.TraitError) as error:
            self._refuse(error)
        finally:
            self._tell(busy=None)

    def _refuse(self, error: Exception) -> None:
        """Say on the page what was wrong; everything stays as it was."""
        self._tell(error={"title": "That cannot be done", "text": str(error)})

    def _failed(self, error: Exception) -> None:
        said = str(error) if isinstance(error, WorkbenchError) else f"{type(error).__name__}: {error}"
        self._tell(busy=None, error={"title": "That failed", "text": said})

    def _tell(self, **changes: Any) -> None:
        with self._lock:
            self.status = {**dict(self.status), **changes}
