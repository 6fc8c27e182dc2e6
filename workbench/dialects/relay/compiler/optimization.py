"""relay.optimize on a copy of the module, because it writes the parameters into its argument; and what counts and plans need of it.

For counts FoldConstant is replaced (`folding.py`), and AlterOpLayout and InferType do nothing twice. The memory plan of the graph executor
is TVM's own GraphPlanMemory on the fused module, without lowering it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import tvm
from tvm import autotvm, relay  # pyright: ignore[reportAttributeAccessIssue]  this is Relay's TVM
from tvm.relay.backend import te_compiler  # pyright: ignore[reportAttributeAccessIssue]  the same
from tvm.relay.function import FunctionWithFields
from tvm.target import codegen  # pyright: ignore[reportAttributeAccessIssue]  the same

from workbench.dialects.base import Workload, refuse_without_main
from workbench.dialects.compiler.capture import pass_context
from workbench.dialects.compiler.cuda_code import compiled_where_it_runs
from workbench.dialects.compiler.results import Block, Call, Planned, Value
from workbench.dialects.compiler.tuning import scheduled
from workbench.dialects.compiler.tvm_target import make_target
from workbench.dialects.relay.compiler.folding import Folder, NotPlain, at
from workbench.dialects.relay.compiler.kernels import Values, Walk, only_reshapes, tensor_of, tensors, typed
from workbench.dialects.relay.entries import copy, unshared
from workbench.dialects.relay.passes.rewriting import in_module, rewritten
from workbench.errors import MeasureError, TVMFailed, reason_of

_target_api: Any = codegen._ffi_api  # noqa: SLF001  what a schedule asks of LLVM has no public name


def optimize(workload: Workload, target: Any) -> tvm.IRModule:
    """Return the module after the graph-level part of relay.build, in the current PassContext."""
    with devices_in_words():
        module, _ = relay.optimize(unshared(copy(workload.module)), target=target, params=workload.params)
    return module


@contextmanager
def devices_in_words() -> Iterator[None]:
    """Raise a TVMFailed if TVM refuses the devices of a module: its own error ends with types or a list."""
    try:
        yield
    except tvm.TVMError as error:
        if found := _NO_TARGET.search(str(error)):
            device = tvm.runtime.Device.MASK2STR.get(int(found[1]), found[1])
            raise TVMFailed(
                f"the module places values on the device {device}, for which this target has no code; "
                "change its on_device and device_copy, or build for that device"
            ) from error
        if _CONFLICT.search(str(error)):
            raise TVMFailed(
                "TVM cannot place the module on devices: its on_device, device_copy and virtual_device contradict each other or "
                "this target; load the module as it was before PlanDevices, or without them"
            ) from error
        raise


_NO_TARGET = re.compile(r"No target is specified for device type (\d+)")
_CONFLICT = re.compile(
    r"VirtualDevices do not match|ncompatible virtual devices|fixed to VirtualDevice|Mismatched device type"
)


KEPT = 8
"functions known to be typed; passes return to an older one when a rewrite changed nothing"
_folder = Folder()


def quickly_optimized(workload: Workload, target: str, config: Mapping[str, Any]) -> tvm.IRModule:
    """Return the module after the graph-level part of relay.build; large constants have only a valid shape and type."""
    shortcuts = Shortcuts(_folder)
    module = _optimized(workload, target, config, shortcuts)
    return _optimized(workload, target, config, Shortcuts(None)) if shortcuts.unsure else module


def _optimized(workload: Workload, target: str, config: Mapping[str, Any], shortcuts: Any) -> tvm.IRModule:
    with scheduled(config, empty=True), pass_context(config, [shortcuts]), shortcuts.memory:
        return optimize(workload, make_target(target))


@tvm.ir.instrument.pass_instrument
class Shortcuts:
    """Decides for each pass whether it runs.

    `folder`: the replacement of FoldConstant; None to let TVM fold.
    """

    def __init__(self, folder: Folder | None) -> None:
        self.folder = folder
        self.unsure = False
        "whether TVM's FoldConstant ran over constants that ours left unwritten"
        self.folded = False
        self.typed: dict[Any, None] = {}
        "functions as InferType returned them, the newest last"
        self.memory = Implementations()

    def should_run(self, module: tvm.IRModule, info: Any) -> bool:
        """Return whether to run a pass; TVM calls it before each one."""
        if info.name == "InferType":
            return not all(function in self.typed for function in _functions(module))
        if info.name == "FoldConstant" and self.folder is not None:
            return not self._fold(self.folder, module)
        return info.name != "LabelOps"

    def run_before_pass(self, module: tvm.IRModule, info: Any) -> None:  # noqa: ARG002  TVM's signature
        """Prepare for a pass; TVM calls it before each pass that runs."""
        self.memory.asked = info.name == "AlterOpLayout"

    def run_after_pass(self, module: tvm.IRModule, info: Any) -> None:
        """Record the result of a pass; TVM calls it after each one."""
        self.memory.asked = False
        if info.name == "InferType":
            self.typed = dict.fromkeys([*list(self.typed)[-KEPT:], *_functions(module)])

    def _fold(self, folder: Folder, module: tvm.IRModule) -> bool:
        try:
            folder.fold(module)
        except NotPlain:
            self.unsure = self.folded
            return False
        self.folded = True
        return True


def _functions(module: tvm.IRModule) -> list[Any]:
    return [function for _, function in module.functions.items()]


class Implementations:
    """Have AlterOpLayout call the operator strategy once for calls of the same operator, attributes and types.

    It needs only the resulting layout. Lowering, which needs an answer for its own tensors, is not affected. LLVM, whose answer about
    a processor takes 0.2 ms, is asked once about each feature; strategies and legalizations ask for each operator.
    """

    def __init__(self) -> None:
        self.asked = False
        "whether AlterOpLayout is running"
        self._known: dict[tuple[Any, ...], Any] = {}
        self._choose: Any = None
        self._has: Any = None

    def __enter__(self) -> None:
        self._choose = te_compiler.select_implementation
        te_compiler.select_implementation = self
        self._has = _target_api.target_has_feature
        features: dict[tuple[str, str], bool] = {}

        def has(name: str, target: Any) -> bool:
            key = name, str(target or tvm.target.Target.current())
            if key not in features:
                features[key] = self._has(name, target)
            return features[key]

        _target_api.target_has_feature = has

    def __exit__(self, *_: object) -> None:
        te_compiler.select_implementation = self._choose
        _target_api.target_has_feature = self._has

    def __call__(self, op: Any, attrs: Any, inputs: Any, out_type: Any, target: Any, *more: Any, **named: Any) -> Any:
        if not self.asked:
            return self._choose(op, attrs, inputs, out_type, target, *more, **named)
        types = (*map(tensor_of, inputs), *tensors(out_type))
        options = (*more, *sorted(named.items()))
        key = (op.name, tvm.ir.save_json(attrs), types, str(target), options)
        if key not in self._known:
            self._known[key] = self._choose(op, attrs, inputs, out_type, target, *more, **named)
        return self._known[key]


@contextmanager
def silent_autotvm() -> Iterator[None]:
    """Keep AutoTVM from logging each operator that was not tuned."""
    before, autotvm.GLOBAL_SCOPE.silent = autotvm.GLOBAL_SCOPE.silent, True
    try:
        yield
    finally:
        autotvm.GLOBAL_SCOPE.silent = before


_PLAN = "relay.backend.GraphPlanMemory"


def plan(workload: Workload, target: str, config: Mapping[str, Any]) -> Planned:
    """Return the memory plan of a build, from the graph-level passes alone."""
    refuse_without_main(workload, MeasureError)
    return plan_of_module(quickly_optimized(workload, target, config), target, workload.params, config)


def plan_of_module(
    module: tvm.IRModule, target: str, params: Collection[str], config: Mapping[str, Any] | None = None
) -> Planned:
    """Return the memory plan of a fused module; `config` is None if it was compiled.

    The notes have the reason if the graph executor cannot run the module; it has no storages then.
    """
    module = typed(module)
    walk = _Planning(module, "hexagon" in target, params)
    program = walk.program()
    only_a_build = config is not None and bool(walk.odd or config.get("schedules"))
    if config is not None and not program.failing and not only_a_build:
        program = replace(program, failing=failure(walk.kernels, target, config))
    if program.failing:
        notes = (f"no storages: {program.failing}",)
        return Planned(program, len(program.calls), module, list(walk.values.values()), [], True, False, notes)
    if any(call.kind == "noop" for call in program.calls):
        walk = _Planning(with_marked_reshapes(module), "hexagon" in target, params)
        program = walk.program()
    blocks = walk.assign()
    # the hash reads every weight
    unproven = [f"{tvm.ir.structural_hash(module)} {target} {config}"] if only_a_build else []
    values = list(walk.values.values())
    return Planned(program, len(program.calls), module, values, blocks, True, False, unproven=frozenset(unproven))


class _Planning(Walk):
    """A walk that also records the tensors of the executor, and which calls read them."""

    def __init__(self, module: tvm.IRModule, has_qnn: bool, params: Collection[str]) -> None:
        super().__init__(module, has_qnn)
        self.values: dict[int, Value] = {}
        "by the identity of its Tensor: there is one for each tensor of the run"
        self.exprs: dict[int, Values] = {}
        "address of each expression that gets storages -> its tensors"
        for variable in module["main"].params:
            self.known[at(variable)] = self.value(variable)
            for value in self.of(variable):
                value.name = str(variable.name_hint)
                value.role = "parameter" if value.name in params else "input"

    def value(self, expr: Any) -> Values:
        found = super().value(expr)
        if isinstance(expr, (relay.Var, relay.Constant)):
            self.exprs[at(expr)] = found
            self.values |= {id(tensor): Value(tensor, "constant") for _, tensor in found}
        return found

    def parts(self, expr: Any) -> Iterator[Any]:
        return iter((expr.args[1],)) if is_marked(expr) else super().parts(expr)

    def call(self, call: relay.Call) -> Values:
        given = call.args[1:] if is_marked(call) else call.args[:]
        read = [tensor for argument in given for _, tensor in self.known[at(argument)]]
        made = self.reshape(call) if is_marked(call) else super().call(call)
        place = len(self.calls) - 1
        for tensor in read:
            self.values[id(tensor)].readers.append(place)
        self.exprs[at(call)] = made
        self.values |= {id(tensor): Value(tensor, "intermediate", born=place) for _, tensor in made}
        return made

    def reshape(self, call: relay.Call) -> Values:
        sources, inputs = zip(*self.known[at(call.args[1])], strict=True)
        made = tuple(tensors(call.checked_type))
        self.calls.append(Call("__nop", "__nop", "noop", inputs, sources, made))
        return [(len(self.calls) - 1, tensor) for tensor in made]

    def of(self, expr: Any) -> list[Value]:
        """Return the tensors of an expression's value."""
        return [self.values[id(tensor)] for _, tensor in self.known[at(expr)]]

    def assign(self) -> list[Block]:
        """Set the role and the storage of each tensor, and return the blocks of the executor, by id."""
        main = self.module["main"]
        storages = {at(expr): info for expr, info in tvm.get_global_func(_PLAN)(main).expr_to_storage_info.items()}
        for value in self.of(main.body):
            value.role = "output" if value.role == "intermediate" else value.role
        placed = [
            (self.values[id(tensor)], int(number), device)
            for key, tensors in self.exprs.items()
            for (_, tensor), number, device in zip(
                tensors, storages[key].storage_ids[:], storages[key].virtual_devices[:], strict=True
            )
        ]
        # a reshape of a constant has the constant's storage
        apart = {number for value, number, _ in placed if value.role in ("parameter", "constant")}
        blocks: dict[int, Block] = {}
        for value, number, device in placed:
            if number not in apart:
                value.storage = number
                # as the executor does: TVM's plan has the size of each tensor only
                size = max(value.tensor.nbytes, blocks[number].bytes if number in blocks else 0)
                kind = int(device.device_type_int)
                name = tvm.runtime.Device.MASK2STR.get(kind, str(kind))
                blocks[number] = Block(number, size, name, scope=str(device.memory_scope) or "global")
        return [blocks[number] for number in sorted(blocks)]


_LOWERED = tvm.ir.Op.get("call_lowered")


def is_marked(expr: Any) -> bool:
    """Return whether an expression is a reshape that `with_marked_reshapes` marked."""
    return isinstance(expr, relay.Call) and expr.op == _LOWERED


def with_marked_reshapes(module: tvm.IRModule) -> tvm.IRModule:
    """Return the module with each reshape of `main` as a call of a lowered function, typed: GraphPlanMemory sees one only so."""
    main, memo = module["main"], dict[relay.Expr, relay.Expr]()
    functions: dict[Any, relay.Function] = {}

    def mark(expr: relay.Expr) -> None:
        if isinstance(expr, relay.Call) and only_reshapes(expr.op):
            variable = tvm.ir.GlobalVar(f"reshape_{len(functions)}")
            functions[variable] = expr.op
            attributes = tvm.ir.make_node("relay.attrs.CallLoweredAttrs", metadata={"relay_attrs": expr.op.attrs})
            arguments = relay.Tuple([rewritten(each, memo) for each in expr.args[:]])
            memo[expr] = relay.Call(_LOWERED, [variable, arguments], attributes)
        elif isinstance(expr, relay.Function):
            memo[expr] = expr

    relay.analysis.post_order_visit(main.body, mark)
    return in_module(module, {**functions, "main": FunctionWithFields(main, body=rewritten(main.body, memo))})


_GENERATED = {"float32"}
"data types whose kernels LLVM and CUDA take once they are lowered; code is generated of the others"
_failures: dict[tuple[int, str, str], str] = {}
"hash of a kernel, target and settings -> the reason why TVM does not compile it; empty if it does"


def failure(kernels: Iterable[relay.Function], target: str, config: Mapping[str, Any]) -> str:
    """Return the reason why TVM does not compile one of these kernels; empty if it compiles all.

    Each one is lowered once in this process, as relay.build does; the passes before do not tell. A layout without a schedule, a data
    type without a rule and a kernel without threads for a GPU show here only. A build of bert-12 takes ten seconds and its 13
    different kernels half a second, once; `benchmarks/counts.py` has the bar.
    """
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
        names: list[str] = []
        relay.analysis.post_order_visit(
            kernel.body,
            lambda expr: names.append(expr.op.name) if isinstance(getattr(expr, "op", None), tvm.ir.Op) else None,
        )
        return f"TVM does not compile {' and '.join(names) or 'a kernel'}: {reason_of(error)}"
    return ""
