"""How the measurement of a configuration ended, in a word: what stands in a row's column `status`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.dialects.counted import FAILED as FAILED
from workbench.dialects.counted import OK as OK
from workbench.errors import WorkbenchError

WRONG = "wrong"
"its outputs differ from the reference's; it has times, and never wins"
CRASHED = "crashed"
TIMEOUT = "timeout"
OUT_OF_MEMORY = "out of memory"
CANCELLED = "cancelled"
INTERRUPTED = "interrupted"
"Ctrl-C or the notebook's stop button came before it was measured"
NOT_MEASURED = "not measured"
"there is no device for its target: it has counts, and the message says what is missing"
NO_SERVER = "no server"
"the tracker lent no device: that is no fault of the configuration, and another time it may"

COUNTED = "counted"
"it has counts; no time was asked for"
UNDER_WAY = ("pending", "running")
"it waits, or is being measured"

ALL = (OK, WRONG, FAILED, CRASHED, TIMEOUT, OUT_OF_MEMORY, CANCELLED, INTERRUPTED, NOT_MEASURED, NO_SERVER)
BROKEN = (WRONG, FAILED, CRASHED, TIMEOUT, OUT_OF_MEMORY)
"the configuration's own fault"


def status_of(error: WorkbenchError) -> str:
    """The word for an error; an error that knows none is a failure."""
    return getattr(error, "status", FAILED)


def failure(status: object, message: object) -> str:
    """Return the sentence of a row without numbers, `failed: why`; empty where nothing failed.

    >>> failure("timeout", "it took longer than 60 s"), failure("ok", "")
    ('timeout: it took longer than 60 s', '')
    """
    if not isinstance(status, str) or status in ("", OK, COUNTED, *UNDER_WAY):
        return ""
    return f"{status}: {message}" if isinstance(message, str) and message else status


def may_win(row: Mapping[str, Any]) -> bool:
    """Whether a row may be called the fastest, or the best of anything."""
    return row.get("status") == OK
