"""Facts about this machine that a time depends on."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

# LLVM's names for CPU features, best first. The LLVM inside a TVM may be older than the CPU and then returns
# `generic`, which costs a factor of 8 to 10; the kernel's list of CPU features does not depend on LLVM's age.
_LEVELS = (
    ("skylake-avx512", {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx2", "fma", "bmi2"}),
    ("core-avx2", {"avx2", "fma", "bmi2"}),
    ("nehalem", {"sse4_2", "popcnt"}),
)

_VECTORS = ("sse4", "avx", "fma", "f16c", "bmi", "amx", "asimd", "neon", "sve", "i8mm", "bf16")


@lru_cache
def _cpuinfo() -> dict[str, str]:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return {}
    lines = (line.partition(":") for line in text.split("\n\n")[0].splitlines())
    return {key.strip(): value.strip() for key, _, value in lines}


def cpu_model() -> str:
    """Return the CPU's name, as the system reports it."""
    return _cpuinfo().get("model name") or platform.processor() or platform.machine()


def mcpu(llvm_says: str) -> str:
    """Return the `-mcpu` for code that runs here; `llvm_says` is the name of this CPU by TVM's own LLVM, which may not know it."""
    if llvm_says and llvm_says != "generic":
        return llvm_says
    has = set(_cpuinfo().get("flags", "").split())
    return next((name for name, needs in _LEVELS if needs <= has), "")


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(allowed()) or os.cpu_count() or 1


def allowed() -> set[int]:
    """Return the cores that any thread of this process may use; empty if the system does not report them.

    TVM's thread pool binds the first thread that uses it to one core, so that thread's own set is too small.
    """
    if not hasattr(os, "sched_getaffinity"):
        return set()
    found = set(os.sched_getaffinity(0))
    for task in Path("/proc/self/task").glob("*"):
        with suppress(OSError):  # a thread that has just ended
            found |= os.sched_getaffinity(int(task.name))
    return found


def cpu_features() -> str:
    """Return the CPU's vector extensions by the kernel's names: `avx avx2 fma`; empty if unknown."""
    flags = (_cpuinfo().get("flags") or _cpuinfo().get("Features") or "").split()
    return " ".join(sorted(flag for flag in set(flags) if flag.startswith(_VECTORS)))


def memory_gib() -> int:
    """Return the machine's memory in GiB, rounded; 0 if unknown."""
    try:
        return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / (1 << 30))
    except (ValueError, OSError, AttributeError):
        return 0
