"""Jobs of `wb.tune_schedules`: list the kernels that a build looks up, and try one candidate for a kernel; of `wb.lint`: records in use.

A job is one candidate, so a search can be paused between two, and each is reported when it ends.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.compiler.tuning import FAILED_SECONDS, Effort, Tried, build_and_record, key_of, opened, search
from workbench.dialects.scheduling import require_database
from workbench.experiments.schedules.database import locked, mend, note_done, trials_done
from workbench.jobs.build import compiler_of, counted, program_of, resolved_target
from workbench.pipeline.config import Config
from workbench.worker.child import Progress

_modules: weakref.WeakKeyDictionary[Workload, dict[tuple[str, str], dict[str, object]]] = weakref.WeakKeyDictionary()
"workload -> (target, configuration) -> function -> the module to schedule for it"


def tasks(
    workload: Workload, *, target: str, config: Mapping[str, object], folder: str, progress: Progress
) -> dict[str, object]:
    """Return the kernels that the build looks up in the database, with the records of each.

    `tasks` is a list of `function`, `key`, `trials` so far, and `best_us` of those that ran (None if none did).
    """
    close()
    chosen, target = Config.of(config), resolved_target(target)
    program = program_of(workload, chosen, progress)
    progress("Looking for kernels")
    with locked(Path(folder)):
        mend(Path(folder))
        built, modules = build_and_record(program, target, chosen.context().to_data(), folder)
        records = _records(opened(folder))
    _modules.setdefault(workload, {})[target, repr(config)] = modules
    found = []
    for name, module in modules.items():
        key = key_of(module)
        known = records.get(key, _Records())
        best = None if known.best is None else 1e6 * known.best
        trials = max(known.trials, trials_done(Path(folder), key))
        found.append({"function": name, "key": key, "trials": trials, "best_us": best})
    return {"target": target, "tasks": found, **counted(built, workload)}


def lookups(workload: Workload, *, target: str, config: Mapping[str, object], progress: Progress) -> dict[str, object]:
    """Return the kernels that a build looks up in the database of its Config, and the records of the database.

    `kernels`: `function`, `key`, `nodes` of `graph`, `calls` in one run. `records`: key -> `best` and `plain`, seconds of one call of the
    best candidate and of the kernel without a schedule, None without one that ran. Raises MeasureError: the folder has no database.
    """
    chosen, target = Config.of(config), resolved_target(target)
    require_database(chosen.schedules)
    program = program_of(workload, chosen, progress)
    progress("Compiling")
    built, modules = build_and_record(program, target, chosen.context().to_data(), chosen.schedules)
    found = counted(built, program)
    records = {key: asdict(each) for key, each in _records(opened(chosen.schedules)).items()}
    called: dict[str, list[dict[str, Any]]] = {}
    for row in found["calls"]:
        called.setdefault(str(row["function"]), []).append(row)
    kernels = [
        {
            "function": name,
            "key": key_of(module),
            "nodes": sorted({node for row in called[name] for node in row["nodes"]}),
            "calls": len(called[name]),
        }
        for name, module in modules.items()
    ]
    return {"kernels": kernels, "graph": found["graph"], "records": records}


def fallbacks(
    workload: Workload, *, target: str, config: Mapping[str, object], log: Sequence[str], progress: Progress
) -> dict[str, object]:
    """Return the kernels that a build compiles with a fallback, and the records of a log that it does not use."""
    chosen, target = Config.of(config), resolved_target(target)
    program = program_of(workload, chosen, progress)
    progress("Looking for kernels")
    found = compiler_of(workload).fallbacks(program, target, chosen.context().to_data(), log)
    rows = {"kernels": [asdict(each) for each in found.kernels], "unused": [asdict(each) for each in found.unused]}
    return {"graph": found.graph.to_data(), **rows}


def rules(
    workload: Workload, *, target: str, config: Mapping[str, object], rules: Sequence[object], progress: Progress
) -> dict[str, object]:
    """Return the kernels of a build with the rules that were tried for their schedules, and their graph."""
    target = resolved_target(target)
    progress("Trying rules")
    graph, kernels = compiler_of(workload).schedules(workload, target, config, rules)
    return {"target": target, "graph": graph.to_data(), "kernels": [asdict(each) for each in kernels]}


@dataclass
class _Records:
    """The records of a kernel."""

    trials: int = 0
    best: float | None = None
    "seconds of one call of the best candidate; None without one that ran"
    plain: float | None = None
    "seconds of the kernel without a schedule"


def _records(database: Any) -> dict[str, _Records]:
    found: dict[str, _Records] = {}
    for record in database.get_all_tuning_records():
        kernel = found.setdefault(key_of(record.workload.mod), _Records())
        kernel.trials += 1
        ran = [float(value) for value in record.run_secs or ()]
        seconds = sum(ran) / len(ran) if ran else FAILED_SECONDS
        if seconds < FAILED_SECONDS:
            kernel.best = seconds if kernel.best is None else min(kernel.best, seconds)
            # a search tries the kernel without a schedule as one of a single step
            kernel.plain = seconds if len(record.trace.insts) == 1 else kernel.plain
    return found


@dataclass(frozen=True)
class StepRequest:
    """One candidate to try for a kernel."""

    target: str
    "as `tasks` returned it"
    config: Mapping[str, object]
    folder: str
    function: str
    trials: int
    "candidates to try"
    upto: int
    "the total, with earlier candidates"
    seed: int
    cores: Sequence[int]
    cost_model: str


def step(workload: Workload, *, progress: Progress, **asked: Any) -> dict[str, object]:
    """Try the next candidate for one kernel (a StepRequest); it is in the database when this returns.

    `tried` is None when the search is over; its `us` is None if the candidate failed, and `plain` means the kernel without a schedule.
    """
    global _open
    request = StepRequest(**asked)
    key = (request.folder, request.function, request.upto)
    if _open is None or _open.key != key:
        close()
        module = _module(workload, request, progress)
        effort = Effort(request.trials, request.seed, tuple(request.cores), request.cost_model)
        _open = _Open(key, key_of(module), progress)
        _open.lock.enter_context(locked(Path(request.folder)))
        database = opened(request.folder)
        _open.search = search(module, request.function, request.target, database, effort, _open.told)
    _open.progress = progress
    try:
        tried = next(_open.search, None)
    except BaseException:
        close()
        raise
    if tried is None:
        note_done(Path(request.folder), _open.hashed, request.upto)
        close()
        return {"tried": None}
    us = None if tried.seconds is None else 1e6 * tried.seconds
    return {"tried": {"us": us, "reason": tried.reason, "plain": tried.plain}}


def close() -> None:
    """End the open search, and let other processes write to its database."""
    global _open
    ended, _open = _open, None
    if ended is not None:
        ended.lock.close()


class _Open:
    """The search of the last step."""

    def __init__(self, key: tuple[str, str, int], hashed: str, progress: Progress) -> None:
        self.key, self.hashed, self.progress, self.lock = key, hashed, progress, ExitStack()
        self.search: Iterator[Tried] = iter(())

    def told(self, what: str) -> None:
        self.progress(f"{self.key[1]}: {what}")


_open: _Open | None = None


def _module(workload: Workload, request: StepRequest, progress: Progress) -> object:
    place = request.target, repr(request.config)
    if place not in _modules.get(workload, {}):
        # this is a new process, because the one before has ended
        tasks(workload, target=request.target, config=request.config, folder=request.folder, progress=progress)
    return _modules[workload][place][request.function]
