"""In the child: workloads compiled, the newest ones kept, so that counting, timing and racing one compile it once."""

from __future__ import annotations

import json
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.cuda_code import for_elsewhere
from workbench.dialects.facets import Built
from workbench.dialects.scheduling import RECORDS
from workbench.errors import MeasureError
from workbench.pipeline.config import Config
from workbench.pipeline.run import Runner
from workbench.pipeline.spec import Pipeline
from workbench.process.backend import compiler_of, resolved_target

KEPT = 2
"builds kept: the two of a race; each may hold a copy of the parameters"
_builds: OrderedDict[tuple[Any, ...], Kept] = OrderedDict()
_runners: weakref.WeakKeyDictionary[Workload, Runner] = weakref.WeakKeyDictionary()


@dataclass(frozen=True)
class Kept:
    """A build, and what it was made of."""

    workload: Workload
    "as it was given; held, so that its identity stands for it"
    target: str
    "as really built"
    built: Built
    seconds: float
    "that compiling took"


def compiled(workload: Workload, target: str, config: Mapping[str, Any], progress: Callable[..., None]) -> Kept:
    """The workload compiled as a configuration says, now or a moment ago.

    Parameters
    ----------
    config
        A Config's data. Its pipeline, if it has one, is run first, here, and what it makes is compiled as it stands.
    """
    target = resolved_target(workload, target)
    key = (id(workload), target, json.dumps(dict(config), sort_keys=True), for_elsewhere(), _tuned(config))
    if key not in _builds:
        chosen = Config.of(dict(config))
        program = program_of(workload, chosen, progress)
        progress("Compiling")
        # room first: two builds of a large model beside a third may be more than there is
        while len(_builds) >= KEPT:
            _builds.popitem(last=False)
        started = time.perf_counter()
        built = compiler_of(workload).compiled(program, target, chosen.context().to_data())
        _builds[key] = Kept(workload, target, built, time.perf_counter() - started)
    _builds.move_to_end(key)
    return _builds[key]


def _tuned(config: Mapping[str, Any]) -> int:
    """How much was written to the database of schedules: with more in it, the same configuration makes another build."""
    folder = config.get("schedules")
    records = Path(folder, RECORDS) if folder else None
    return records.stat().st_size if records is not None and records.is_file() else 0


def program_of(workload: Workload, config: Config, progress: Callable[..., None]) -> Workload:
    """What to compile: the workload itself, or what the configuration's pipeline makes of it."""
    if not config.pipeline:
        return workload
    progress("Running passes")
    if workload not in _runners:
        _runners[workload] = Runner(workload)
    runner = _runners[workload]
    trace = runner.run(Pipeline.parse(config.pipeline), config.opt_level)
    if trace.failed is not None:
        raise MeasureError(f"{trace.failed.name} failed: {trace.failed.error}")
    return runner.workload_of(trace.end)
