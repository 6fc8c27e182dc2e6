"""MetaSchedule, wherever this TVM has its parts, and builds with a database of schedules."""

from __future__ import annotations

import importlib
import importlib.util
import platform
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import tvm

from workbench.dialects import registry
from workbench.dialects.base import Workload
from workbench.dialects.scheduling import RECORDS, WORKLOADS, require_database

if TYPE_CHECKING:
    from workbench.dialects.compiler.built import Built

_OF_RELAY = importlib.util.find_spec("tvm.s_tir") is None


def _part(now: str, before: str) -> Any:
    """Return a module of TVM: Relax's has the parts of MetaSchedule in other places than Relay's."""
    return importlib.import_module(before if _OF_RELAY else now)


INTRINSICS = "tvm.tir.tensor_intrin" if _OF_RELAY else "tvm.s_tir.tensor_intrin"
"the module that registers the tensor intrinsics that schedules may name"
ms = _part("tvm.s_tir.meta_schedule", "tvm.meta_schedule")
pool = _part("tvm.support.popen_pool", "tvm.contrib.popen_pool")
tar = _part("tvm.support.tar", "tvm.contrib.tar").tar
_tir = _part("tvm.s_tir", "tvm.tir")
_utilities = _part("tvm.ir.utils", "tvm.meta_schedule.utils")


def key_of(module: Any) -> str:
    """Return a hash of a module that is the same in every process."""
    hash = tvm.ir.structural_hash if _OF_RELAY else importlib.import_module("tvm_ffi").structural_hash
    return f"{hash(module) & (2**64 - 1):016x}"


def unscheduled(module: Any) -> Any:
    """Return the module with a schedule of one step that changes nothing; a database finds none without steps."""
    schedule = _tir.Schedule(module)
    (schedule.get_block if _OF_RELAY else schedule.get_sblock)("root")
    return schedule


def library(module: Any, target: Any) -> Any:
    """Compile a candidate; TVM's own function for it may import every machine's tensor intrinsics first."""
    keeps = {"skip_ndarray_rewrite" if _OF_RELAY else "skip_tensor_rewrite": True}
    module = _tir.transform.RemoveWeightLayoutRewriteBlock(**keeps)(module)
    return (tvm.build if _OF_RELAY else tvm.driver.build)(module, target=target)


@contextmanager
def scheduled(config: Mapping[str, Any], *, empty: bool = False) -> Iterator[None]:
    """Enter the database that a Config's data names; do nothing if it names none.

    A database already in scope stays: it belongs to a caller that records the lookups.

    `empty`: whether to use an empty database instead, for a caller that needs the kernels and not their code. TVM
    changes the layout of the weights of a scheduled kernel, and cannot infer the types of such a module. Raises
    MeasureError: there is no such database.
    """
    folder = str(config.get("schedules") or "")
    if not folder or ms.database.Database.current() is not None:
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
    with _noting(database, found):
        built = registry.dialect(workload.dialect).compiler.compiled(workload, target, {**config, "schedules": folder})
    called = {row["function"] for row in built.calls() if not row["noop"]}
    return built, {name: module for name, module in found.items() if name in called}


def _noting(database: Any, found: dict[str, Any]) -> Any:
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
