"""Code of a user may fork; only the process that called it goes on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def end_copies() -> Iterator[None]:
    """End every forked copy of this process that leaves the block.

    A copy has the same sockets: it would answer on them a second time.
    """
    caller = os.getpid()
    try:
        yield
    finally:
        if os.getpid() != caller:
            os._exit(0)
