"""Limits of the child process: its time, its memory, the free memory, memory errors; and forked copies."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MIB = 1 << 20
TIMEOUT = 600.0
"seconds that a job may take: a large model builds for minutes on few cores, and a job that hangs still ends"
SHARE = 0.9
"of the free memory: the rest is for the notebook and for other programs"
_SIGNS = re.compile(
    r"std::bad_alloc|MemoryError|Unable to allocate|LLVM ERROR: out of memory|Cannot allocate memory(?! symbolic)"
    r"|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|CUDA: out of memory"
)
_PROC, _GROUP = Path("/proc"), Path("/sys/fs/cgroup")


def resident(pid: int | str = "self") -> int:
    """Return the bytes of memory that a process holds, without mapped files (a model's parameters); 0 if unknown."""
    fields = _fields(_PROC / str(pid) / "status")
    return fields.get("RssAnon", 0) + fields.get("RssShmem", 0)


def free() -> int | None:
    """Return the bytes still available in the machine or in this container; None if unknown."""
    machine = _fields(_PROC / "meminfo").get("MemAvailable")
    most, used = _number(_GROUP / "memory.max"), _number(_GROUP / "memory.current")
    container = None if most is None or used is None else max(0, most - used)
    known = [amount for amount in (machine, container) if amount is not None]
    return min(known, default=None)


def limit(memory: int | None, held: int) -> int | None:
    """Return the bytes that a child may hold: the user's limit; without one, what it holds now and SHARE of the free memory."""
    if memory is not None:
        return memory
    left = free()
    return None if left is None else held + int(SHARE * left)


def kills() -> int:
    """Return how often the system has killed a process because memory ran out, since its start."""
    text = _text(_PROC / "vmstat") + _text(_GROUP / "memory.events")
    return sum(int(number) for number in re.findall(r"^oom_kill (\d+)$", text, re.MULTILINE))


def ran_out(words: str) -> bool:
    """Return whether an error's words mean that memory ran out.

    >>> ran_out("InternalError: std::bad_alloc"), ran_out("ValueError: no")
    (True, False)
    """
    return _SIGNS.search(words) is not None


@contextmanager
def limited(memory: int | None) -> Iterator[None]:
    """Make allocations beyond `memory` bytes fail in the child, on a system that supports this.

    Only data counts (RLIMIT_DATA): a driver's or an allocator's reserved addresses and mapped files use no memory yet. The
    notebook watches gradual growth, and ends the child.
    """
    try:
        import resource
    except ImportError:
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_DATA)
    held, data = resident(), _fields(_PROC / "self" / "status").get("VmData")
    if memory is None or data is None:
        yield
        return
    # `data` includes memory that is reserved and not yet used; the memory that may still be taken is added to it
    most = data + max(memory - held, 0) + 64 * MIB
    resource.setrlimit(resource.RLIMIT_DATA, (most if before[1] < 0 else min(most, before[1]), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def in_words(bytes: int) -> str:
    """Return bytes in words.

    >>> in_words(3 << 30), in_words(500 << 20)
    ('3 GiB', '500 MiB')
    """
    return f"{bytes / (1 << 30):.3g} GiB" if bytes >= 1 << 30 else f"{bytes / MIB:.3g} MiB"


def _fields(path: Path) -> dict[str, int]:
    """Return the `Name: number kB` lines of a file of /proc, in bytes."""
    return {name: int(number) * 1024 for name, number in re.findall(r"^(\w+):\s+(\d+) kB$", _text(path), re.MULTILINE)}


def _number(path: Path) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isdigit() else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


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
