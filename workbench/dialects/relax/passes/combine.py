"""CombineParallelConv2D, which TVM's Relax lacks: combines convolutions of one tensor into one with all their filters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax

from workbench.dialects.relax import compat
from workbench.dialects.relax.compat import identity, type_of
from workbench.dialects.relax.passes.rewriting import Place, around, behind, used, with_block

_CONV = "relax.nn.conv2d"


@tvm.transform.module_pass(opt_level=0, name="CombineParallelConv2D")
@dataclass(frozen=True)
class CombineParallelConv2D:
    """Combine convolutions of the same tensor with filters of one size into one, and split its result.

    It does the same as Relay's pass of this name; for matrix products TVM has CombineParallelMatmul. The attributes,
    the layout of the filters and the types must be the same, `groups` 1, and no filter may depend on another one's
    result.
    """

    min_num_branches: int = 3
    "the default of TVM's Relay pass"

    def transform_module(self, module: tvm.IRModule, _: tvm.transform.PassContext) -> tvm.IRModule:
        """Run on a module; return it unchanged if it has no such convolutions."""
        for variable in sorted(module.get_global_vars(), key=lambda found: found.name_hint):
            function = module[variable]
            if not isinstance(function, relax.Function):
                continue
            for index, block in enumerate(function.body.blocks):
                if not isinstance(block, relax.DataflowBlock):
                    continue
                place = Place(variable.name_hint, index)
                for group in _groups(list(block.bindings), self.min_num_branches):
                    module = _combined(module, place, group)
        return module


def _groups(bindings: list[Any], least: int) -> list[list[Any]]:
    """Return the bindings of convolutions that can be combined, those of each group in order."""
    alike: dict[Any, list[Any]] = {}
    for binding in bindings:
        key = _key(binding.value)
        if key is not None:
            alike.setdefault(key, []).append(binding)
    found = []
    for group in alike.values():
        independent: list[Any] = []
        for binding in group:
            others = behind(bindings, [other.var for other in independent])
            if not any(identity(each) in others for each in used(binding)):
                independent.append(binding)
        if len(independent) >= max(2, least):
            found.append(independent)
    return found


def _key(value: Any) -> Any:
    """Return a key that convolutions which can be combined share; None for anything else."""
    if not isinstance(value, relax.Call) or getattr(value.op, "name", "") != _CONV:
        return None
    attrs = value.attrs
    data, filters = value.args
    shape = compat.fixed_shape(type_of(filters))
    layout, out = str(attrs.kernel_layout), str(attrs.out_layout)
    if shape is None or int(attrs.groups) != 1 or not {"O", "I"} <= set(layout) or "C" not in out or not out.isalpha():
        return None
    rest = tuple(size for axis, size in zip(layout, shape, strict=True) if axis != "O")
    numbers = tuple(tuple(map(int, getattr(attrs, name))) for name in ("strides", "padding", "dilation"))
    types = (compat.dtype_of(type_of(filters)), str(attrs.out_dtype))
    return identity(data), rest, numbers, str(attrs.data_layout), layout, out, types


def _combined(module: tvm.IRModule, place: Place, group: list[Any]) -> tvm.IRModule:
    chosen = {identity(binding.var) for binding in group}

    def change(bindings: list[Any]) -> list[Any]:
        first, last = around(bindings, chosen)
        return [*first, *_one(group), *last]

    return with_block(module, place, change)


def _one(group: list[Any]) -> list[Any]:
    """Return the bindings of the combined convolution, and of each branch's part of its result."""
    calls = [binding.value for binding in group]
    attrs = calls[0].attrs
    axis = str(attrs.kernel_layout).index("O")
    sizes = [compat.fixed_shape(type_of(call.args[1]))[axis] for call in calls]  # pyright: ignore[reportOptionalSubscript]  the key asked for it
    ends = [sum(sizes[: place + 1]) for place in range(len(sizes) - 1)]
    builder = relax.BlockBuilder()
    made: list[Any] = []

    def bound(value: relax.Expr, name: str) -> relax.DataflowVar:
        variable = relax.DataflowVar(name, type_of(builder.normalize(value)))
        made.append(relax.VarBinding(variable, value))
        return variable

    filters = bound(relax.op.concat([call.args[1] for call in calls], axis=axis), "filters")
    whole = bound(relax.Call(calls[0].op, [calls[0].args[0], filters], attrs), "combined")
    parts = bound(relax.op.split(whole, ends, axis=str(attrs.out_layout).index("C")), "parts")
    made += [relax.VarBinding(b.var, relax.TupleGetItem(parts, place)) for place, b in enumerate(group)]
    return made
