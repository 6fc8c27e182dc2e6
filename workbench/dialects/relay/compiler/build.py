"""Building and running Relay workloads. Used in the child process only: a build can end the process it runs in."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_executor  # pyright: ignore[reportAttributeAccessIssue]  this is Relay's TVM

from workbench.dialects.base import Workload, refuse_without_main
from workbench.dialects.compiler.built import SOURCES, Built, Compiler, tir_text
from workbench.dialects.compiler.capture import pass_context
from workbench.dialects.compiler.cuda_code import compiled_where_it_runs
from workbench.dialects.compiler.inputs import values_of
from workbench.dialects.compiler.results import Planned, Program
from workbench.dialects.compiler.running import KernelTime, Made, RanCall, Running, evaluated
from workbench.dialects.compiler.tuning import scheduled
from workbench.dialects.compiler.tvm_target import make_target
from workbench.dialects.relay.compiler.fallbacks import fallbacks
from workbench.dialects.relay.compiler.folding import CompiledOnce
from workbench.dialects.relay.compiler.kernels import (
    Watch,
    bytes_of_json,
    external_functions,
    program_of_json,
    read_by_hash,
)
from workbench.dialects.relay.compiler.optimization import devices_in_words, optimize, plan, plan_of_module
from workbench.dialects.relay.diagnostics import as_error
from workbench.dialects.relay.entries import open_dimensions, unshared
from workbench.dialects.relay.passes.editing import Located
from workbench.dialects.relay.passes.rewriting import in_module, operands, with_body
from workbench.dialects.trust import ask
from workbench.errors import MeasureError, TVMFailed
from workbench.quoting import shell

_SMALL_INTEGERS = {"int8", "uint8"}


class RelayBuilt(Built):
    """A library for the graph executor."""

    def program(self) -> Program:
        module = self.module()
        return program_of_json(self.graph(), external_functions(module), read_by_hash(module))

    def graph(self) -> dict[str, Any]:
        """Return the graph of the executor."""
        # TVM does not escape control characters in names
        return json.loads(self.library.get_graph_json(), strict=False)

    def module(self) -> tvm.IRModule:
        if self.watch.fused is None:
            raise MeasureError("the build did not lower any module, so nothing of it can be counted")
        return self.watch.fused

    def plan(self) -> Planned:
        return plan_of_module(self.module(), self.target, self.workload.params)

    def peak_bytes(self) -> int:
        apart = {*self.library.get_params(), *self.workload.params}
        return bytes_of_json(self.graph(), apart)

    def code(self, form: str) -> str:
        library = self.library.get_lib()
        if form == "tir":
            return tir_text(self.watch.lowered or tvm.IRModule())
        if form in SOURCES:
            return str(library.get_source(SOURCES[form]))
        return "\n".join(str(part.get_source()) for part in _parts(library) if part.type_key in (form, "c"))


def _parts(module: Any) -> list[Any]:
    return [module, *(part for imported in module.imported_modules for part in _parts(imported))]


def probed(workload: Workload) -> tuple[Workload, list[int]]:
    """Return the workload with a module whose outputs are the values of its nodes, and the id of the node of each output.

    Nodes are the operators of `main` outside of kernels and branches. Raises MeasureError: the module has none.
    """
    refuse_without_main(workload, MeasureError)
    at, main = Located(workload.module, workload.name), workload.module["main"]
    lets, inside = _in_scope(main.body)
    found = [node.id for node in at.graph.ops if node.type.startswith("Tensor[") and at.expressions[node.id] in inside]
    if not found:
        raise MeasureError("no operator of main has a value of its own")
    results = relay.Tuple([at.expressions[id] for id in found])
    for let in reversed(lets):
        results = relay.Let(let.var, let.value, results)
    made = with_body(main, results)
    return workload.of(in_module(workload.module, {"main": made})), found


def _in_scope(body: relay.Expr) -> tuple[list[relay.Let], set[relay.Expr]]:
    """Return the lets around the result of a body, and the expressions that can be read where all of these are bound."""
    lets: list[relay.Let] = []
    while isinstance(body, relay.Let):
        lets.append(body)
        body = body.body
    found: set[relay.Expr] = set()
    waiting = [body, *(let.value for let in lets)]
    while waiting:
        expr = waiting.pop()
        if expr not in found and isinstance(expr, (relay.Call, relay.Tuple, relay.TupleGetItem, relay.If)):
            found.add(expr)
            waiting += [expr.cond] if isinstance(expr, relay.If) else operands(expr)
    return lets, found


Entry = tuple[int, int]
"a node of the executor's graph, and which of its outputs"
NOP, COPY = "__nop", "__copy"


@dataclass(frozen=True)
class _Ran:
    """A call in the executor's graph, after it ran."""

    function: str
    inputs: list[Entry]
    outputs: list[Entry]
    tensors: list[Any]
    "those that it reads, then those that it writes"


def _entries(graph: Mapping[str, Any], debug: Any) -> Iterator[_Ran]:
    """Run node after node, and yield each call."""
    held: dict[Entry, Any] = {}
    readers = Counter((source, output) for node in graph["nodes"] for source, output, _ in node["inputs"])
    for place, node in enumerate(graph["nodes"]):
        debug["execute_node"](place)
        outputs = [(place, output) for output in range(int(node.get("attrs", {}).get("num_outputs", 1)))]
        held.update({entry: debug["get_node_output"](*entry) for entry in outputs})
        inputs = [(source, output) for source, output, _ in node["inputs"]]
        if node["op"] == "tvm_op":
            yield _Ran(node["attrs"]["func_name"], inputs, outputs, [held[entry] for entry in (*inputs, *outputs)])
        for entry in inputs:
            readers[entry] -= 1
        # tensors without remaining readers need no memory
        for entry in {*inputs, *outputs}:
            if readers[entry] <= 0:
                del held[entry]


class RelayRunning(Running):
    """A library in a graph executor.

    `library`: the result of relay.build, or the same loaded from a file, here or in an RPC session. `device`: a
    device of this machine or of an RPC session.
    """

    method = "graph executor, time_evaluator"
    kernel_method = "each call by itself on the inputs of a real run (debug executor), repeated by time_evaluator"

    def __init__(self, workload: Workload, library: Any, device: Any, seed: int) -> None:
        ask()
        self.library = library
        self.device = device
        self.inputs = random_inputs(workload, seed)
        self.executor = graph_executor.GraphModule(library["default"](device))
        for name, value in self.inputs.items():
            self.executor.set_input(name, value)

    @property
    def compiled(self) -> Any:
        """Return the module with the compiled functions, of a library just built or loaded from a file."""
        return self.library.get_lib() if hasattr(self.library, "get_lib") else self.library.imported_modules[0]

    def run(self, number: int) -> float:
        timed = self.executor.module.time_evaluator("run", self.device, number=number, repeat=1)
        return float(timed().results[0])

    def outputs(self) -> list[np.ndarray]:
        self.executor.run()
        return [self.executor.get_output(place).numpy() for place in range(self.executor.get_num_outputs())]

    def kernels(self, budget: float) -> list[KernelTime]:
        graph, debug = self._debugged()
        seconds = budget / max(1, sum(node["op"] == "tvm_op" for node in graph["nodes"]))

        def timed(call: _Ran) -> list[float]:
            # a reshape without a copy has no function
            nop = call.function == NOP
            return [0.0] if nop else evaluated(self.compiled, call.function, call.tensors, self.device, seconds)

        return [KernelTime(call.function, timed(call)) for call in _entries(graph, debug)]

    def calls(self) -> Iterator[RanCall]:
        made: dict[Entry, Made | None] = {}
        number = 0
        for call in _entries(*self._debugged()):
            sources = {place: made.get(entry) for place, entry in enumerate(call.inputs)}
            if call.function in (NOP, COPY):
                # they pass a value on
                made[call.outputs[0]] = sources[0]
                continue
            written = tuple(range(len(call.inputs), len(call.tensors)))
            kernel = self.compiled.get_function(call.function, query_imports=True)
            yield RanCall(call.function, kernel, call.tensors, sources, written, tvm.nd.empty)
            made.update({entry: (number, output) for output, entry in enumerate(call.outputs)})
            number += 1

    def _debugged(self) -> tuple[Mapping[str, Any], Any]:
        """Return the executor's graph, and TVM's debug executor with the inputs."""
        graph = json.loads(self.library["get_graph_json"](), strict=False)  # as in build.py
        debug = self.library["debug_create"]("default", self.device)
        for name, value in self.inputs.items():
            debug["set_input"](name, tvm.nd.array(value, self.device))
        return graph, debug


def random_inputs(workload: Workload, seed: int) -> dict[str, np.ndarray]:
    """Return given or seeded values for every parameter of `main` that has no array (dialects/compiler/inputs.py)."""
    found = {}
    for variable in workload.module["main"].params:
        name, type = variable.name_hint, variable.checked_type
        if name in workload.params:
            continue
        if not isinstance(type, relay.TensorType) or not all(isinstance(d, tvm.tir.IntImm) for d in type.shape):
            raise MeasureError(f"the input {name} has type {type}; only tensors of known shape can be filled and timed")
        found[name] = values_of(workload, name, [int(d) for d in type.shape], type.dtype, seed)
    return found


class RelayCompiler(Compiler):
    """Builds for the graph executor."""

    plan, fallbacks, probed = staticmethod(plan), staticmethod(fallbacks), staticmethod(probed)
    running = staticmethod(RelayRunning)

    def optimized(
        self, workload: Workload, target: str, config: Mapping[str, Any], instruments: Sequence[Any] = ()
    ) -> tvm.IRModule:
        """Return the module after the graph-level part of relay.build."""
        with scheduled(config, empty=True), pass_context(config, [CompiledOnce(), *instruments]):
            module = optimize(workload, make_target(target))
        return relay.transform.InferType()(module)

    def unoptimized(self, workload: Workload, target: str) -> tuple[Workload, str]:
        """Return a workload and a target that opt level 0 can compile, for the expected values of the outputs.

        Opt level 0 has no kernels for `qnn` operators, so they are replaced by others, as TVM defines them. The kernels for
        a CPU with int8 instructions rely on Legalize for their shapes, so the target is a CPU without.
        """
        refuse_without_main(workload, MeasureError)
        if not _SMALL_INTEGERS & {str(dtype) for dtype in relay.analysis.all_dtypes(workload.module["main"])}:
            return workload, target
        plain = "llvm"
        with make_target(plain), tvm.transform.PassContext():
            lower = tvm.transform.Sequential([relay.qnn.transform.Legalize(), relay.qnn.transform.CanonicalizeOps()])
            module = lower(unshared(workload.module))
        return workload.of(module), plain

    def compiled(
        self, workload: Workload, target: str, config: Mapping[str, Any], instruments: Sequence[Any] = ()
    ) -> Built:
        """Build for the graph executor.

        Raises MeasureError: an input has an open dimension; the graph executor plans its memory before it runs.
        """
        ask()
        refuse_without_main(workload, MeasureError)
        for parameter in workload.module["main"].params:
            if parameter.name_hint not in workload.params and open_dimensions(parameter.checked_type):
                name = parameter.name_hint
                raise MeasureError(
                    f"the input {name} leaves a dimension open, and relay.build takes none; give its shape, shapes={{{name!r}: (1, ...)}}, or `--input {shell(f'{name}=1,...')}` in a shell"
                )
        made = make_target(target)
        watch = Watch()
        context = pass_context(config, [watch, CompiledOnce(), *instruments])
        where, schedules = compiled_where_it_runs(target), scheduled(config)
        with where, schedules, context, devices_in_words(), as_error(TVMFailed):
            library = relay.build(unshared(workload.module), target=made, params=workload.params)
        return RelayBuilt(self, workload, target, library, watch)

    def fingerprint(self, workload: Workload, target: str, config: Mapping[str, Any]) -> str:
        """Return TVM's structural hash of the module after all graph-level passes, values of constants included."""
        module = self.optimized(workload, target, config)
        return f"{tvm.ir.structural_hash(module, map_free_vars=True) & (1 << 64) - 1:016x}"


COMPILER = RelayCompiler()
