"""The code that a Relay build generated, in the forms that it can be shown in."""

from __future__ import annotations

from typing import Any


def generated(library: Any) -> str:
    """The generated source of the whole library."""
    return str(library.get_source())
