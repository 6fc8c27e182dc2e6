"""Searching a schedule for one kernel with TVM's MetaSchedule: candidates are built and run in processes of their own."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from workbench.dialects.scheduling import load_intrinsics, schedules_of
from workbench.errors import last_line

BATCH = 16
"candidates that are built, run and kept together: what a run that is killed loses at most"
BUILD_SECONDS, RUN_SECONDS = 60.0, 30.0
"that one candidate may take"
RANDOM = "random"
"MetaSchedule's cost model that knows nothing"
_pools: dict[str, Any] = {}


@dataclass(frozen=True)
class Effort:
    """How much to spend on a kernel, and how."""

    trials: int
    seed: int
    cores: tuple[int, ...]
    "that may be used"
    cost_model: str
    "as MetaSchedule names it, see `best_cost_model`"


@dataclass
class Seen:
    """What came of the candidates so far."""

    trials: int = 0
    best: float | None = None
    "seconds of the fastest"
    failures: Counter[str] = field(default_factory=Counter)
    "reason -> how many candidates failed for it"


def best_cost_model(dialect: str) -> str:
    """What chooses the next candidates: `xgb`, a model trained on those before, where there is an xgboost for it; else `random`.

    Relay's TVM asks xgboost for its module `rabit`, which newer ones lack.
    """
    found = importlib.util.find_spec("xgboost")
    places = [] if found is None else found.submodule_search_locations or []
    usable = any(dialect != "relay" or Path(place, "rabit.py").is_file() for place in places)
    return "xgb" if usable else RANDOM


def search(
    dialect: str, module: Any, name: str, target: str, database: Any, effort: Effort, told: Callable[[Seen], None]
) -> Seen:
    """Try schedules for a module of one kernel; each batch is in the database before the next is begun.

    Parameters
    ----------
    module
        What a build asks a database for (scheduling.asked).
    told
        Called after each batch.
    """
    here = schedules_of(dialect)
    load_intrinsics(here.INTRINSICS)
    ms, seen = here.ms, Seen()
    context = ms.TuneContext(
        mod=module,
        target=here.target_of(target, len(effort.cores)),
        space_generator="post-order-apply",
        # evolution takes half a minute before each batch, which is for nothing where no model tells good from bad
        search_strategy="replay-trace" if effort.cost_model == RANDOM else "evolutionary",
        task_name=name,
        rand_state=effort.seed + 1,
        num_threads=len(effort.cores),
    ).clone()
    callbacks = ms.measure_callback
    with tempfile.TemporaryDirectory() as folder:
        ms.tune.tune_tasks(
            tasks=[context],
            task_weights=[1.0],
            work_dir=folder,
            max_trials_global=effort.trials,
            num_trials_per_iter=min(BATCH, effort.trials),
            builder=_builder(here, dialect, effort.cores),
            runner=_runner(here, effort.cores),
            database=database,
            cost_model=effort.cost_model,
            measure_callbacks=[
                callbacks.AddToDatabase(),
                callbacks.UpdateCostModel(),
                callbacks.RemoveBuildArtifact(),
                _watch(here, seen, told),
            ],
            task_scheduler="round-robin",
        )
    return seen


def _watch(here: Any, seen: Seen, told: Callable[[Seen], None]) -> Any:
    """A callback of MetaSchedule that counts."""

    @here.derived_object
    class Watch(here.ms.measure_callback.PyMeasureCallback):  # type: ignore[misc]
        def apply(self, _scheduler: Any, _task: int, candidates: Any, built: Any, ran: Any) -> None:
            seen.trials += len(candidates)
            for one_built, one_ran in zip(built, ran, strict=True):
                error = one_built.error_msg or one_ran.error_msg
                if error:
                    seen.failures[reason(str(error))] += 1
                else:
                    seconds = [float(value) for value in one_ran.run_secs]
                    mean = sum(seconds) / len(seconds)
                    seen.best = mean if seen.best is None else min(seen.best, mean)
            told(seen)

    return Watch()


def reason(error: str) -> str:
    """Why a candidate failed, short enough to count equal ones together.

    >>> reason("LocalRunner: Timeout, killed after 30 seconds")
    'it ran for more than 30 s'
    >>> reason("did not compile: ValueError: no")
    'did not compile: ValueError: no'
    """
    if "LocalRunner: Timeout" in error:
        return f"it ran for more than {RUN_SECONDS:g} s"
    return last_line(RuntimeError(error))[:160]


def _runner(here: Any, cores: Sequence[int]) -> Any:
    """TVM's runner, with a process that it keeps: one candidate at a time, so that none disturbs another."""
    if "runner" not in _pools:
        timing = here.ms.runner.EvaluatorConfig(number=1, repeat=3, min_repeat_ms=30, enable_cpu_cache_flush=False)
        _pools["runner"] = here.ms.runner.LocalRunner(
            timeout_sec=RUN_SECONDS, evaluator_config=timing, initializer=partial(_free, tuple(cores))
        )
    return _pools["runner"]


def _builder(here: Any, dialect: str, cores: Sequence[int]) -> Any:
    """A builder whose processes are kept: TVM's own starts new ones for each batch."""
    if "builder" not in _pools:
        _pools["builder"] = here.PopenPoolExecutor(
            max_workers=len(cores),
            timeout=BUILD_SECONDS,
            initializer=partial(_free, tuple(cores)),
            # they do not give back all of their memory
            maximum_process_uses=4 * BATCH,
        )
    pool, ms = _pools["builder"], here.ms

    @here.derived_object
    class Builder(ms.builder.PyBuilder):  # type: ignore[misc]
        def build(self, inputs: Any) -> list[Any]:
            orders = [(dialect, each.mod, each.target) for each in inputs]
            return [self._result(each) for each in pool.map_with_error_catching(_built, orders)]

        def _result(self, found: Any) -> Any:
            if found.status == here.StatusKind.COMPLETE:
                return ms.builder.BuilderResult(found.value, None)
            if found.status == here.StatusKind.TIMEOUT:
                return ms.builder.BuilderResult(None, f"it compiled for more than {BUILD_SECONDS:g} s")
            return ms.builder.BuilderResult(None, f"did not compile: {last_line(found.value)}")

    return Builder()


def _built(order: tuple[str, Any, Any]) -> str:
    """In a process of the builder: a candidate compiled, and where its library is."""
    dialect, module, target = order
    here = schedules_of(dialect)
    load_intrinsics(here.INTRINSICS)
    path = Path(tempfile.mkdtemp(prefix="tvm-workbench-candidate-")) / f"candidate.{here.tar.output_format}"
    here.library(module, target).export_library(str(path), fcompile=here.tar)
    return str(path)


def _free(cores: tuple[int, ...]) -> None:
    """Let a process that was started by one that TVM tied to a core use them all again."""
    if cores:
        os.sched_setaffinity(0, cores)
