"""Jobs for the child process that end badly; test_build_contract.py sends them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any


def crash(workload: Any, *, progress: Callable[..., None]) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def leave(workload: Any, *, progress: Callable[..., None]) -> None:
    os._exit(3)


def fail(workload: Any, *, progress: Callable[..., None]) -> None:
    raise ValueError("first line\nthe reason")


def wait(workload: Any, *, progress: Callable[..., None]) -> None:
    progress("waiting", 0.5)
    time.sleep(60)


def name(workload: Any, *, progress: Callable[..., None]) -> str:
    return workload.name


def program(*, progress: Callable[..., None], **_: Any) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)
