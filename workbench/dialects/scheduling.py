"""A database of schedules for kernels: its files, and what a search for them needs to know without TVM.

`compiler/tuning.py` builds with a database and adds to it.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from workbench.errors import MeasureError, reason_of

WORKLOADS, RECORDS = "database_workload.json", "database_tuning_record.json"
"files of a database, as TVM names them"
LOOKS = {
    "relay.backend.use_meta_schedule": True,
    "relay.backend.use_meta_schedule_dispatch": True,
    "relay.backend.tir_converter": "default",
}
"PassContext config of a Relay build that takes schedules from a database"
RUN_SECONDS = 30.0
"time limit of the run of one candidate"
RANDOM = "random"
"MetaSchedule's cost model that chooses at random"


def require_database(folder: str) -> None:
    """Raise MeasureError if a folder has no database."""
    if not (Path(folder) / WORKLOADS).is_file():
        raise MeasureError(f"there are no schedules in {folder!r}; wb.tune_schedules makes them")


def best_cost_model(dialect: str) -> str:
    """Return the name of the cost model: `xgb`, trained on earlier candidates, if an xgboost fits; else `random`.

    Relay's TVM needs xgboost's module `rabit`, which newer versions lack.
    """
    found = importlib.util.find_spec("xgboost")
    places = [] if found is None else found.submodule_search_locations or []
    usable = any(dialect != "relay" or Path(place, "rabit.py").is_file() for place in places)
    return "xgb" if usable else RANDOM


def reason(error: str) -> str:
    """Return the cause of a candidate's failure, short enough to count equal ones together.

    >>> reason("LocalRunner: Timeout, killed after 30 seconds")
    'it ran for more than 30 s'
    >>> reason("did not compile: ValueError: no")
    'did not compile: ValueError: no'
    """
    if "LocalRunner: Timeout" in error:
        return f"it ran for more than {RUN_SECONDS:g} s"
    return reason_of(RuntimeError(error))[:160]
