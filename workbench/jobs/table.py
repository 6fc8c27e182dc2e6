"""The table of jobs: the name that the notebook sends, and the function that the child calls.

A job is called as `function(workload, progress=..., **arguments)` and returns JSON's types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from workbench.jobs import build, calls, kernel_errors, load, passes, remote, run_build, schedules, trace, turns

JOBS: Mapping[str, Callable[..., object]] = {
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
    "chains": calls.chains,
    # wb.kernel_errors
    "kernel_errors": kernel_errors.kernel_errors,
    # wb.trace_build, wb.trace(isolated=True), wb.explore, wb.match, Trace.check
    "trace_build": trace.trace_build,
    "state": trace.state,
    "apply": passes.apply,
    "effect": passes.effect,
    "match_relay": passes.match_relay,
    "values": trace.values,
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
    "side": turns.side,
    "prepare": turns.prepare,
    "turn": turns.turn,
    "kernel_times": run_build.kernel_times,
    "onnx_outputs": turns.onnx_outputs,
    "source": load.source,
    "sample": load.sample,
    "saved": load.saved,
    "translated": load.translated,
    # wb.lint
    "lookups": schedules.lookups,
    "fallbacks": schedules.fallbacks,
}
