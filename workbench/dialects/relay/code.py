"""The Python of TVM 0.17 that a trace is written as. Text only: nothing here needs TVM."""

from __future__ import annotations

IMPORTS = """\
import tvm
from tvm import relay"""

OURS = ("CombineParallelOps", "CutFusion", "ForceFusion", "MergeIdenticalKernels", "OutlineRegion")
"passes of `PASSES`, which TVM has not"
PASSES = "workbench.dialects.relay.passes"

RUN = """\
def run(mod, each):
    \"\"\"One pass, with types inferred around it.\"\"\"
    if not isinstance(each, tvm.transform.Pass):
        # a copy, since a function may change the module that it is given
        return relay.transform.InferType()(each(tvm.IRModule(mod.functions, mod.type_definitions, mod.attrs)))
    return tvm.transform.Sequential([relay.transform.InferType(), each, relay.transform.InferType()])(mod)"""

TYPED = "relay.transform.InferType()(mod)"

BIND = """\
def bind_params(params):
    \"\"\"A pass that makes the parameters constants.\"\"\"

    def bound(mod):
        mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
        return mod

    return bound"""

BUILD = """\
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
    """What makes the pass of that name; one of ours is imported by its name."""
    if name in OURS:
        return name
    return f"relay.qnn.transform.{name[4:]}" if name.startswith("qnn.") else f"relay.transform.{name}"


def target(text: str) -> str:
    """The target as an expression."""
    return repr(text)
