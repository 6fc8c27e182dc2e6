"""The memory plan of the graph executor, from TVM's own GraphPlanMemory on the fused module, without lowering it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import tvm
from tvm import relay

from workbench.dialects.base import Workload
from workbench.dialects.compiler.counted import Call
from workbench.dialects.compiler.planned import Block, Planned, Value
from workbench.dialects.entries import refuse_without_main
from workbench.dialects.relay.compiler.folding import at
from workbench.dialects.relay.compiler.kernels import Values, Walk, tensors, typed
from workbench.dialects.relay.compiler.lowering import failure
from workbench.dialects.relay.compiler.optimization import quickly_optimized
from workbench.dialects.relay.compiler.reshapes import is_marked, with_marked_reshapes
from workbench.errors import MeasureError

_PLAN = "relay.backend.GraphPlanMemory"


def plan(workload: Workload, target: str, config: Mapping[str, Any]) -> Planned:
    """Return the memory plan of a build, from the graph-level passes alone."""
    refuse_without_main(workload, MeasureError)
    return plan_of_module(quickly_optimized(workload, target, config), target, config, workload.params)


def plan_of_module(module: tvm.IRModule, target: str, config: Mapping[str, Any], params: Collection[str]) -> Planned:
    """Return the memory plan of a fused module.

    The notes have the reason if the graph executor cannot run the module; it has no storages then.
    """
    module = typed(module)
    walk = _Planning(module, "hexagon" in target, params)
    program = walk.program()
    only_a_build = bool(walk.odd or config.get("schedules"))
    if not program.failing and not only_a_build:
        kernels = (function for alike in walk.kernels.values() for function, _ in alike)
        program = replace(program, failing=failure(kernels, target, config))
    if program.failing:
        notes = (f"no storages: {program.failing}",)
        return Planned(program, len(program.calls), module, list(walk.values.values()), [], True, False, notes)
    if any(call.kind == "noop" for call in program.calls):
        walk = _Planning(with_marked_reshapes(module), "hexagon" in target, params)
        program = walk.program()
    blocks = walk.assign()
    key = f"{tvm.ir.structural_hash(module)} {target} {config}"
    unproven = frozenset([key] if only_a_build else [])
    values = list(walk.values.values())
    return Planned(program, len(program.calls), module, values, blocks, True, False, unproven=unproven)


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
        given = call.args[1:] if is_marked(call) else call.args
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
                tensors, storages[key].storage_ids, storages[key].virtual_devices, strict=True
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
                blocks[number] = _block(number, size, device)
        return [blocks[number] for number in sorted(blocks)]


def _block(number: int, size: int, device: Any) -> Block:
    kind = int(device.device_type_int)
    name = tvm.runtime.Device.MASK2STR.get(kind, str(kind))
    return Block(number, size, name, scope=str(device.memory_scope) or "global")
