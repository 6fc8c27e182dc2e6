"""The Python for today's TVM that a trace is written as. Text only: nothing here needs TVM."""

from __future__ import annotations

from dataclasses import replace

from workbench.dialects.facets import CodeText, ScriptText
from workbench.dialects.relax import passes
from workbench.target_text import target_argument

_IMPORTS = """\
import tvm
from tvm import relax"""

_RUN = """\
def run(mod, each):
    \"\"\"One pass; in a Sequential, since a pass called by itself ignores the opt_level.\"\"\"
    if not isinstance(each, tvm.transform.Pass):
        # a copy, since a function may change the module that it is given
        return relax.transform.Normalize()(each(mod.clone()))
    return tvm.transform.Sequential([each])(mod)"""

_TYPED = "mod"

_BIND = """\
def bind_params(params):
    \"\"\"A pass that makes the parameters constants.\"\"\"
    return relax.transform.BindParams("main", params)"""

_BUILD = """\
def optimized(mod, params=None):
    \"\"\"The compiler's pipeline on the graph: the module before code generation.\"\"\"
    with TARGET, context():
        return relax.get_default_pipeline(TARGET)(mod)


def built(mod, params=None):
    \"\"\"The whole build: an executable for the virtual machine, whose main takes the parameters too.

    The pipeline is named: by default TVM fuses for a GPU only.
    \"\"\"
    with context():
        return tvm.compile(mod, TARGET, relax_pipeline=relax.get_default_pipeline(TARGET))"""


def constructor(name: str) -> str:
    """Return the expression that makes one of TVM's passes."""
    module, _, short = name.rpartition(".")
    return f"tvm.{module}.transform.{short}" if module else f"relax.transform.{name}"


def target(text: str) -> str:
    """Return the target as an expression."""
    return f"tvm.target.Target({target_argument(text)!r})"


_SCRIPT = ScriptText(
    _IMPORTS,
    'mod = relax.transform.BindParams("main", constants)(mod)',
    """\
def flat(value):
    return [value.numpy()] if hasattr(value, "numpy") else [each for part in value for each in flat(part)]


def outputs(mod, **context):
    with tvm.transform.PassContext(**context):
        built = tvm.compile(mod, TARGET, relax_pipeline=relax.get_default_pipeline(TARGET))
    arguments = [tvm.runtime.tensor(array) for array in {**inputs, **params}.values()]
    return flat(relax.VirtualMachine(built, DEVICE)["main"](*arguments))""",
    """\
assert relax.analysis.well_formed(changed)
check = getattr(tvm.s_tir.analysis, "verify_well_formed", tvm.tirx.analysis.verify_well_formed)
assert all(check(each) for each in changed.functions.values() if isinstance(each, tvm.tirx.PrimFunc))""",
)

CODE = CodeText(_IMPORTS, passes.OURS, passes.__name__, _RUN, _TYPED, _BIND, _BUILD, constructor, target, _SCRIPT)
"of a trace, and of a build"

_TUNED_BUILD = """\
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

TUNED = replace(CODE, build=_TUNED_BUILD)
"of a build with a database of schedules"
