"""Whether TVM compiles a kernel: it lowers each one once in this process, as relay.build does, and the passes before do not tell.

A layout without a schedule, a data type without a rule and a kernel without threads for a GPU show here only. A build of bert-12 takes
ten seconds and its 13 different kernels half a second, once; `benchmarks/counts.py` has the bar.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import tvm
from tvm import relay
from tvm.relay.backend import te_compiler  # pyright: ignore[reportAttributeAccessIssue]  this is Relay's TVM

from workbench.dialects.compiler.capture import pass_context
from workbench.dialects.compiler.cuda_code import compiled_where_it_runs
from workbench.dialects.compiler.tvm_target import make_target
from workbench.dialects.relay.compiler.fallbacks import silent_autotvm
from workbench.errors import reason_of

_GENERATED = {"float32"}
"data types whose kernels LLVM and CUDA take once they are lowered; code is generated of the others"
_failures: dict[tuple[int, str, str], str] = {}
"hash of a kernel, target and settings -> the reason why TVM does not compile it; empty if it does"


def failure(kernels: Iterable[relay.Function], target: str, config: Mapping[str, Any]) -> str:
    """Return the reason why TVM does not compile one of these kernels; empty if it compiles all."""
    deeper = [name for name in (*config["disabled"], *config["required"]) if "." in name]
    settings = json.dumps([config["opt_level"], config["options"], deeper], sort_keys=True, default=str)
    made = make_target(target)
    with compiled_where_it_runs(target), made, pass_context(config, []), silent_autotvm():
        for kernel in kernels:
            key = tvm.ir.structural_hash(kernel), target, settings
            if key not in _failures:
                _failures[key] = _failure(kernel, made)
            if _failures[key]:
                return _failures[key]
    return ""


def _failure(kernel: relay.Function, target: tvm.target.Target) -> str:
    try:
        lowered = te_compiler.get().lower(kernel, target).funcs
        if _GENERATED.issuperset(map(str, relay.analysis.all_dtypes(kernel))):
            tvm.tir.transform.VerifyMemory()(tvm.tir.transform.BindTarget(target)(lowered))
        else:
            tvm.build(lowered, target)
    except Exception as error:  # noqa: BLE001  a schedule is Python and raises anything
        return f"TVM does not compile {_name(kernel)}: {reason_of(error)}"
    return ""


def _name(kernel: relay.Function) -> str:
    names: list[str] = []
    relay.analysis.post_order_visit(
        kernel.body,
        lambda expr: names.append(expr.op.name) if isinstance(getattr(expr, "op", None), tvm.ir.Op) else None,
    )
    return " and ".join(names) or "a kernel"
