"""`wb.tune`: the configuration of a space that is best for a workload, with every candidate kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from workbench.dialects.base import Workload
from workbench.errors import WorkbenchError
from workbench.measure.remote.tracker import Tracker
from workbench.targets import TargetLike, target_texts
from workbench.tune.evaluate import Effort
from workbench.tune.log import Log, default_path
from workbench.tune.pace import Limit
from workbench.tune.result import Result
from workbench.tune.run import Run
from workbench.tune.space import Space
from workbench.tune.trial import objectives_of
from workbench.worker.parent import Progress, silent
from workbench.worker.reporting import reported


def tune(
    workload: Workload, space: Space | None = None, targets: TargetLike | Iterable[TargetLike] = ("llvm",), **how: Any
) -> Result:
    """Search a space of configurations for the best one.

    Every candidate's passes are run first, which counts its kernels and hashes its final module: what is refused, what fails,
    what is like a candidate before it, and what is far behind in kernels and bytes is not built.

    Parameters
    ----------
    space, targets, how
        As `prepared` takes them.

    Returns
    -------
    Result
        `best`, `pareto`, `table`, `race`, `apply()`, `code()`. Ctrl-C ends the search and gives what was found.

    Raises
    ------
    WorkbenchError
        An argument is wrong, the log is of something else, or nothing can be measured for a target here.

    Examples
    --------
    >>> found = wb.tune(w, objective="kernels", budget=30)  # doctest: +SKIP
    >>> print(found.best.config.label, found.table["kernels"].min())  # doctest: +SKIP
    """
    with reported(how.pop("progress", None), f"Tuning {workload.name}") as report:
        return prepared(workload, space, targets, **how, progress=report).run()


def prepared(
    workload: Workload,
    space: Space | None = None,
    targets: TargetLike | Iterable[TargetLike] = ("llvm",),
    *,
    budget: float = 60.0,
    trials: int | None = None,
    objective: str | Sequence[str] = "time",
    method: str = "auto",
    seed: int = 0,
    log: str | Path | bool | None = None,
    each: float = 0.5,
    prune: float | None = 1.5,
    check: bool = True,
    race: float = 4.0,
    timeout: float = 600.0,
    memory: int | None = None,
    store: bool = True,
    remote: Tracker | None = None,
    executor: Executor | None = None,
    progress: Progress = silent,
) -> Run:
    """The run that `wb.tune` makes, not begun: `start()` runs it beside the notebook, where it can be paused and stopped.

    Parameters
    ----------
    space
        What may be chosen; by default `Space.of(workload)`: all passes that a PassContext can switch, and FuseOps' depth.
    targets
        As TVM writes them; each gets an equal part of the budget.
    budget
        Seconds for the search; a candidate that is begun is finished, and the checks and races of the best come on top.
    trials
        Candidates for each target, at most, those of the log counted.
    objective
        What is to be small: `time` (median of a run), `kernels`, `bytes` (that kernels hand to kernels), `build` (seconds); or
        several, for a front of candidates that none beats in all.
    method
        `auto`, `exhaustive` or `guided` (workbench/tune/search.py).
    seed
        Of the search and of the inputs. One seed gives one order of candidates where the objective is counted.
    log
        A file to which each candidate is written as it ends, and from which a later run goes on; True for one beside the file
        of measurements; None for none.
    each
        Seconds of timing a candidate.
    prune
        What has so many times the kernels and the traffic of the best is not built; None to build all. It is a guess: many
        small kernels can be faster than few.
    check
        Whether a candidate's outputs must be those of the reference. Where the objective is counted, those that would win are
        built and checked at the end.
    race
        Seconds of the final race of the best against the default, where time is an objective; 0 for none. If the best loses,
        up to two others are raced; if all lose, the default is the best.
    remote
        A tracker: as many candidates are tried at once as it has servers, those too that join meanwhile. A server that goes
        away costs no candidate. What the tracker asks for has the Tracker's priority.
    timeout, memory, store, executor
        As `wb.measure` takes them.
    progress
        Told of each candidate, in words and with the part of the budget that is spent.

    Raises
    ------
    WorkbenchError
        An argument is wrong, or the log is of something else.
    """
    wanted = target_texts(targets)
    if not wanted:
        raise WorkbenchError("targets is empty; give some, such as ['llvm', 'cuda']")
    if budget <= 0 or (trials is not None and trials < 1):
        raise WorkbenchError("a search needs a budget of some seconds and at least one trial")
    if prune is not None and prune < 1:
        raise WorkbenchError(f"prune={prune:g} would leave out what is better than the best; give 1 or more, or None")
    names = objectives_of(objective)
    path = default_path(workload) if log is True else log or None
    opened = None if path is None else Log.opened(path, workload)
    run = Run(
        workload,
        Space.of(workload) if space is None else space,
        wanted,
        names,
        Limit(budget, trials),
        Effort(each, prune, check, timeout, memory, seed, store, remote, executor),
        method=method,
        log=opened,
        race=race,
    )
    run.listen(lambda run: progress(run.doing, run.spent))
    return run
