"""relay.optimize, which writes the parameters into the very module that it is given: a copy, so that the workload stays as it was."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relay

from workbench.dialects.base import Workload


def copied(module: tvm.IRModule) -> tvm.IRModule:
    """A module with the same functions, which may be changed apart."""
    return tvm.IRModule(module.functions, module.type_definitions, module.attrs)


def optimize(workload: Workload, target: Any) -> tvm.IRModule:
    """The module after the graph-level part of relay.build, in the PassContext at hand."""
    module, _ = relay.optimize(copied(workload.module), target=target, params=workload.params)
    return module
