"""Builds with a database of schedules, and the modules that a build looks up in it, for Relay and Relax alike.

The differences (where MetaSchedule is, how a module is hashed) are in a dialect's `tuning.py`.
"""

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

from workbench.dialects import registry
from workbench.dialects.base import Workload
from workbench.dialects.facets import Tuning
from workbench.errors import MeasureError

if TYPE_CHECKING:
    # it imports TVM
    from workbench.dialects.compiler.built import Built

WORKLOADS, RECORDS = "database_workload.json", "database_tuning_record.json"
"files of a database, as TVM names them"
LOOKS = {
    "relay.backend.use_meta_schedule": True,
    "relay.backend.use_meta_schedule_dispatch": True,
    "relay.backend.tir_converter": "default",
}
"PassContext config of a Relay build that takes schedules from a database"


@contextmanager
def scheduled(config: Mapping[str, Any], dialect: str, *, empty: bool = False) -> Iterator[None]:
    """Enter the database that a Config's data names; do nothing if it names none.

    A database already in scope stays: it belongs to a caller that records the lookups.

    `empty`: whether to use an empty database instead, for a caller that needs the kernels and not their code. TVM
    changes the layout of the weights of a scheduled kernel, and cannot infer the types of such a module. Raises
    MeasureError: there is no such database.
    """
    folder = str(config.get("schedules") or "")
    here = registry.dialect(dialect).tuning if folder else None
    if here is None or here.ms.database.Database.current() is not None:
        yield
        return
    require_database(folder)
    if not empty:
        load_intrinsics(here.INTRINSICS)
    with here.ms.database.MemoryDatabase() if empty else opened(here, folder):
        yield


def require_database(folder: str) -> None:
    """Raise MeasureError if a folder has no database."""
    if not (Path(folder) / WORKLOADS).is_file():
        raise MeasureError(f"there are no schedules in {folder!r}; wb.tune_schedules makes them")


def load_intrinsics(package: str) -> None:
    """Register the tensor intrinsics that a schedule for this machine may name. In a child process only.

    TVM imports those of every machine, which takes 18 s, 15 of them for GPUs. Without a GPU only the CPU's are
    imported.
    """
    import tvm

    if package in sys.modules or tvm.cuda(0).exist or tvm.rocm(0).exist:
        return
    found = importlib.util.find_spec(package)
    if found is None or found.submodule_search_locations is None:
        return
    made = ModuleType(package)
    made.__path__ = list(found.submodule_search_locations)
    made.__spec__ = found
    sys.modules[package] = made
    parent, _, name = package.rpartition(".")
    setattr(importlib.import_module(parent), name, made)
    arm = platform.machine().lower() in ("aarch64", "arm64")
    importlib.import_module(f"{package}.{'arm_cpu' if arm else 'x86'}")


def opened(here: Tuning, folder: str | Path) -> Any:
    """Return TVM's database in a folder; missing files are created."""
    return here.ms.database.JSONDatabase(str(Path(folder) / WORKLOADS), str(Path(folder) / RECORDS))


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
    here = registry.dialect(workload.dialect)
    load_intrinsics(here.tuning.INTRINSICS)
    database = opened(here.tuning, folder)
    found: dict[str, Any] = {}
    with _noting(here.tuning, database, found):
        built = here.compiler.compiled(workload, target, {**config, "schedules": folder})
    called = {row["function"] for row in built.calls() if not row["noop"]}
    return built, {name: module for name, module in found.items() if name in called}


def _noting(here: Tuning, database: Any, found: dict[str, Any]) -> Any:
    """Return a database that forwards lookups to another, and records the modules by name."""

    class Noting(here.ms.database.PyDatabase):  # type: ignore[misc]
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
    return here.derived_object(Noting)()
