"""A second child process, for what may end it: the first keeps modules that somebody still looks at."""

from __future__ import annotations

import threading

from workbench.process.worker import Worker

_spare: Worker | None = None
_making = threading.Lock()


def spare() -> Worker:
    """The child process of this notebook that tries passes out."""
    global _spare
    with _making:
        if _spare is None:
            _spare = Worker()
        return _spare
