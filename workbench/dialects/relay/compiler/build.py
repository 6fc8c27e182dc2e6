"""Building and running Relay workloads. Used in the child process only: a build can end the process it runs in."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_executor  # pyright: ignore[reportAttributeAccessIssue]  this is Relay's TVM

from workbench.dialects.arrays import bytes_of
from workbench.dialects.base import Workload, refuse_without_main
from workbench.dialects.compiler.built import SOURCES, Built, Compiler, tir_text
from workbench.dialects.compiler.capture import pass_context
from workbench.dialects.compiler.cuda_code import compiled_where_it_runs
from workbench.dialects.compiler.inputs import values_of
from workbench.dialects.compiler.planned import Program
from workbench.dialects.compiler.running import KernelTime, Made, RanCall, Running, evaluated
from workbench.dialects.compiler.tvm_target import make_target
from workbench.dialects.relay.compiler.fallbacks import fallbacks
from workbench.dialects.relay.compiler.kernels import (
    Watch,
    bytes_of_json,
    external_functions,
    program_of_json,
    read_by_hash,
)
from workbench.dialects.relay.compiler.optimization import devices_in_words, optimize
from workbench.dialects.relay.compiler.planned import plan
from workbench.dialects.relay.diagnostics import as_error
from workbench.dialects.relay.entries import open_dimensions, unshared
from workbench.dialects.relay.printer import with_plain_names
from workbench.dialects.scheduling import scheduled
from workbench.dialects.trust import ask
from workbench.errors import MeasureError, TVMFailed, reason_of
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


_BOUND = re.compile(r"  (%(\d+)) = ")
_READ = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"a name that TVM's parser reads as it prints it"
MOST_BYTES = 64_000_000
"of constants, which are printed as text"


def probed(workload: Workload) -> tuple[Workload, list[int]]:
    """Return the workload with a module whose outputs are the values of its nodes, and the id of the node of each output.

    Nodes are the operators of `main` outside of kernels, `let` and `if`.

    Only the printed text connects a node of the graph with an expression of the module: `Node.line` is the line that binds
    it. So the text is read back with another result. TVM prints names that it does not read, as `%input.1`, and those of ONNX
    are such: the variables have plain names in the text, and the inputs their own names again afterwards, because they get
    values by name.

    Raises
    ------
    MeasureError
        The module has no such nodes, or is too large to be printed.
    """
    ids = {node.line: node.id for node in workload.graph.nodes if node.kind == "op" and node.type.startswith("Tensor[")}
    lines = _text(_with_plain_names(workload.module)).splitlines()
    start = next((place for place, line in enumerate(lines) if line.startswith("def @main")), None)
    if start is None:
        raise MeasureError("the module has no main")
    end = next(place for place in range(start, len(lines)) if lines[place] == "}")
    bound = {place: match for place in range(start + 1, end) if (match := _BOUND.match(lines[place]))}
    last = max(bound, default=start)
    found = [(match.group(1), ids[place + 1]) for place, match in bound.items() if place + 1 in ids]
    if last + 2 == end and end in ids:
        # the result, which has no name
        name = f"%{max((int(match.group(2)) for match in bound.values()), default=-1) + 1}"
        found.append((name, ids[end]))
        last += 1
        lines[last] = f"  {name} = {lines[last].strip()};"
    # a bound function ends on a later line
    if not found or not lines[last].endswith(";"):
        raise MeasureError("no operator of main has a value of its own")
    head = lines[start].partition(") -> ")[0].removesuffix(") {") + ") {"
    result = f"  ({', '.join(name for name, _ in found)},)"
    text = "\n".join([*lines[:start], head, *lines[start + 1 : last + 1], result, *lines[end:]])
    unreadable = "the module cannot be printed and read back: "
    try:
        with as_error(MeasureError, unreadable):
            module = tvm.relay.parse(text)
    except tvm.TVMError as error:
        raise MeasureError(f"{unreadable}{reason_of(error)}") from None
    main, own = module["main"], workload.module["main"]
    params = [relay.Var(old.name_hint, new.type_annotation) for old, new in zip(own.params, main.params, strict=True)]
    body = relay.bind(main.body, dict(zip(main.params, params, strict=True)))
    module["main"] = relay.Function(params, body, None, main.type_params, main.attrs)
    return workload.of(relay.transform.InferType()(module)), [id for _, id in found]


def _with_plain_names(module: tvm.IRModule) -> tvm.IRModule:
    functions, names = dict(module.functions), dict[str, str]()
    for name, function in functions.items():
        if isinstance(function, relay.Function):
            odd = [each for each in relay.analysis.all_vars(function) if not _READ.fullmatch(each.name_hint)]
            functions[name] = with_plain_names(function, odd, names)
    return relay.transform.InferType()(tvm.IRModule(functions, module.type_definitions)) if names else module


def _text(module: tvm.IRModule) -> str:
    size = 0

    def add(expression: relay.Expr) -> None:
        nonlocal size
        if isinstance(expression, relay.Constant):
            size += bytes_of(expression.data).nbytes

    for function in module.functions.values():
        if isinstance(function, relay.Function):
            relay.analysis.post_order_visit(function, add)
    if size > MOST_BYTES:
        raise MeasureError(f"its constants are {size >> 20} MB, too many to look inside")
    return module.astext(show_meta_data=True)


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

    Parameters
    ----------
    library
        The result of relay.build, or the same loaded from a file, here or in an RPC session.
    device
        A device of this machine or of an RPC session.
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
        with scheduled(config, "relay", empty=True), pass_context(config, instruments):
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

        Raises
        ------
        MeasureError
            An input has an open dimension; the graph executor plans its memory before it runs.
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
        context = pass_context(config, [watch, *instruments])
        where, schedules = compiled_where_it_runs(target), scheduled(config, "relay")
        with where, schedules, context, devices_in_words(), as_error(TVMFailed):
            library = relay.build(unshared(workload.module), target=made, params=workload.params)
        return RelayBuilt(self, workload, target, library, watch)

    def fingerprint(self, workload: Workload, target: str, config: Mapping[str, Any]) -> str:
        """Return TVM's structural hash of the module after all graph-level passes, values of constants included."""
        module = self.optimized(workload, target, config)
        return f"{tvm.ir.structural_hash(module, map_free_vars=True) & (1 << 64) - 1:016x}"


COMPILER = RelayCompiler()
