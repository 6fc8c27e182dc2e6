"""Things made one at a time beside the notebook, the newest wish first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable

from workbench.widgets.background import show_failure

Wish = tuple[Hashable, ...]


class Supply:
    """Makes what was wished for in a thread of its own, which ends when nothing is left to make.

    New wishes go before older ones, and none is forgotten: what a page prefetches waits for what it is asked to show, and two
    pages of one widget do not starve each other.
    """

    def __init__(self, name: str, make: Callable[[Wish], None], failed: Callable[[Wish, Exception], None]) -> None:
        self._name = name
        self._make = make
        self._failed = failed
        self._lock = threading.Condition()
        self._wishes: dict[Wish, None] = {}
        self._thread: threading.Thread | None = None

    def want(self, wishes: Iterable[Wish]) -> None:
        """Make these, in this order, before whatever else is still to be made."""
        with self._lock:
            self._wishes = dict.fromkeys((*wishes, *self._wishes))
            if self._wishes and self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()

    def wait(self, timeout: float) -> bool:
        """Wait until everything is made; whether that happened in time."""
        with self._lock:
            return self._lock.wait_for(lambda: self._thread is None, timeout)

    def _run(self) -> None:
        while True:
            with self._lock:
                wish = next(iter(self._wishes), None)
                if wish is None:
                    self._thread = None
                    self._lock.notify_all()
                    return
                del self._wishes[wish]
            try:
                self._make(wish)
            except Exception as error:  # noqa: BLE001  the error of one request is shown in its place; the others still come
                show_failure(self._failed, wish, error)
