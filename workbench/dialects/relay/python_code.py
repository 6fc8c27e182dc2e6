"""The Python for TVM 0.17 that a trace is written as. Text only: nothing here needs TVM."""

from __future__ import annotations

from dataclasses import replace

from workbench.dialects.facets import CodeText, ScriptText
from workbench.dialects.relay import passes
from workbench.dialects.scheduling import LOOKS

_IMPORTS = """\
import tvm
from tvm import relay"""

_RUN = """\
def run(mod, each):
    \"\"\"One pass, with types inferred around it.\"\"\"
    if not isinstance(each, tvm.transform.Pass):
        # a copy, since a function may change the module that it is given
        return relay.transform.InferType()(each(tvm.IRModule(mod.functions, mod.type_definitions, mod.attrs)))
    return tvm.transform.Sequential([relay.transform.InferType(), each, relay.transform.InferType()])(mod)"""

_TYPED = "relay.transform.InferType()(mod)"

_BIND = """\
def bind_params(params):
    \"\"\"A pass that makes the parameters constants.\"\"\"

    def bound(mod):
        mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
        return mod

    return bound"""

_BUILD = """\
def optimized(mod, params):
    \"\"\"The graph-level part of the build: the module before code generation.\"\"\"
    with context():
        mod, _ = relay.optimize(mod, target=TARGET, params=params)
    return relay.transform.InferType()(mod)


def built(mod, params):
    \"\"\"The whole build: a library for the graph executor.\"\"\"
    with context():
        return relay.build(mod, target=TARGET, params=params)"""


def constructor(name: str) -> str:
    """Return the expression that makes one of TVM's passes."""
    return f"relay.qnn.transform.{name[4:]}" if name.startswith("qnn.") else f"relay.transform.{name}"


_SCRIPT = ScriptText(
    f"{_IMPORTS}\nfrom tvm.contrib import graph_executor",
    'mod["main"] = relay.build_module.bind_params_by_name(mod["main"], constants)',
    """\
def outputs(mod, **context):
    with tvm.transform.PassContext(**context):
        built = relay.build(mod, target=TARGET, params=params)
    run = graph_executor.GraphModule(built["default"](DEVICE))
    run.run(**inputs)
    return [run.get_output(place).numpy() for place in range(run.get_num_outputs())]""",
    "assert all(relay.analysis.well_formed(function) for function in changed.functions.values())",
)

CODE = CodeText(_IMPORTS, passes.OURS, passes.__name__, _RUN, _TYPED, _BIND, _BUILD, constructor, repr, _SCRIPT)
"of a trace, and of a build"

_TUNED_BUILD = """\
def built(mod, params):
    \"\"\"The whole build, each kernel with the best schedule in SCHEDULES: a library for the graph executor.\"\"\"
    import importlib

    from tvm import meta_schedule

    files = SCHEDULES + "/database_workload.json", SCHEDULES + "/database_tuning_record.json"
    if "Tensorize" in open(files[1]).read():
        importlib.import_module("tvm.tir.tensor_intrin")  # registers what the schedules name
    with meta_schedule.database.JSONDatabase(*files), context():
        return relay.build(mod, target=TARGET, params=params)"""

TUNED = replace(CODE, build=_TUNED_BUILD, config=LOOKS)
"of a build with a database of schedules"
