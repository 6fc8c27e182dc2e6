"""Large constants of Relay for another process: parameters in the written module, bound by the reader.

TVM's JSON holds a constant as base64, which TVM writes and reads at some 15 MB a second. All other constants stay in
it: those of attributes, and of functions that TVM's pattern matcher does not rewrite because it made them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import tvm
from tvm import relay
from tvm.relay.dataflow_pattern import DFPatternCallback, is_constant, rewrite
from tvm.relay.function import FunctionWithFields

from workbench.dialects import arrays
from workbench.dialects.base import SAFE_DEPTH
from workbench.dialects.relay.compiler.optimization import copy
from workbench.dialects.relay.printed import parts

_LEAVES = (relay.Var, relay.GlobalVar, relay.Constant, relay.Constructor, tvm.ir.Op)


class Lifted(NamedTuple):
    """A module without its large constants."""

    module: tvm.IRModule
    numbers: dict[str, tvm.nd.NDArray]
    "the value of each parameter that replaces a constant, by its name"
    counts: dict[str, int]
    "the number of a function's parameters, the last ones, that replace constants"


def lifted(module: tvm.IRModule) -> Lifted:
    """Return the module with its large constants as parameters; the module itself if TVM cannot rewrite it safely."""
    functions = {gv: function for gv, function in module.functions.items() if isinstance(function, relay.Function)}
    if not _can_lift(functions.values()):
        return Lifted(module, {}, {})
    lift, thin, counts = _Lift(), copy(module), {}
    for global_var, function in functions.items():
        lift.used = {}
        new = rewrite(lift, function, module)
        if not lift.used:
            continue
        thin.update_func(global_var, FunctionWithFields(new, params=[*new.params, *lift.used]))
        counts[global_var.name_hint] = len(lift.used)
    return Lifted(thin, {name: numbers for numbers, name in lift.names.items()}, counts)


def bound(module: tvm.IRModule, numbers: Mapping[str, tvm.nd.NDArray], counts: Mapping[str, int]) -> tvm.IRModule:
    """Return a `Lifted` with its constants restored; types are not inferred."""
    constants: dict[relay.Var, relay.Constant] = {}
    for name, count in counts.items():
        function = module[name]
        taken = list(function.params)[-count:]
        constants.update((v, relay.Constant(numbers[v.name_hint])) for v in taken if v not in constants)
        module.update_func(module.get_global_var(name), relay.bind(function, {v: constants[v] for v in taken}))
    return module


class _Lift(DFPatternCallback):
    """Replaces each large constant by a variable, the same one for all its uses."""

    def __init__(self) -> None:
        super().__init__(require_type=False, rewrite_once=True)
        self.pattern = is_constant()
        self.names: dict[tvm.nd.NDArray, str] = {}
        self.variables: dict[relay.Constant, relay.Var] = {}
        self.used: dict[relay.Var, None] = {}

    def callback(self, pre: relay.Expr, post: relay.Constant, node_map: Any) -> relay.Expr:  # noqa: ARG002
        if not arrays.is_raw(post.data):
            return post
        if post not in self.variables:
            name = self.names.setdefault(post.data, str(len(self.names)))
            self.variables[post] = relay.var(name, shape=post.data.shape, dtype=post.data.dtype)
        self.used[self.variables[post]] = None
        return self.variables[post]


def _can_lift(functions: Collection[relay.Function]) -> bool:
    """Return whether there is a large constant, and no function so deep that rewriting it ends the process."""
    seen: list[bool] = []
    for function in functions:
        relay.analysis.post_order_visit(function, lambda expr: seen.append(_is_raw(expr)))
    return any(seen) and (len(seen) <= SAFE_DEPTH or max(map(_depth, functions)) <= SAFE_DEPTH)


def _is_raw(expr: relay.Expr) -> bool:
    return isinstance(expr, relay.Constant) and arrays.is_raw(expr.data)


def _depth(function: relay.Function) -> int:
    """Return the depth of a function, without recursion."""
    # by address: hashing and comparing expressions takes a call into TVM each
    heights: dict[int, int] = {}
    stack = [function]
    while stack:
        expr = stack[-1]
        below = [] if isinstance(expr, _LEAVES) else parts(expr)
        waiting = [part for part in below if part.handle.value not in heights]
        if waiting:
            stack.extend(waiting)
        else:
            heights[stack.pop().handle.value] = 1 + max((heights[part.handle.value] for part in below), default=0)
    return heights[function.handle.value]
