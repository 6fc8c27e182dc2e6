"""A page of a widget without a browser: it sends what a page sends, over the widget's comm, and keeps what comes back."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from comm.base_comm import BaseComm
from ipywidgets import Widget

WAIT_SECONDS = 120.0


class PageComm(BaseComm):
    """The kernel's end of the line to a page; calls `arrive` with each message to the page, and its buffers."""

    def __init__(self, comm_id: str, arrive: Callable[[dict[str, Any], list[bytes]], None]) -> None:
        self._arrive = arrive
        super().__init__(target_name="jupyter.widget", comm_id=comm_id, primary=False)

    def publish_msg(self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **_: Any) -> None:
        """Give the page a message."""
        if msg_type == "comm_msg":
            self._arrive(data, list(buffers or ()))


class Page:
    """The page of one widget.

    An exception that the widget lets out of a message's handler is raised here; in a notebook it is a traceback in the log.
    """

    def __init__(self, widget: Widget) -> None:
        self.widget: Any = widget
        self.received: list[tuple[dict[str, Any], list[bytes]]] = []
        "the messages that the widget sent with `send`, and their buffers; changes of traits are not among them"
        widget.comm = PageComm(widget.model_id, self._arrive)

    def press(self, what: str, arg: str = "") -> None:
        """Press a button or a line of blocks, without waiting."""
        self.post({"type": "act", "what": what, "arg": arg})

    def click_action(self, what: str, arg: str = "") -> None:
        """Press a button or a line of blocks, and wait for the end of the work."""
        self.send("act", what=what, arg=arg)

    def set(self, name: str, value: str) -> None:
        """Type into a field of blocks, and wait for the end of the work."""
        self.send("set", name=name, value=value)

    def send(self, type: str, **fields: object) -> None:
        """Send a message, and wait for the end of the work."""
        self.post({"type": type, **fields})
        self._wait()

    def open_tab(self, name: str) -> None:
        """Open a tab, and wait for the end of the work."""
        self.change(tab=name)
        self._wait()

    def _wait(self) -> None:
        if hasattr(self.widget, "wait"):
            assert self.widget.wait(WAIT_SECONDS)

    def post(self, content: object) -> None:
        """Send a message of any form, without waiting."""
        self._deliver({"method": "custom", "content": content})

    def change(self, **traits: object) -> None:
        """Set synchronized traits."""
        self._deliver({"method": "update", "state": traits, "buffer_paths": []})

    def trait(self, name: str) -> Any:
        """Return a synchronized trait as the page has it."""
        return self.widget.get_state([name])[name]

    @property
    def messages(self) -> list[Any]:
        """The messages that the widget sent, with their bytes in place, as the page reads them."""
        return [_unpacked(content, buffers) for content, buffers in self.received]

    def still(self) -> str:
        """Return the markup that a notebook shows without a kernel."""
        return self.widget._repr_mimebundle_()[0]["text/html"]

    def _arrive(self, data: dict[str, Any], buffers: list[bytes]) -> None:
        if data["method"] == "custom":
            self.received.append((data["content"], buffers))

    def _deliver(self, data: dict[str, Any]) -> None:
        with _raised(self.widget.log):
            self.widget.comm.handle_msg({"content": {"data": data}, "buffers": []})


def _unpacked(value: Any, buffers: list[bytes]) -> Any:
    if isinstance(value, dict):
        in_buffer = set(value) == {"buffer"}
        return buffers[value["buffer"]] if in_buffer else {key: _unpacked(v, buffers) for key, v in value.items()}
    return [_unpacked(each, buffers) for each in value] if isinstance(value, list) else value


class _Failures(logging.Handler):
    """Keeps the exceptions that are logged."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[BaseException] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1]:
            self.found.append(record.exc_info[1])


@contextmanager
def _raised(log: logging.Logger) -> Iterator[None]:
    """Raise the first exception that is logged meanwhile: ipywidgets logs those of its callbacks."""
    failures = _Failures()
    log.addHandler(failures)
    try:
        yield
    finally:
        log.removeHandler(failures)
    if failures.found:
        raise failures.found[0]
