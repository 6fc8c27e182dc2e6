"""In the child `tuning`: which kernels a build would look up, and a search for one of them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.schedule_search import Effort, Seen, search
from workbench.dialects.scheduling import asked, opened, schedules_of
from workbench.measure.kernels.counting import counted
from workbench.process.backend import resolved_target
from workbench.tune.schedules.place import done, locked, mend, note_done

Progress = Callable[..., None]
_modules: weakref.WeakKeyDictionary[Workload, dict[tuple[str, str], dict[str, Any]]] = weakref.WeakKeyDictionary()
"workload -> (target, configuration) -> function -> the module to schedule for it"


def tasks(
    workload: Workload, *, target: str, config: Mapping[str, Any], folder: str, progress: Progress
) -> dict[str, Any]:
    """The kernels of the build that the database is for, and what is known of each.

    Returns
    -------
    dict
        `target` as really built; `calls` and `graph` as counting.counted gives them; `tasks`, a list of `function`, `key`,
        `trials` that were made before, `best_us` of those that ran (None if none did).
    """
    target = resolved_target(workload, target)
    progress("Looking for kernels")
    with locked(Path(folder)):
        mend(Path(folder))
        built, modules = asked(workload, target, config, folder)
        here = schedules_of(workload.dialect)
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


def _records(here: Any, database: Any, modules: Mapping[str, Any]) -> dict[str, tuple[int, float | None]]:
    """Function -> how many candidates were tried, and the best one's microseconds."""
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


def tune(
    workload: Workload,
    *,
    target: str,
    config: Mapping[str, Any],
    folder: str,
    function: str,
    trials: int,
    upto: int,
    seed: int,
    cores: list[int],
    cost_model: str,
    progress: Progress,
) -> dict[str, Any]:
    """Search a schedule for one kernel, and keep what is found in the database.

    Parameters
    ----------
    target
        As `tasks` gave it.
    trials, upto
        Candidates to try now; how many that makes with those of before.

    Returns
    -------
    dict
        `trials` made, `best_us` of them, `failures` by reason.
    """
    known = _modules.get(workload, {})
    if (target, repr(config)) not in known:
        # a new process, because the one before was ended
        tasks(workload, target=target, config=config, folder=folder, progress=progress)
    module = _modules[workload][target, repr(config)][function]
    here = schedules_of(workload.dialect)

    def told(seen: Seen) -> None:
        best = "" if seen.best is None else f", best {1e6 * seen.best:.3g} us"
        progress(f"{function}: {seen.trials} of {trials} trials{best}", seen.trials / trials)

    told(Seen())
    with locked(Path(folder)):
        effort = Effort(trials, seed, tuple(cores), cost_model)
        seen = search(workload.dialect, module, function, target, opened(here, folder), effort, told)
        note_done(Path(folder), here.key_of(module), upto)
    best = None if seen.best is None else 1e6 * seen.best
    return {"trials": seen.trials, "best_us": best, "failures": dict(seen.failures)}
