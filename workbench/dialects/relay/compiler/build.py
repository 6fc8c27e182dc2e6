"""Building and running Relay workloads. Used in the child process only: a build can end the process it runs in."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import tvm
from tvm import relay

from workbench.dialects.arrays import bytes_of
from workbench.dialects.base import Workload, refuse_without_main
from workbench.dialects.compiler.built import SOURCES, Built, Compiler, tir_text
from workbench.dialects.compiler.capture import pass_context
from workbench.dialects.compiler.cuda_code import compiled_where_it_runs
from workbench.dialects.compiler.planned import Program
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
from workbench.dialects.relay.compiler.running import Running
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


class RelayCompiler(Compiler):
    """Builds for the graph executor."""

    plan, fallbacks, probed = staticmethod(plan), staticmethod(fallbacks), staticmethod(probed)
    running = staticmethod(Running)

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
