"""The program of the child processes, `python -m workbench.jobs`, which the notebook starts; and the table of their jobs.

A job is called as `function(workload, progress=..., **arguments)` and returns JSON's types.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec

from workbench.worker import fork_server


@cache
def jobs() -> Mapping[str, Callable[..., object]]:
    """Return the function of each name that the notebook sends."""
    # imported by the first job, because TVM takes seconds to import
    from workbench.jobs import build, kernel_errors, load, passes, remote, run_build, schedules

    table = {
        build: "build kernels code export resolve_target count look write_final memory",
        run_build: "run race reference cuda check chains side prepare turn kernel_times onnx_outputs outputs",
        remote: "run_elsewhere race_on_device",
        kernel_errors: "kernel_errors",
        passes: "trace_build state apply effect match_relay values after",
        load: "program model check_relay source sample saved translated",
        schedules: "tasks step lookups fallbacks rules",
    }
    # schedules on TIR, and what a check of them needs
    if find_spec("tvm.s_tir"):
        table[importlib.import_module("workbench.jobs.schedule_steps")] = (
            "scheduled_kernels schedule_steps schedule_code run_schedule"
        )
    if find_spec("tvm.sym"):
        table[importlib.import_module("workbench.jobs.schedule_checks")] = "check_schedule"
    return {name: getattr(module, name) for module, names in table.items() for name in names.split()}


def find_job(name: str) -> Callable[..., object]:
    """Return the function of a job. A name with a colon, `module:function`, is a job of the tests."""
    if ":" in name:
        module, _, function = name.partition(":")
        return getattr(importlib.import_module(module), function)
    return jobs()[name]


def prepare() -> None:
    """Import TVM and the jobs, in the process that the child processes are forked from."""
    from workbench.jobs.load import warm_up

    jobs()
    warm_up()


def serve(pipe: int) -> None:
    """Run the child process; its supervisor calls this in a fork."""
    from workbench.worker import child

    child.serve(pipe, find_job)


if __name__ == "__main__":
    fork_server.main(prepare, serve)
