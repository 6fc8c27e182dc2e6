"""`wb.measure`: configurations built and timed on this machine, one row each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.dialects.base import Workload
from workbench.errors import WorkbenchError
from workbench.measure.kernels import from_result
from workbench.measure.sampling import quartiles
from workbench.pipeline.config import Config
from workbench.pipeline.legal import check
from workbench.pipeline.run import Runner
from workbench.pipeline.spec import Pipeline
from workbench.process.host import cores, cpu_model
from workbench.process.worker import Progress, never, silent, worker

if TYPE_CHECKING:
    import pandas as pd

DEFAULT = tuple(range(4))
"opt levels 0 to 3"


def measure(
    workload: Workload,
    configs: Iterable[Any] = DEFAULT,
    targets: Sequence[str] = ("llvm",),
    *,
    budget: float = 1.0,
    timeout: float = 600.0,
    seed: int = 0,
    progress: Progress = silent,
) -> pd.DataFrame:
    """Build and time each configuration for each target.

    Parameters
    ----------
    configs
        Opt levels, pipelines or their text, dicts of Config's fields, or Configs.
    budget
        Seconds of timing a row, after the warm-up.

    Returns
    -------
    pandas.DataFrame
        One row a (config, target): counts, `median_us`, `q1_us`, `q3_us`, the raw `samples` in seconds, and what they
        depend on. A configuration that fails is a row with status `failed` and the reason.
    """
    import pandas as pd

    runner = Runner(workload)
    chosen = [Config.of(config) for config in configs]
    rows = [
        _measured(runner, config, target, {"budget": budget, "timeout": timeout, "seed": seed, "progress": progress})
        for config in chosen
        for target in targets
    ]
    return pd.DataFrame(rows)


def _measured(runner: Runner, config: Config, target: str, how: dict[str, Any]) -> dict[str, Any]:
    try:
        workload = _compiled(runner, config)
    except WorkbenchError as error:
        return failed_row(config, target, str(error))
    return measure_one(workload, config, target, **how)


def _compiled(runner: Runner, config: Config) -> Workload:
    """What to compile: the workload itself, or what the configuration's pipeline makes of it."""
    if not config.pipeline:
        return runner.workload
    trace = runner.run(Pipeline.parse(config.pipeline), config.opt_level)
    if trace.failed is not None:
        raise WorkbenchError(f"{trace.failed.name} failed: {trace.failed.error}")
    return runner.workload_of(trace.end)


def failed_row(config: Config, target: str, message: str) -> dict[str, Any]:
    """The row of a configuration that gave no numbers."""
    return {"config": config.label, "target": target, "status": "failed", "message": message}


def measure_one(
    workload: Workload,
    config: Config,
    target: str,
    *,
    budget: float = 1.0,
    timeout: float = 600.0,
    seed: int = 0,
    progress: Progress = silent,
    cancelled: Callable[[], bool] = never,
) -> dict[str, Any]:
    """One row for `workload`, compiled as `config` says; for a configuration with a pipeline, what the pipeline made.

    Failures are rows too: nothing but a programming error is raised.
    """
    how = config.context()
    try:
        check(workload, config)
        result = worker().run(
            "workbench.measure.jobs:timing",
            workload,
            {"target": target, "config": how.to_data(), "budget": budget, "seed": seed},
            timeout=timeout,
            progress=progress,
            cancelled=cancelled,
        )
    except WorkbenchError as error:
        return failed_row(config, target, str(error))
    return {"config": config.label, "target": target, "status": "ok", "message": "", **_numbers(result, how)}


def _numbers(result: Mapping[str, Any], config: Config) -> dict[str, Any]:
    counted = from_result(result, config)
    low, middle, high = quartiles(result["samples"])
    return {
        "target": result["target"],
        "kernels": counted.calls,
        "functions": counted.functions,
        "launches": counted.launches,
        "traffic_bytes": counted.traffic_bytes,
        "median_us": middle * 1e6,
        "q1_us": low * 1e6,
        "q3_us": high * 1e6,
        "samples": result["samples"],
        "number": result["number"],
        "settled": result["settled"],
        "method": result["method"],
        "build_seconds": result["build_seconds"],
        "tvm": result["tvm"],
        "cpu": cpu_model(),
        "cores": cores(),
        "threads": result["threads"],
    }
