"""`wb.kernels`: what a real build calls, counted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workbench.dialects.base import Workload
from workbench.errors import UnknownName
from workbench.pipeline.config import Config
from workbench.pipeline.legal import check
from workbench.process.worker import Progress, never, silent, worker

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Kernels:
    """The calls of a compiled workload. All counts are whole numbers."""

    rows: tuple[Mapping[str, Any], ...] = field(repr=False)
    "one row a call, in execution order"
    target: str
    config: Config
    build_seconds: float
    code: str = field(repr=False)
    "the generated source of the whole library"

    @property
    def calls(self) -> int:
        """Entries of the executor in one run; a reshape that needs no copy is an entry too, see `noops`."""
        return len(self.rows)

    @property
    def noops(self) -> int:
        """Calls that run nothing."""
        return sum(row["noop"] for row in self.rows)

    @property
    def functions(self) -> int:
        """Distinct compiled functions; identical ones are shared."""
        return len({row["function"] for row in self.rows if not row["noop"]})

    @property
    def launches(self) -> int:
        """Calls that run code. On a CPU a call is a launch."""
        return self.calls - self.noops

    @property
    def traffic_bytes(self) -> int:
        """Bytes that the calls read and write, summed over calls."""
        return sum(row["bytes_read"] + row["bytes_written"] for row in self.rows if not row["noop"])

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row a call, in execution order."""
        import pandas as pd

        return pd.DataFrame(list(self.rows))

    def source(self, name: str) -> str:
        """The generated source of one function.

        Raises
        ------
        UnknownName
            No call is of that function.
        """
        known = sorted({row["function"] for row in self.rows if not row["noop"]})
        if name not in known:
            raise UnknownName("kernel", name, known)
        # TVM of today puts `__tvm_ffi_` before an entry point's name and `_compute_` behind the function that does the work
        pattern = rf"^define [^\n]*@(?:__tvm_ffi_)?{re.escape(name)}(?:_compute_)?\(.*?^}}"
        found = re.findall(pattern, self.code, re.MULTILINE | re.DOTALL)
        return "\n\n".join(found) or self.code


def kernels(
    workload: Workload,
    target: str = "llvm",
    opt_level: int = 3,
    disabled: Sequence[str] = (),
    required: Sequence[str] = (),
    config: Mapping[str, Any] | None = None,
    *,
    timeout: float = 600.0,
    progress: Progress = silent,
    cancelled: Callable[[], bool] = never,
) -> Kernels:
    """Build for real, in the child process, and count.

    Parameters
    ----------
    target
        As TVM writes it; plain `llvm` gets this host's `-mcpu`, which `Kernels.target` shows.
    disabled, required
        Pass names for the PassContext.
    config
        PassContext config, `{"relay.FuseOps.max_depth": 4}`.

    Raises
    ------
    MeasureError, WorkerLost
        The build failed, or ended its process.
    """
    how = Config.of({"opt_level": opt_level, "disabled": disabled, "required": required, "options": config or {}})
    check(workload, how)
    result = worker().run(
        "workbench.measure.jobs:kernels",
        workload,
        {"target": target, "config": how.to_data()},
        timeout=timeout,
        progress=progress,
        cancelled=cancelled,
    )
    return from_result(result, how)


def from_result(result: Mapping[str, Any], how: Config) -> Kernels:
    """Kernels from what the child answered."""
    return Kernels(tuple(result["calls"]), result["target"], how, result["build_seconds"], result["source"])
