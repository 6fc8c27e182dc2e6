"""The calls of a Relax build, read from the module that fixes them, with or without code generation."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import tvm
from tvm import relax

from workbench.analysis.tensors import Tensor, tensors
from workbench.dialects.compiler.results import OUTSIDE, Call, Program
from workbench.dialects.relax.expressions import sort_of
from workbench.dialects.relax.graph import build_graph
from workbench.graph.model import Graph, Node

KINDS = {
    # the VM passes the same memory on
    "relax.reshape": "noop",
    "relax.to_vdevice": "copy",
    "relax.hint_on_device": "noop",
}
_KEPT = ("relax.reshape", "relax.shape_of", "relax.tensor_to_shape", "relax.to_vdevice", "relax.hint_on_device")
"operators that the virtual machine runs itself"
FUSED, CALLS, PLANNED = "FuseTIR", "CallTIRRewrite", "LowerAllocTensor"
"""Passes: FuseTIR's input has each kernel as a function of its operators, CallTIRRewrite's has calls not yet packed, and
LowerAllocTensor's has the storages that StaticPlanBlockMemory plans."""
SCHEDULED = "ApplyDefaultSchedule"
"it changes how a kernel computes, and not the calls; a CPU's pipeline does not have it"


@tvm.ir.instrument.pass_instrument
class Watch:
    """Keeps modules between the passes of a build.

    `stop`: the pass before which to stop; empty to run all. `schedules`: whether to schedule kernels.
    """

    def __init__(self, stop: str = "", schedules: bool = True) -> None:
        self.stop, self.schedules = stop, schedules
        self.kept: dict[str, tvm.IRModule] = {}
        "name of a pass -> its first input module"
        self.kills = False
        "whether the build frees tensors after their last use"
        self.refused = ""
        "the reason why a pass after CALLS, or the code generation of the virtual machine, failed"
        self.split: list[tvm.IRModule] = []
        "modules with host parts and device kernels split"

    def should_run(self, module: tvm.IRModule, info: Any) -> bool:
        name = str(info.name)
        if self.stop == name:
            self.kept.setdefault(name, module)
        return self.stop not in self.kept and (self.schedules or name != SCHEDULED)

    def run_before_pass(self, module: tvm.IRModule, info: Any) -> None:
        name = str(info.name)
        self.kills |= name == "KillAfterLastUse"
        if name in (FUSED, CALLS, PLANNED):
            self.kept.setdefault(name, module)

    def run_after_pass(self, module: tvm.IRModule, info: Any) -> None:
        if str(info.name).endswith(".SplitHostDevice"):
            self.split.append(module)

    def first(self, *passes: str) -> tvm.IRModule:
        """Return the input of the first of these passes that ran."""
        return next(self.kept[name] for name in passes if name in self.kept)


def pipeline(target: tvm.target.Target, config: Mapping[str, Any]) -> Any:
    """Return TVM's own pipeline for a target.

    The schedules of a Config's data are applied as soon as there are kernels. One without a schedule is compiled as usual.
    """
    if not config.get("schedules"):
        return relax.get_default_pipeline(target)
    # tvm.relax.pipeline selects these four lists by target, but some are only in the module of the target's own pipeline
    kind = target.kind.name
    folder = "cpu_generic" if kind in ("llvm", "c") else kind if kind in ("cuda", "rocm") else "gpu_generic"
    folder = "adreno" if "adreno" in target.keys else folder
    parts = importlib.import_module(f"tvm.relax.backend.{folder}.pipeline")
    legalize = list(parts.legalize_passes(target))
    place = next(i for i, step in enumerate(legalize) if step.info.name == "FuseTIR") + 1
    with target:
        legalize.insert(place, relax.transform.MetaScheduleApplyDatabase())
    rest = [*parts.dataflow_lower_passes(target), *parts.finalize_passes(target)]

    @tvm.transform.module_pass(opt_level=0, name="tuned_pipeline")
    def tuned(module: tvm.IRModule, _context: Any) -> tvm.IRModule:
        with target:
            return tvm.transform.Sequential([*parts.library_dispatch_passes(target), *legalize, *rest])(module)

    return tuned


def program_of_module(module: tvm.IRModule, name: str) -> Program:
    """Return the calls that the virtual machine makes of a module before CallTIRRewrite, in order.

    Both arms of an `if` are included. A tensor of symbolic shape counts no bytes: its size is known only at run time.
    """
    ours = {variable.name_hint for variable in module.get_global_vars()}
    program = _Walk(build_graph(module, name), ours).program()
    return replace(program, failing=_failing(module, program))


def _failing(module: tvm.IRModule, program: Program) -> str:
    """Return the reason why code of the module cannot run; empty if none is known."""
    for name in sorted({name for each in module.functions.values() for name in _operators(each)}):
        attribute = tvm.ir.Op.get(name).get_attr
        if attribute("FLegalize") and not attribute("FCallPacked") and name not in _KEPT:
            return f"LegalizeOps made no kernel of {name}, as where a shape is unknown, so no build runs"
    given = "external_mods" in (module.attrs or {})
    for call in program.calls:
        if call.kind == "external" and not given and tvm.get_global_func(call.function, allow_missing=True) is None:
            return f"it calls {call.function}, and this TVM has no function of that name, so no build runs"
    return ""


def _operators(function: Any) -> set[str]:
    """Return the names of the operators that a Relax function calls, including those of functions within it."""
    names: set[str] = set()

    def visit(expr: Any) -> None:
        if isinstance(expr, relax.Call) and sort_of(expr.op) == "op":
            names.add(str(expr.op.name))

    if isinstance(function, relax.Function):
        relax.analysis.post_order_visit(function, visit)
    return names


class _Walk:
    def __init__(self, graph: Graph, ours: set[str]) -> None:
        self.graph = graph
        self.ours = ours
        "names of the module's own functions: any other callee comes from another compiler or a library"
        self.number: dict[int, int] = {}
        "node -> its call"

    def program(self) -> Program:
        calls = []
        for node in self.graph.nodes:
            kind = self.kind(node)
            if kind:
                self.number[node.id] = len(calls)
                calls.append(self.call(node, kind))
        results = [given for output in self.graph.outputs for given in self.given(output)]
        return Program(tuple(calls), tuple(results))

    def kind(self, node: Node) -> str:
        """Return the kind of call that a node is; empty if it is none."""
        if node.kind != "op":
            return ""
        other = "" if node.op.startswith("relax.") else "kernel" if node.op in self.ours else "external"
        return KINDS.get(node.op, other)

    def call(self, node: Node, kind: str) -> Call:
        read = [given for source in self.graph.inputs[node.id] for given in self.given(source)]
        function = {"noop": "__nop", "copy": "__copy"}.get(kind, node.op)
        inputs, sources = tuple(tensor for _, tensor in read), tuple(source for source, _ in read)
        return Call(node.name, function, kind, inputs, sources, tuple(tensors(node.type)))

    def given(self, id: int) -> list[tuple[int, Tensor]]:
        """Return the tensors of a node's value, each with the call that produces it."""
        node = self.graph.nodes[id]
        if id in self.number or not self.graph.inputs[id]:
            return [(self.number.get(id, OUTSIDE), tensor) for tensor in tensors(node.type)]
        if node.kind == "tuple":
            return [given for source in self.graph.inputs[id] for given in self.given(source)]
        if node.kind in ("get_item", "match"):
            whole = self.graph.inputs[id][0]
            # nothing is known of the tensors of a value such as R.Object
            source = next(iter(self.given(whole)), (self.number.get(whole, OUTSIDE),))[0]
            return [(source, tensor) for tensor in tensors(node.type)]
        # an `if` returns the value of either arm: the last call in it represents both
        writers = [source for part in self.graph.inputs[id] for source, _ in self.given(part)]
        return [(max(writers, default=OUTSIDE), tensor) for tensor in tensors(node.type)]
