"""MetaSchedule, wherever this TVM has its parts: builds with a database of schedules, and the search for one kernel.

A search builds and runs its candidates in processes of their own.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import tvm

from workbench.dialects import registry
from workbench.dialects.base import Workload
from workbench.dialects.compiler.tvm_target import tuning_target
from workbench.dialects.scheduling import RANDOM, RECORDS, RUN_SECONDS, WORKLOADS, reason, require_database
from workbench.dialects.trust import ask
from workbench.errors import MeasureError, reason_of
from workbench.wording import counted

if TYPE_CHECKING:
    from workbench.dialects.compiler.built import Built

_OF_RELAY = importlib.util.find_spec("tvm.s_tir") is None


def _part(now: str, before: str) -> Any:
    """Return a module of TVM: Relax's has the parts of MetaSchedule in other places than Relay's.

    None in a TVM from before MetaSchedule, whose builds need none without a database.
    """
    try:
        return importlib.import_module(before if _OF_RELAY else now)
    except ModuleNotFoundError:
        return None


INTRINSICS = "tvm.tir.tensor_intrin" if _OF_RELAY else "tvm.s_tir.tensor_intrin"
"the module that registers the tensor intrinsics that schedules may name"
ms = _part("tvm.s_tir.meta_schedule", "tvm.meta_schedule")
pool = _part("tvm.support.popen_pool", "tvm.contrib.popen_pool")
tar = _part("tvm.support.tar", "tvm.contrib.tar").tar
tir = _part("tvm.s_tir", "tvm.tir")
_utilities = _part("tvm.ir.utils", "tvm.meta_schedule.utils")


def key_of(module: Any) -> str:
    """Return a hash of a module that is the same in every process."""
    hash = tvm.ir.structural_hash if _OF_RELAY else importlib.import_module("tvm_ffi").structural_hash
    return f"{hash(module) & (2**64 - 1):016x}"


def unscheduled(module: Any) -> Any:
    """Return the module with a schedule of one step that changes nothing; a database finds none without steps."""
    schedule = tir.Schedule(module)
    (schedule.get_block if _OF_RELAY else schedule.get_sblock)("root")
    return schedule


def library(module: Any, target: Any) -> Any:
    """Compile a candidate; TVM's own function for it may import every machine's tensor intrinsics first."""
    keeps = {"skip_ndarray_rewrite" if _OF_RELAY else "skip_tensor_rewrite": True}
    module = tir.transform.RemoveWeightLayoutRewriteBlock(**keeps)(module)
    return (tvm.build if _OF_RELAY else tvm.driver.build)(module, target=target)


@contextmanager
def scheduled(config: Mapping[str, Any], *, empty: bool = False) -> Iterator[None]:
    """Enter the database that a Config's data names; do nothing if it names none.

    A database already in scope stays: it belongs to a caller that records the lookups.

    `empty`: whether to use an empty database instead, for a caller that needs the kernels and not their code. TVM
    changes the layout of the weights of a scheduled kernel, and cannot infer the types of such a module. Raises
    MeasureError: the folder has no database.
    """
    folder = str(config.get("schedules") or "")
    if not folder:
        yield
        return
    if ms is None:
        raise MeasureError("this TVM has no MetaSchedule, so it takes no schedules; build without them")
    if ms.database.Database.current() is not None:
        yield
        return
    require_database(folder)
    if not empty:
        load_intrinsics()
    with ms.database.MemoryDatabase() if empty else opened(folder):
        yield


def load_intrinsics() -> None:
    """Register the tensor intrinsics that a schedule for this machine may name. In a child process only.

    TVM imports those of every machine, which takes 18 s, 15 of them for GPUs. Without a GPU only the CPU's are
    imported.
    """
    if INTRINSICS in sys.modules or tvm.cuda(0).exist or tvm.rocm(0).exist:
        return
    found = importlib.util.find_spec(INTRINSICS)
    if found is None or found.submodule_search_locations is None:
        return
    made = ModuleType(INTRINSICS)
    made.__path__ = list(found.submodule_search_locations)
    made.__spec__ = found
    sys.modules[INTRINSICS] = made
    parent, _, name = INTRINSICS.rpartition(".")
    setattr(importlib.import_module(parent), name, made)
    arm = platform.machine().lower() in ("aarch64", "arm64")
    importlib.import_module(f"{INTRINSICS}.{'arm_cpu' if arm else 'x86'}")


def opened(folder: str | Path) -> Any:
    """Return TVM's database in a folder; missing files are created."""
    return ms.database.JSONDatabase(str(Path(folder) / WORKLOADS), str(Path(folder) / RECORDS))


def build_and_record(
    workload: Workload, target: str, config: Mapping[str, Any], folder: str
) -> tuple[Built, dict[str, Any]]:
    """Build with the database in a folder, and record the modules that are looked up in it.

    Returns
    -------
    Built
        Built with the available schedules.
    dict
        Name of a compiled function -> the module to schedule for it.
    """
    load_intrinsics()
    database = opened(folder)
    found: dict[str, Any] = {}
    with noting(database, found):
        built = registry.dialect(workload.dialect).compiler.compiled(workload, target, {**config, "schedules": folder})
    called = {row["function"] for row in built.calls() if not row["noop"]}
    return built, {name: module for name, module in found.items() if name in called}


def noting(database: Any, found: dict[str, Any]) -> Any:
    """Return a database that forwards lookups to another, and records the modules by name."""

    class Noting(ms.database.PyDatabase):  # type: ignore[misc]
        def query_tuning_record(self, mod: Any, target: Any, workload_name: str) -> Any:
            found[str(workload_name)] = mod
            return database.query_tuning_record(mod, target, workload_name)

        def __len__(self) -> int:
            return len(database)

    for name in (
        "query_schedule",
        "query_ir_module",
        "has_workload",
        "commit_workload",
        "get_top_k",
        "get_all_tuning_records",
    ):
        setattr(Noting, name, lambda _, *given, name=name: getattr(database, name)(*given))
    return _utilities.derived_object(Noting)()


BATCH = 16
"candidates that are chosen and compiled together; each is kept as soon as it has run"
STALE = 3
"batches in which all candidates were tried before, after which the search ends"
ENDLESS = 1 << 20
"candidates that MetaSchedule may propose"
FAILED_SECONDS = 1e10
"the time that TVM writes for a candidate that failed"
BUILD_SECONDS = 60.0
"time limit of the compilation of one candidate"
_pools: dict[str, Any] = {}


@dataclass(frozen=True)
class Effort:
    """The effort for one kernel."""

    trials: int
    seed: int
    cores: tuple[int, ...]
    "cores that may be used"
    cost_model: str
    "by MetaSchedule's name, see `best_cost_model`"


@dataclass(frozen=True)
class Tried:
    """The result of one candidate."""

    seconds: float | None
    "of one call; None if it failed"
    reason: str = ""
    "the cause of the failure"
    plain: bool = False
    "whether it is the kernel without any schedule"


def search(
    module: Any, name: str, target: str, database: Any, effort: Effort, report_step: Callable[[str], None]
) -> Iterator[Tried]:
    """Try schedules for a module of one kernel; each is in the database before it is yielded, and none is tried twice.

    For a CPU the first is the kernel without a schedule. MetaSchedule tries none like that: it splits the smallest loop
    among threads, which takes longer than to run it.

    `module`: the module that a build looks up in a database (`build_and_record`). `report_step`: called with the
    current step if it takes seconds.
    """
    ask()
    load_intrinsics()
    bench = Bench(module, tuning_target(target, len(effort.cores)), database, effort.cores)
    plain, left = bench.plain(), effort.trials
    if plain is not None and bench.new([plain]):
        yield bench.run(plain, bench.build([plain])[0], plain=True)[0]
        left -= 1
    if left < 1:
        return
    report_step("finding out which schedules it may have")
    context = ms.TuneContext(
        mod=module,
        target=bench.target,
        space_generator="post-order-apply",
        # evolution takes half a minute before each batch, which is wasted without a model
        search_strategy="replay-trace" if effort.cost_model == RANDOM else "evolutionary",
        task_name=name,
        rand_state=effort.seed + 1,
        num_threads=len(effort.cores),
    ).clone()
    knows = {} if effort.cost_model == RANDOM else {"num_tuning_cores": len(effort.cores)}
    model = ms.cost_model.CostModel.create(effort.cost_model, **knows)
    # MetaSchedule counts all that it proposes, of which some was tried before
    context.pre_tuning(ENDLESS, BATCH, database=database, cost_model=model)
    stale = 0
    while left and stale < STALE and (given := context.generate_measure_candidates()):
        chosen = bench.new(given)[:left]
        left -= len(chosen)
        stale = 0 if chosen else stale + 1
        report_step(f"compiling {counted(len(chosen), 'candidate')}")
        ran = []
        for candidate, built in zip(chosen, bench.build(chosen), strict=True):
            tried, result = bench.run(candidate, built)
            ran.append(result)
            yield tried
        context.notify_runner_results(chosen, ran)
        report_step("choosing candidates")
        model.update(context, chosen, ran)
    context.post_tuning()


class Bench:
    """Builds, runs and records candidates of one kernel."""

    def __init__(self, module: Any, target: Any, database: Any, cores: tuple[int, ...]) -> None:
        self.target = target
        self._module, self._database = module, database
        self._workload = database.commit_workload(module)
        self._cores = cores
        key = key_of(module)
        records = database.get_all_tuning_records()
        self._seen = {_text(each.trace) for each in records if key_of(each.workload.mod) == key}

    def plain(self) -> Any:
        """Return the kernel without a schedule; None if it cannot run so, as on a GPU."""
        if self.target.kind.name not in ("llvm", "c"):
            return None
        info = ms.arg_info.ArgInfo.from_entry_func(self._module, remove_preproc=True)
        return ms.search_strategy.MeasureCandidate(unscheduled(self._module), info)

    def new(self, candidates: Iterable[Any]) -> list[Any]:
        """Return the candidates that were not tried before, each once."""
        found = []
        for candidate in candidates:
            text = _text(candidate.sch.trace)
            if text not in self._seen:
                self._seen.add(text)
                found.append(candidate)
        return found

    def build(self, candidates: Sequence[Any]) -> list[Any]:
        """Compile candidates, one per core at a time, before any runs, so that none disturbs a measurement."""
        orders = [(each.sch.mod, self.target) for each in candidates]
        return list(_builder(self._cores).map_with_error_catching(_built, orders))

    def run(self, candidate: Any, built: Any, plain: bool = False) -> tuple[Tried, Any]:
        """Run a candidate, and record its result.

        Returns
        -------
        RunnerResult
            Of MetaSchedule; the second.
        """
        if built.status == pool.StatusKind.COMPLETE:
            kind = self.target.kind.name
            device = "cpu" if kind in ("llvm", "c") else kind
            order = ms.runner.RunnerInput(built.value, device, candidate.args_info)
            result = _runner(self._cores).run([order])[0].result()
            shutil.rmtree(Path(built.value).parent, ignore_errors=True)
        else:
            is_late = built.status == pool.StatusKind.TIMEOUT
            slow = f"it compiled for more than {BUILD_SECONDS:g} s"
            result = ms.runner.RunnerResult(None, slow if is_late else f"did not compile: {reason_of(built.value)}")
        seconds = None if result.run_secs is None else [float(value) for value in result.run_secs]
        record = ms.database.TuningRecord(
            candidate.sch.trace, self._workload, seconds or [FAILED_SECONDS], self.target, candidate.args_info
        )
        self._database.commit_tuning_record(record)
        if seconds:
            return Tried(sum(seconds) / len(seconds), plain=plain), result
        return Tried(None, reason(str(result.error_msg)), plain), result


def _text(trace: Any) -> str:
    """Return a text that is the same for the same schedule, in every process."""
    return json.dumps(trace.as_json(), default=str)


def _runner(cores: Sequence[int]) -> Any:
    """Return TVM's runner, with a process that it keeps: one candidate at a time, so that none disturbs another."""
    if "runner" not in _pools:
        timing = ms.runner.EvaluatorConfig(number=1, repeat=3, min_repeat_ms=30, enable_cpu_cache_flush=False)
        _pools["runner"] = ms.runner.LocalRunner(
            timeout_sec=RUN_SECONDS, evaluator_config=timing, initializer=partial(_free, tuple(cores))
        )
    return _pools["runner"]


def _builder(cores: tuple[int, ...]) -> Any:
    """Return a pool of processes that compile, and are kept: TVM's own builder starts new ones for each batch."""
    if "builder" not in _pools:
        _pools["builder"] = pool.PopenPoolExecutor(
            max_workers=len(cores),
            timeout=BUILD_SECONDS,
            initializer=partial(_free, cores),
            # they do not free all of their memory
            maximum_process_uses=4 * BATCH,
        )
    return _pools["builder"]


def _built(order: tuple[Any, Any]) -> str:
    """Compile a candidate, in a process of the builder; return the path of its library."""
    load_intrinsics()
    path = Path(tempfile.mkdtemp(prefix="tvm-workbench-candidate-")) / f"candidate.{tar.output_format}"
    library(*order).export_library(str(path), fcompile=tar)
    return str(path)


def _free(cores: tuple[int, ...]) -> None:
    """Let a process use all cores again, if the one that started it was tied to a core by TVM."""
    if cores:
        os.sched_setaffinity(0, cores)
