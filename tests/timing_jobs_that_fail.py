"""Jobs of `wb.measure` that end badly when the configuration's name says so; test_measure_faults.py has them sent."""

from __future__ import annotations

import mmap
import os
import signal
import time
from collections.abc import Callable, Mapping
from typing import Any

from workbench.jobs import build as building_jobs
from workbench.jobs import run_build as timing_jobs

MIB = 1 << 20


def build(workload: Any, *, config: Mapping[str, Any], progress: Callable[..., None], **how: Any) -> dict[str, Any]:
    _misbehave(config["name"], "build", progress)
    return building_jobs.build(workload, config=config, progress=progress, **how)


def run(workload: Any, *, config: Mapping[str, Any], progress: Callable[..., None], **how: Any) -> dict[str, Any]:
    _misbehave(config["name"], "run", progress)
    return timing_jobs.run(workload, config=config, progress=progress, **how)


def _misbehave(name: str, when: str, progress: Callable[..., None]) -> None:
    what, _, where = name.partition(" in the ")
    if where == when:
        {"crash": _crash, "hang": _hang, "gulp": _gulp, "eat": _eat}[what](progress)


def _crash(_: Callable[..., None]) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def _hang(progress: Callable[..., None]) -> None:
    progress("hanging", None)
    time.sleep(60)


def _gulp(_: Callable[..., None]) -> None:
    """More than there may be, in one piece."""
    bytearray(1 << 40)


def _eat(_: Callable[..., None]) -> None:
    """Bit by bit, and of a kind that no limit on a process's own data sees."""
    for _piece in range(32):
        held.append(mmap.mmap(-1, len(PIECE)))
        held[-1].write(PIECE)
        time.sleep(0.02)


PIECE = b"1" * (64 * MIB)
held: list[mmap.mmap] = []
