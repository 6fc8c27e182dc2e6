"""The key of a crash: two crashes with the same key are the same crash."""

from __future__ import annotations

import re

from workbench.errors import MeasureError, WorkerLost

_REPLACED = (
    (re.compile(r"0x[0-9a-fA-F]+"), "0x"),
    # a path differs between machines, the file in it does not
    (re.compile(r"(?:/[\w.+-]+)+/"), ""),
    (re.compile(r"\d+(?:\.\d+)?"), "#"),
    # a shape of another rank
    (re.compile(r"#(?:, ?#)+"), "#"),
)


def key_of(error: MeasureError) -> str:
    """Return the key: of a process that ended its signal and the top frames, else the message without its numbers."""
    if isinstance(error, WorkerLost) and error.crash:
        return error.crash
    return without_numbers(str(error))


def without_numbers(message: str) -> str:
    """Return a message without addresses, numbers, shapes and folders.

    >>> without_numbers("InternalError: /src/a.cc:12: Check failed: (4, 8) vs (4, 8, 1) at 0x7f1a")
    'InternalError: a.cc:#: Check failed: (#) vs (#) at 0x'
    """
    for pattern, instead in _REPLACED:
        message = pattern.sub(instead, message)
    return message
