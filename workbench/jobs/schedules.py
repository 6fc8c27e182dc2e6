"""Jobs of `wb.tune_schedules`: list the kernels that a build looks up, and try one candidate for a kernel.

A job is one candidate, so a search can be paused between two, and each is reported when it ends.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.facets import Tuning
from workbench.dialects.kernel_search import Effort, Tried, search
from workbench.dialects.registry import dialect
from workbench.dialects.scheduling import asked, opened
from workbench.jobs.build import counted, resolved_target
from workbench.tuning.schedules.database import done, locked, mend, note_done
from workbench.worker.child import Progress

_modules: weakref.WeakKeyDictionary[Workload, dict[tuple[str, str], dict[str, object]]] = weakref.WeakKeyDictionary()
"workload -> (target, configuration) -> function -> the module to schedule for it"


def tasks(
    workload: Workload, *, target: str, config: Mapping[str, object], folder: str, progress: Progress
) -> dict[str, object]:
    """Return the kernels that the build looks up in the database, with the records of each.

    Returns
    -------
    dict
        `target` in full; `calls` and `graph` as counting.counted gives them; `tasks`, a list of `function`, `key`,
        `trials` so far, `best_us` of those that ran (None if none did).
    """
    close()
    target = resolved_target(workload, target)
    progress("Looking for kernels")
    with locked(Path(folder)):
        mend(Path(folder))
        built, modules = asked(workload, target, config, folder)
        here = dialect(workload.dialect).tuning
        records = _records(here, opened(here, folder), modules)
    _modules.setdefault(workload, {})[target, repr(config)] = modules
    found = [
        {
            "function": name,
            "key": here.key_of(module),
            "trials": max(records[name][0], done(Path(folder), here.key_of(module))),
            "best_us": records[name][1],
        }
        for name, module in modules.items()
    ]
    return {"target": target, "tasks": found, **counted(built, workload)}


def _records(here: Tuning, database: Any, modules: Mapping[str, object]) -> dict[str, tuple[int, float | None]]:
    """Return for each function the number of tried candidates and the best one's microseconds."""
    tried: dict[str, int] = {}
    for record in database.get_all_tuning_records():
        key = here.key_of(record.workload.mod)
        tried[key] = tried.get(key, 0) + 1
    found: dict[str, tuple[int, float | None]] = {}
    for name, module in modules.items():
        number = tried.get(here.key_of(module), 0)
        best = database.get_top_k(database.commit_workload(module), 1) if number else []
        seconds = [float(value) for value in best[0].run_secs] if best else []
        found[name] = number, 1e6 * sum(seconds) / len(seconds) if seconds else None
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

    Returns
    -------
    dict
        `tried`: its `us`, None if it failed; `reason`; `plain`, whether it is the kernel without a schedule. None when
        the search is over.
    """
    global _open
    request = StepRequest(**asked)
    key = (request.folder, request.function, request.upto)
    if _open is None or _open.key != key:
        close()
        module = _module(workload, request, progress)
        here = dialect(workload.dialect).tuning
        effort = Effort(request.trials, request.seed, tuple(request.cores), request.cost_model)
        _open = _Open(key, here.key_of(module), progress)
        _open.lock.enter_context(locked(Path(request.folder)))
        database = opened(here, request.folder)
        _open.search = search(workload.dialect, module, request.function, request.target, database, effort, _open.told)
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
    """Return the module to schedule for a function."""
    place = request.target, repr(request.config)
    if place not in _modules.get(workload, {}):
        # this is a new process, because the one before has ended
        tasks(workload, target=request.target, config=request.config, folder=request.folder, progress=progress)
    return _modules[workload][place][request.function]
