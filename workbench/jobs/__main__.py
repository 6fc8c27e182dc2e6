"""The program of a child process: `python -m workbench.jobs PID`, with the process id of the notebook; and the table of its jobs.

A job is called as `function(workload, progress=..., **arguments)` and returns JSON's types.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import cache

from workbench.worker import supervisor


@cache
def jobs() -> Mapping[str, Callable[..., object]]:
    """Return the function of each name that the notebook sends."""
    # imported by the first job, because TVM takes seconds to import
    from workbench.jobs import build, kernel_errors, load, passes, remote, run_build, schedules

    return {
        # wb.measure, wb.kernels
        "build": build.build,
        "kernels": build.kernels,
        "code": build.code,
        "export": build.export,
        "resolve_target": build.resolve_target,
        # wb.count, wb.tune
        "count": build.count,
        "look": build.look,
        "write_final": build.write_final,
        # wb.memory
        "memory": build.memory,
        # wb.measure, wb.race
        "run": run_build.run,
        "race": run_build.race,
        "reference": run_build.reference,
        "cuda": run_build.cuda,
        "run_elsewhere": remote.run,
        "race_on_device": remote.race,
        # wb.bisect, wb.reduce
        "check": run_build.check,
        # wb.boundary_costs
        "chains": run_build.chains,
        # wb.kernel_errors
        "kernel_errors": kernel_errors.kernel_errors,
        # wb.trace_build, wb.trace(isolated=True), wb.explore, wb.match, Trace.check
        "trace_build": passes.trace_build,
        "state": passes.state,
        "apply": passes.apply,
        "effect": passes.effect,
        "match_relay": passes.match_relay,
        "values": passes.values,
        # Graph.ask_after
        "after": passes.after,
        # wb.load
        "start": load.start,
        "program": load.program,
        "model": load.model,
        "check_relay": load.check_relay,
        # wb.tune_schedules
        "tasks": schedules.tasks,
        "step": schedules.step,
        # wb.compare_compilers
        "side": run_build.side,
        "prepare": run_build.prepare,
        "turn": run_build.turn,
        "kernel_times": run_build.kernel_times,
        "onnx_outputs": run_build.onnx_outputs,
        "source": load.source,
        "sample": load.sample,
        "saved": load.saved,
        "translated": load.translated,
        # wb.lint
        "lookups": schedules.lookups,
        "fallbacks": schedules.fallbacks,
    }


def find_job(name: str) -> Callable[..., object]:
    """Return the function of a job. A name with a colon, `module:function`, is a job of the tests."""
    if ":" in name:
        module, _, function = name.partition(":")
        return getattr(importlib.import_module(module), function)
    return jobs()[name]


def serve() -> None:
    """Run the child process; the supervisor calls this in its fork."""
    from workbench.worker import child

    child.serve(find_job)


if __name__ == "__main__":
    supervisor.main(serve)
