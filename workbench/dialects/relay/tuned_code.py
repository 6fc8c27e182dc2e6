"""The Python of a build with a database of schedules, for TVM 0.17. Text only: nothing here needs TVM."""

from __future__ import annotations

from workbench.dialects.relay.code import IMPORTS, constructor, target
from workbench.dialects.scheduling import LOOKS as CONFIG

__all__ = ["BUILD", "CONFIG", "IMPORTS", "constructor", "target"]

BUILD = """\
def built(mod, params):
    \"\"\"The whole build, each kernel with the best schedule in SCHEDULES: a library for the graph executor.\"\"\"
    import importlib

    from tvm import meta_schedule

    files = SCHEDULES + "/database_workload.json", SCHEDULES + "/database_tuning_record.json"
    if "Tensorize" in open(files[1]).read():
        importlib.import_module("tvm.tir.tensor_intrin")  # registers what the schedules name
    with meta_schedule.database.JSONDatabase(*files), context():
        return relay.build(mod, target=TARGET, params=params)"""
