"""Kernels that TVM builds with a fallback, because it has no better schedule, for Relay and Relax alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.graph.model import Graph

Cause = Literal["untuned", "warned", "unscheduled", "rule"]
"""`untuned`: an AutoTVM template with its default configuration; `warned`: TVM logs that the implementation is not optimized; `unscheduled`: no
pass gave the kernel a schedule; `rule`: the fallback rule of a GPU's default schedules did"""
Mismatch = Literal["operator", "arguments", "target", "failed", "invalid"]
"the reason why a build does not use records"


@dataclass(frozen=True)
class FallbackKernel:
    """Nodes that TVM compiles with a fallback."""

    cause: Cause
    name: str
    "of the implementation, or of the kernel"
    nodes: tuple[int, ...]
    said: str = ""
    "TVM's own words"


@dataclass(frozen=True)
class UnusedRecords:
    """Records of one task that a build does not use."""

    cause: Mismatch
    task: str
    places: tuple[int, ...]
    "in the log"
    target: str = ""
    "that they were measured for"
    theirs: str = ""
    ours: str = ""
    "the values that differ: of the records, and of the build"


@dataclass(frozen=True)
class Fallbacks:
    """The kernels with a fallback, and the records without a use."""

    graph: Graph
    "of the kernels"
    kernels: tuple[FallbackKernel, ...]
    unused: tuple[UnusedRecords, ...] = ()
