"""The Python of a build with a database of schedules, for today's TVM. Text only: nothing here needs TVM."""

from __future__ import annotations

from typing import Any

from workbench.dialects.relax.code import IMPORTS, constructor, target

__all__ = ["BUILD", "CONFIG", "IMPORTS", "constructor", "target"]

CONFIG: dict[str, Any] = {}
"a pass looks the schedules up, and no option says so"

BUILD = """\
def pipeline():
    \"\"\"TVM's own pipeline, in which schedules are looked up as soon as there are kernels.\"\"\"
    import importlib

    cpu = TARGET.kind.name in ("llvm", "c")
    parts = importlib.import_module("tvm.relax.backend.cpu_generic.pipeline" if cpu else "tvm.relax.pipeline")
    passes = [*parts.library_dispatch_passes(TARGET), *parts.legalize_passes(TARGET)]
    place = [each.info.name for each in passes].index("FuseTIR") + 1
    passes.insert(place, relax.transform.MetaScheduleApplyDatabase())
    return tvm.transform.Sequential([*passes, *parts.dataflow_lower_passes(TARGET), *parts.finalize_passes(TARGET)])


def built(mod, params=None):
    \"\"\"The whole build, each kernel with the best schedule in SCHEDULES: an executable for the virtual machine.

    Its main takes the parameters too.
    \"\"\"
    import importlib

    from tvm.s_tir import meta_schedule

    files = SCHEDULES + "/database_workload.json", SCHEDULES + "/database_tuning_record.json"
    if "Tensorize" in open(files[1]).read():
        importlib.import_module("tvm.s_tir.tensor_intrin")  # registers what the schedules name
    with TARGET, meta_schedule.database.JSONDatabase(*files), context():
        return tvm.compile(mod, TARGET, relax_pipeline=pipeline())"""
