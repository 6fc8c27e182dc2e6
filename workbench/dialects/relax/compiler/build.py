"""Building and running Relax workloads. Used in the child process only: a build can end the process it runs in."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax

from workbench.dialects.base import Workload, refuse_without_main
from workbench.dialects.compiler.built import SOURCES, Built, Compiler, tir_text
from workbench.dialects.compiler.capture import pass_context
from workbench.dialects.compiler.cuda_code import compiled_where_it_runs
from workbench.dialects.compiler.inputs import values_of
from workbench.dialects.compiler.results import Planned, Program
from workbench.dialects.compiler.running import KernelTime, Made, RanCall, Running, evaluated
from workbench.dialects.compiler.tuning import scheduled
from workbench.dialects.compiler.tvm_target import make_target
from workbench.dialects.relax import compat
from workbench.dialects.relax.answers import Drawn
from workbench.dialects.relax.compat import identity
from workbench.dialects.relax.compiler.kernels import CALLS, FUSED, Watch, pipeline, program_of_module
from workbench.dialects.relax.compiler.planned import plan, plan_of_build
from workbench.dialects.relax.compiler.rules import Rules, fallbacks, schedules
from workbench.dialects.relax.entries import run_alone, with_values
from workbench.dialects.relax.graph import build_graph
from workbench.dialects.relax.passes.rewriting import bindings_of
from workbench.dialects.trust import ask
from workbench.errors import MeasureError


class RelaxBuilt(Built):
    """An executable for Relax's virtual machine."""

    def program(self) -> Program:
        refuse_without_main(self.workload, MeasureError)
        # every build reaches this pass
        return program_of_module(run_alone(self.watch.first(CALLS), self.workload), self.workload.name)

    def module(self) -> tvm.IRModule:
        return run_alone(self.watch.first(FUSED, CALLS), self.workload)

    def plan(self) -> Planned:
        return plan_of_build(self.watch, self.workload, self.target)

    def peak_bytes(self) -> int | None:
        return self.plan().peak_bytes

    def code(self, form: str) -> str:
        if form == "tir":
            return tir_text(self.watch.first(CALLS))
        parts = list(with_imports(self.library.mod))
        if form in SOURCES:
            return "\n".join(str(part.inspect_source(SOURCES[form])) for part in parts if part.kind == "llvm")
        return "\n".join(str(part.inspect_source()) for part in parts if part.kind in (form, "c"))


def probed(workload: Workload) -> tuple[Workload, list[int]]:
    """Return the workload with a module whose outputs are the values of its nodes, and the id of the node of each output.

    Nodes are the calls and fields of tuples that `main` binds to variables, outside of any `if`. Raises MeasureError: the module has none.
    """
    # a value that leaves its dataflow block can be an output
    module = relax.transform.ToNonDataflow()(workload.module)
    main, drawn = module["main"], dict[int, list[Drawn]]()
    graph = build_graph(module, workload.name, drawn=drawn)
    found: dict[int, relax.Var] = {}
    for variable in (
        each.var for each in bindings_of(main) if isinstance(each.value, (relax.Call, relax.TupleGetItem))
    ):
        node = drawn[identity(variable)][0].node
        if graph.nodes[node].kind in ("op", "get_item") and compat.fixed_shape(compat.type_of(variable)) is not None:
            found.setdefault(node, variable)
    if not found:
        raise MeasureError("no call of main has a value of its own")
    results = relax.Tuple(list(found.values()))
    body = relax.SeqExpr(main.body.blocks, results)
    function = relax.Function(main.params, body, compat.type_of(results), main.is_pure, main.attrs)
    module = module.clone()
    module.update_func(module.get_global_var("main"), function)
    return workload.of(relax.transform.Normalize()(module)), list(found)


class RelaxRunning(Running):
    """An executable in a virtual machine, with its arguments.

    `library`: the result of tvm.compile, or a module loaded from a file, here or in an RPC session. `device`: a
    device of this machine or of an RPC session.
    """

    method = "Relax VM, time_evaluator"
    kernel_method = "each call by itself when its turn comes in a run (VM.set_instrument), repeated by time_evaluator"

    def __init__(self, workload: Workload, library: Any, device: Any, seed: int) -> None:
        ask()
        self.device = device
        self.machine = relax.VirtualMachine(library, device)
        self.modules = list(with_imports(getattr(library, "mod", library)))
        values = {**random_inputs(workload, seed), **workload.params}
        names = [compat.name_of(variable) for variable in _entry(workload).params]
        self.arguments = [_argument(values[name], device) for name in names]

    def run(self, number: int) -> float:
        timed = self.machine.time_evaluator("main", self.device, number=number, repeat=1)
        return float(timed(*self.arguments).results[0])

    def outputs(self) -> list[np.ndarray]:
        return list(_flat(self.machine["main"](*self.arguments)))

    def kernels(self, budget: float) -> list[KernelTime]:
        found: list[KernelTime] = []
        seconds = budget / max(1, self._calls())

        def timed(_function: Any, name: str, before: bool, _result: Any, *arguments: Any) -> int:
            # its inputs are valid before the call; later their memory may be reused
            home = self._home(name) if before else None
            if home is not None:
                found.append(KernelTime(name, evaluated(home, name, arguments, self.device, seconds)))
            return relax.VMInstrumentReturnKind.NO_OP

        self._instrumented(timed)
        return found

    def calls(self) -> Iterator[RanCall]:
        return handed_over(lambda seen: self._instrumented(Following(self._home, seen)))

    def _calls(self) -> int:
        """Return the number of calls of compiled functions in one run."""
        names: list[str] = []

        def listed(_function: Any, name: str, before: bool, _result: Any, *_arguments: Any) -> int:
            if before:
                names.append(name)
            return relax.VMInstrumentReturnKind.NO_OP

        self._instrumented(listed)
        return sum(self._home(name) is not None for name in names)

    def _instrumented(self, instrument: Any) -> None:
        """Run once with an instrument, on a machine that is discarded: an instrument cannot be removed."""
        machine = relax.VirtualMachine(self.modules[0], self.device)
        machine.set_instrument(instrument)
        machine["main"](*self.arguments)

    def _home(self, name: str) -> Any | None:
        """Return the module with the compiled function of that name; None for the machine's own functions."""
        return next((m for m in self.modules[1:] if m.implements_function(name)), None)


def random_inputs(workload: Workload, seed: int) -> dict[str, Any]:
    """Return given or seeded values for each parameter of `main` without an array (dialects/compiler/inputs.py)."""
    types = {compat.name_of(variable): compat.type_of(variable) for variable in _entry(workload).params}
    return {name: _values(workload, name, type, seed) for name, type in types.items() if name not in workload.params}


def _values(workload: Workload, name: str, type: Any, seed: int) -> Any:
    """Return the value of an input: an array, a list of the numbers of a shape, or a tuple of such values."""
    if isinstance(type, compat.TupleType):
        return tuple(_values(workload, f"{name}.{place}", each, seed) for place, each in enumerate(type.fields))
    given, open = workload.inputs.get(name), compat.symbols_of(type)
    if given is None and open:
        raise MeasureError(
            f"the input {name} of type {type} leaves {', '.join(open)} open; give values, shapes={{{open[0]!r}: 128}}"
        )
    sizes, dimensions = compat.shape_of(type), compat.dimensions_of(type)
    if sizes is not None:
        return sizes if given is None else [int(each) for each in given]
    if dimensions is None and given is not None:
        return given
    if dimensions is None:
        raise MeasureError(f"the input {name} has type {type}; only tensors of known shape can be filled and timed")
    shape = [int(each) if compat.is_number(each) else str(each) for each in dimensions]
    return values_of(workload, name, shape, compat.dtype_of(type), seed)


def _entry(workload: Workload) -> relax.Function:
    refuse_without_main(workload, MeasureError)
    return with_values(workload.module, workload.shapes)["main"]


def with_imports(module: Any) -> Iterable[Any]:
    """Yield a library and all that it imports: the VM's bytecode, constants, the host's code, the device's."""
    yield module
    for imported in getattr(module, "imports", ()):
        yield from with_imports(imported)


def _flat(value: Any) -> Iterable[np.ndarray]:
    """Return the arrays of a result, nested tuples flattened."""
    if hasattr(value, "numpy"):
        yield value.numpy()
        return
    for part in value:
        yield from _flat(part)


def _argument(value: Any, device: Any) -> Any:
    if isinstance(value, tuple):
        return [_argument(each, device) for each in value]
    if isinstance(value, list):
        return tvm_ffi.Shape(tuple(value))
    return tvm.runtime.tensor(value if isinstance(value, np.ndarray) else value.numpy(), device)


_MACHINE = "vm.builtin."
_ALLOCATES = f"{_MACHINE}alloc_tensor"
Seen = Callable[[RanCall], None]


class Following:
    """An instrument that recognises tensors by their memory: which call wrote each, and which are not yet written.

    `home`: returns the module with the compiled function of a name; None for the machine's own functions. `seen`:
    called with each call after it ran.
    """

    def __init__(self, home: Callable[[str], Any | None], seen: Seen) -> None:
        self.home = home
        self.seen = seen
        self.number = 0
        self.made: dict[int, Made] = {}
        "by address"
        self.fresh: set[int] = set()
        "addresses of allocated tensors that no call has written"

    def __call__(self, _function: Any, name: str, before: bool, result: Any, *arguments: Any) -> int:
        if not before and name == _ALLOCATES:
            self.fresh.add(result.data_ptr())
            self.made.pop(result.data_ptr(), None)
        elif not before and not name.startswith(_MACHINE):
            self._ran(name, arguments)
        return relax.VMInstrumentReturnKind.NO_OP

    def _ran(self, name: str, arguments: tuple[Any, ...]) -> None:
        tensors = {place: each for place, each in enumerate(arguments) if isinstance(each, tvm.runtime.Tensor)}
        addresses = {place: each.data_ptr() for place, each in tensors.items()}
        written = tuple(place for place, address in addresses.items() if address in self.fresh)
        self.fresh.difference_update(addresses.values())
        home = self.home(name)
        if home is None:
            # a library's function: its values are not of a kernel of the build
            return
        sources = {place: self.made.get(at) for place, at in addresses.items() if place not in written}
        self.seen(RanCall(name, home.get_function(name), arguments, sources, written, tvm.runtime.empty))
        self.made.update({addresses[place]: (self.number, output) for output, place in enumerate(written)})
        self.number += 1


def handed_over(run: Callable[[Seen], None]) -> Iterator[RanCall]:
    """Yield the calls that `run` reports. It runs in a thread, which waits after each call until the next one is taken."""
    reported: queue.SimpleQueue[RanCall | BaseException | None] = queue.SimpleQueue()
    turn = threading.Semaphore(0)
    ended = threading.Event()

    def report(call: RanCall) -> None:
        if not ended.is_set():
            reported.put(call)
            turn.acquire()

    def work() -> None:
        turn.acquire()
        try:
            if not ended.is_set():
                run(report)
            reported.put(None)
        except BaseException as error:  # noqa: BLE001  it is raised in the thread that takes the calls
            reported.put(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while True:
            turn.release()
            found = reported.get()
            if found is None:
                return
            if isinstance(found, BaseException):
                raise found
            yield found
    finally:
        ended.set()
        turn.release()
        thread.join()


class RelaxCompiler(Compiler):
    """Builds for Relax's virtual machine."""

    plan, fallbacks, probed = staticmethod(plan), staticmethod(fallbacks), staticmethod(probed)
    running, schedules = staticmethod(RelaxRunning), staticmethod(schedules)

    def optimized(
        self, workload: Workload, target: str, config: Mapping[str, Any], instruments: Sequence[Any] = ()
    ) -> tvm.IRModule:
        """Return the module after the compiler's own pipeline has decided on its kernels.

        It is the input of FuseTIR: a kernel is still a function of its operators, and can be drawn as a box of them.
        """
        made = make_target(target)
        watch = Watch()
        with made, pass_context(config, [watch, *instruments]):
            relax.get_default_pipeline(made)(workload.module)
        return watch.first(FUSED, CALLS)

    def unoptimized(self, workload: Workload, target: str) -> tuple[Workload, str]:
        """Return both unchanged: every operator of Relax is compiled at any opt level, for any CPU."""
        return workload, target

    def compiled(
        self, workload: Workload, target: str, config: Mapping[str, Any], instruments: Sequence[Any] = ()
    ) -> Built:
        """Build for Relax's virtual machine.

        The pipeline is passed by name: TVM's default fuses for a GPU only, and leaves every operator of a CPU build a
        kernel.
        """
        ask()
        made = make_target(target)
        watch, rules = Watch(), Rules()
        instruments = [watch, rules, *instruments]
        with compiled_where_it_runs(target), scheduled(config), pass_context(config, instruments), rules.watching():
            executable = tvm.compile(workload.module, made, relax_pipeline=pipeline(made, config))
        built = RelaxBuilt(self, workload, target, executable, watch)
        built.rules = {name: tried[-1].rule for name, tried in rules.attempts.items() if tried[-1].outcome == "took"}
        return built

    def fingerprint(self, workload: Workload, target: str, config: Mapping[str, Any]) -> str:
        """Return TVM's structural hash of the module after the whole default pipeline, values of constants included."""
        made = make_target(target)
        with made, pass_context(config, []):
            module = relax.get_default_pipeline(made)(workload.module)
        return f"{compat.structural_hash(module) & (1 << 64) - 1:016x}"


COMPILER = RelaxCompiler()
