"""The memory plan of Relax's virtual machine, read from the module that StaticPlanBlockMemory leaves."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from math import prod
from typing import Any

import tvm
from tvm import relax

from workbench.analysis.tensors import Tensor
from workbench.dialects.base import Workload, refuse_without_main
from workbench.dialects.compiler.capture import pass_context
from workbench.dialects.compiler.results import GIVE_SIZES, Block, Planned, Value
from workbench.dialects.compiler.tvm_target import make_target
from workbench.dialects.relax import compat
from workbench.dialects.relax.compat import identity
from workbench.dialects.relax.compiler.kernels import CALLS, FUSED, KINDS, PLANNED, Watch, program_of_module
from workbench.dialects.relax.entries import run_alone
from workbench.dialects.relax.expressions import CALLERS, operands_of, sort_of
from workbench.dialects.relax.kinds import prim_funcs
from workbench.errors import MeasureError, reason_of

_OF_MACHINE = "relax.run."
"prefix of functions that the virtual machine has for operators without a kernel, such as shape_to_tensor"
Held = Any
"the value of an expression: a Block, a tuple of Values (several after an `if`), or a list of these for a tuple"


def plan(workload: Workload, target: str, config: Mapping[str, Any]) -> Planned:
    """Return the memory plan of a build, from the graph-level passes alone."""
    refuse_without_main(workload, MeasureError)
    made = make_target(target)
    watch = Watch(schedules=False)
    with made, pass_context(config, [watch]):
        try:
            module = relax.get_default_pipeline(made)(workload.module)
            relax.vm_build._vmcodegen(relax.ExecBuilder(), module)  # noqa: SLF001  it has no public name
        except Exception as error:
            if CALLS not in watch.kept:
                raise
            watch.refused = reason_of(error)
    found = plan_of_build(watch, workload, target)
    settings = f"{target} {config['options']} {config.get('schedules')}"
    kernels = (f"{compat.structural_hash(each)} {settings}" for each in prim_funcs(watch.first(CALLS)).values())
    found = replace(found, unproven=frozenset(kernels))
    if watch.refused and not found.program.failing:
        found = found.failed(f"no build runs: {watch.refused}")
    return found


def plan_of_build(watch: Watch, workload: Workload, target: str) -> Planned:
    """Return the memory plan of a build that was watched; without storages if a pass refused to plan."""
    program = program_of_module(run_alone(watch.first(CALLS), workload), workload.name)
    module = run_alone(watch.first(FUSED, CALLS), workload)
    if PLANNED not in watch.kept:
        notes = (program.failing or "no storages",)
        return Planned(program, len(program.calls), module, [], [], False, True, notes)
    planning = _Planning(run_alone(watch.kept[PLANNED], workload), workload.params, _device(make_target(target)))
    planning.run()
    # the calls of `main` are the first of a module with several functions
    if planning.calls > len(program.calls):
        raise MeasureError(
            f"the plan has {planning.calls} calls and the module {len(program.calls)}, so they cannot be matched"
        )
    notes = tuple(filter(None, (program.failing, *planning.notes())))
    return Planned(program, planning.calls, module, planning.values, planning.blocks, False, watch.kills, notes)


class _Planning:
    """Visits the bindings of `main` in order."""

    def __init__(self, module: tvm.IRModule, params: Collection[str], device: str) -> None:
        self.module = module
        self.main = module["main"]
        self.params = params
        self.devices = [_device(each.target) for each in module.global_infos.get("vdevice", ())] or [device]
        self.sizes = Sizes(self.main)
        self.calls = 0
        self.values: list[Value] = []
        self.blocks: list[Block] = []
        self.known: dict[int, Held] = {}
        self.unwritten: set[int] = set()
        "identities of the Values that no call has written yet"
        self.odd: dict[str, None] = {}
        "notes, without repeats"

    def run(self) -> None:
        for variable in self.main.params:
            name = compat.name_of(variable)
            role = "parameter" if name in self.params else "input"
            self.known[identity(variable)] = self.fresh(compat.type_of(variable), role, name)
        for value in _leaves(self.body(self.main.body)):
            value.role = "output" if value.role == "intermediate" else value.role

    def notes(self) -> Iterator[str]:
        yield from self.odd
        open = [value.name for value in self.values if value.expression and not value.bytes]
        if open:
            yield f"{', '.join(open[:3])} count as no bytes, because a dimension is open and has no bound; {GIVE_SIZES}"

    def fresh(self, type: Any, role: str, name: str = "", **more: Any) -> Held:
        """Return new Values for the tensors of a type."""
        if isinstance(type, compat.TupleType):
            return [self.fresh(each, role, name, **more) for each in type.fields]
        tensor = self.sizes.tensor(type)
        if tensor is None:
            return ()
        size, expression = self.sizes.of_tensor(type)
        value = Value(tensor, role, name, bytes=size, expression=expression, **more)
        self.values.append(value)
        return (value,)

    def body(self, body: Any) -> Held:
        if sort_of(body) != "sequence":
            return self.value(body)
        for block in body.blocks:
            for binding in block.bindings:
                self.bind(binding.var, self.value(binding.value), sort_of(binding.value))
        return self.value(body.body)

    def bind(self, variable: Any, held: Held, sort: str) -> None:
        self.known[identity(variable)] = held
        if isinstance(held, tuple) and len(held) == 1 and (sort == "variable" or not held[0].name):
            held[0].name = held[0].name if held[0].role in ("input", "parameter") else compat.name_of(variable)

    def value(self, expr: Any) -> Held:
        sort, key = sort_of(expr), identity(expr)
        if key in self.known:
            return self.known[key]
        if sort == "call":
            return self.call(expr)
        if sort == "tuple":
            return [self.value(each) for each in expr.fields]
        if sort == "get_item":
            held = self.value(expr.tuple_value)
            return held[expr.index] if isinstance(held, list) else ()
        if sort == "if":
            self.odd["it has an `if`: the plan has the steps of both arms, and a run takes one"] = None
            self.value(expr.cond)
            return _either(self.body(expr.true_branch), self.body(expr.false_branch))
        if sort == "constant":
            self.known[key] = self.fresh(compat.type_of(expr), "constant", "constant")
            return self.known[key]
        return self.body(expr) if sort == "sequence" else ()

    def call(self, call: relax.Call) -> Held:
        sort = sort_of(call.op)
        if sort == "op":
            return self.operator(str(call.op.name), call)
        if sort == "global" and isinstance(self.module[call.op], relax.Function):
            name = str(call.op.name_hint)
            self.odd[f"`main` calls @{name}: the plan does not have its steps and its memory"] = None
            return self.fresh(compat.type_of(call), "intermediate")
        return self.step(call)

    def operator(self, name: str, call: relax.Call) -> Held:
        if name == "relax.memory.alloc_storage":
            size, device, scope, _ = call.args
            return self.block(*self.sizes.of_shape(size), device, scope)
        if name == "relax.memory.alloc_tensor":
            block = self.value(call.args[0])
            return self.pending(call, block)
        if name == "relax.builtin.alloc_tensor":
            block = self.block(*self.sizes.of_tensor(compat.type_of(call)), *call.args[2:4], planned=False)
            return self.pending(call, block)
        if KINDS.get(name) == "noop":
            return self.renamed(call)
        return self.step(call) if name in (*CALLERS, *KINDS) else ()

    def block(self, size: int, expression: str, device: Any, scope: Any, planned: bool = True) -> Block:
        index, scope = compat.plain_value(device), compat.plain_value(scope)
        name = self.devices[index] if 0 <= index < len(self.devices) else self.devices[0]
        made = Block(len(self.blocks), size, name, expression, str(scope), planned)
        self.blocks.append(made)
        return made

    def pending(self, call: relax.Call, block: Block) -> Held:
        """Return a tensor in a block that the next call with it writes."""
        held = self.fresh(compat.type_of(call), "intermediate", storage=block.id)
        self.unwritten.update(map(id, held))
        return held

    def renamed(self, call: relax.Call) -> Held:
        """Return the same memory as a new tensor."""
        sources = list(_leaves(self.value(call.args[0])))
        self.read(sources)
        storage = sources[0].storage if sources else None
        made = self.fresh(compat.type_of(call), "intermediate", storage=storage, born=self.calls)
        self.calls += 1
        return made

    def step(self, call: relax.Call) -> Held:
        """Return the value of a call of compiled or external code."""
        self.read([value for operand in operands_of(call) for value in _leaves(self.value(operand))])
        if str(getattr(call.op, "global_symbol", "")).startswith(_OF_MACHINE):
            return self.fresh(compat.type_of(call), "intermediate", born=self.calls)
        made = self.fresh(compat.type_of(call), "intermediate", born=self.calls)
        self.calls += 1
        if any(_leaves(made)):
            self.odd["a call returns tensors that it allocates itself: they are not in the plan"] = None
        return made

    def read(self, values: list[Value]) -> None:
        for value in values:
            if id(value) in self.unwritten:
                self.unwritten.discard(id(value))
                value.born = self.calls
            elif self.calls not in value.readers[-1:]:
                value.readers.append(self.calls)


def _device(target: tvm.target.Target) -> str:
    """Return the name of the device that runs code for a target."""
    return "cpu" if target.kind.name in ("llvm", "c") else str(target.kind.name)


def _leaves(held: Held) -> Iterator[Value]:
    if isinstance(held, Value):
        yield held
    elif isinstance(held, (list, tuple)):
        for part in held:
            yield from _leaves(part)


def _either(first: Held, second: Held) -> Held:
    """Return the value of an `if`, of which either arm may be the result."""
    if isinstance(first, list) and isinstance(second, list):
        return [_either(one, other) for one, other in zip(first, second, strict=True)]
    return (*_leaves(first), *_leaves(second))


_BOUNDS = "tir_var_upper_bound"
"the attribute of a function with the largest value of each symbolic dimension; StaticPlanBlockMemory reads it"


class Sizes:
    """The sizes of a function's tensors."""

    def __init__(self, function: relax.Function) -> None:
        self.analyzer = compat.arithmetic().Analyzer()
        bounds = (function.attrs or {}).get(_BOUNDS) or {}
        limits = {str(name): int(bound) for name, bound in bounds.items()}
        for variable in compat.variables_of(compat.type_of(function)):
            name = compat.name_of(variable)
            if name in limits:
                self.analyzer.bind(variable, tvm.ir.Range(0, limits[name] + 1))

    def tensor(self, type: Any) -> Tensor | None:
        """Return a type as a Tensor; None for any other type, and where the shape is unknown."""
        values = compat.dimensions_of(type)
        if values is None:
            return None
        return Tensor(
            tuple(int(each) if compat.is_number(each) else str(each) for each in values), compat.dtype_of(type)
        )

    def of_tensor(self, type: Any) -> tuple[int, str]:
        """Return the bytes of a tensor, 0 where its size has no bound; and the expression of an open size."""
        tensor = self.tensor(type)
        if tensor is None or tensor.known:
            return 0 if tensor is None else tensor.nbytes, ""
        item = Tensor((), tensor.dtype).nbytes
        limits = [self.limit(each) for each in compat.dimensions_of(type) or ()]
        text = "*".join(str(each) if str(each).isalnum() else f"({each})" for each in (item, *tensor.shape))
        return item * prod(limits), text

    def of_shape(self, shape: Any) -> tuple[int, str]:
        """Return the bytes of an `alloc_storage`, and their expression if they are open."""
        (size,) = shape.values
        if compat.is_number(size):
            return int(size), ""
        return self.limit(size), str(size).replace(" ", "")

    def limit(self, expr: Any) -> int:
        """Return the largest value of an expression; 0 if it has no bound."""
        if compat.is_number(expr):
            return int(expr)
        found = self.analyzer.const_int_bound(expr).max_value
        return 0 if found >= compat.arithmetic().ConstIntBound.POS_INF else int(found)
