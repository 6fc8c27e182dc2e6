"""A job for the child process that only takes its workload; benchmarks/timing.py sends it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def nothing(workload: Any, *, progress: Callable[..., None]) -> dict[str, Any]:
    progress("Doing nothing")
    return {"parameters": len(workload.params)}
