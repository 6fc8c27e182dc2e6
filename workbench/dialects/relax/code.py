"""The Python of today's TVM that a trace is written as. Text only: nothing here needs TVM."""

from __future__ import annotations

from typing import Any

from workbench.targets import target_fields

IMPORTS = """\
import tvm
from tvm import relax"""

OURS = ("CombineParallelConv2D", "CutFusion", "ForceFusion", "OutlineRegion")
"passes of `PASSES`, which TVM has not"
PASSES = "workbench.dialects.relax.passes"

RUN = """\
def run(mod, each):
    \"\"\"One pass; in a Sequential, since a pass called by itself ignores the opt_level.\"\"\"
    if not isinstance(each, tvm.transform.Pass):
        # a copy, since a function may change the module that it is given
        return relax.transform.Normalize()(each(mod.clone()))
    return tvm.transform.Sequential([each])(mod)"""

TYPED = "mod"

BIND = """\
def bind_params(params):
    \"\"\"A pass that makes the parameters constants.\"\"\"
    return relax.transform.BindParams("main", params)"""

BUILD = """\
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
    """What makes the pass of that name; one of ours is imported by its name."""
    if name in OURS:
        return name
    return f"relax.transform.{name}"


def target(text: str) -> str:
    """The target as an expression."""
    return f"tvm.target.Target({target_argument(text)!r})"


def target_argument(text: str) -> str | dict[str, Any]:
    """Return the target as this TVM's Target takes it: a dictionary; a kind or a tag alone as it is.

    >>> target_argument("llvm -mcpu=core-avx2 -num-cores=4"), target_argument("llvm")
    ({'kind': 'llvm', 'mcpu': 'core-avx2', 'num-cores': 4}, 'llvm')
    """
    fields = target_fields(text)
    return fields if len(fields) > 1 else fields["kind"]
