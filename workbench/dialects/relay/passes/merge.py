"""MergeIdenticalKernels: merges equal kernels with equal arguments, and fuses again where that becomes possible."""

from __future__ import annotations

from dataclasses import dataclass

import tvm
from tvm import relay

from workbench.dialects.relay.passes.rewriting import Memo, dataflow, in_module, operands, rewritten, with_parts


@tvm.transform.module_pass(opt_level=0, name="MergeIdenticalKernels")
@dataclass(frozen=True)
class MergeIdenticalKernels:
    """After fusion, merge calls of equal Primitive functions on equal arguments, and fuse their neighbours again.

    TVM compiles equal kernels once but runs each call, and EliminateCommonSubexpr ignores calls of functions. A merged
    kernel may be the only user of its producer, which can then fuse with it: the value between them never reaches
    memory. Constants are equal if their values are.
    """

    fuse_again: bool = True
    "whether to split the merged kernels and their neighbours and fuse them again, if that makes fewer kernels"

    def transform_module(self, module: tvm.IRModule, _: tvm.transform.PassContext) -> tvm.IRModule:
        """Run on a module; return it unchanged if it has no equal kernels."""
        typed = relay.transform.InferType()(module)
        merged, taken_apart = {}, {}
        for name, function in typed.functions.items():
            kinds = ("Compiler", "Primitive", "SkipOptimization")
            if not isinstance(function, relay.Function) or any(function.attrs and function.attrs.get(k) for k in kinds):
                continue
            result, kept = _merged(function)
            if kept:
                merged[name.name_hint] = result
                taken_apart[name.name_hint] = _apart(result, kept)
        if not merged:
            return module
        once = in_module(typed, merged)
        if not self.fuse_again:
            return once
        fused = relay.transform.FuseOps(fuse_opt_level=2)(in_module(typed, taken_apart))
        return relay.transform.InferType()(fused) if _count(fused) < _count(once) else once


def is_kernel(expr: relay.Expr) -> bool:
    """Return whether an expression calls a Primitive function that TVM generates code for."""
    if not isinstance(expr, relay.Call) or not isinstance(expr.op, relay.Function) or not expr.op.attrs:
        return False
    attrs = expr.op.attrs
    return bool(attrs.get("Primitive")) and not attrs.get("Compiler") and not attrs.get("Composite")


def _merged(function: relay.Function) -> tuple[relay.Function, list[relay.Expr]]:
    """Return the function with equal kernels merged, and the calls in it that each replace several.

    Only kernels of the function's own block are merged, not those in the arms of an If: a kernel of one arm must not
    run because the other arm has an equal one.
    """
    numbers = _Numbers()
    memo: Memo = {}
    first: dict[int, relay.Expr] = {}
    kept: dict[relay.Expr, None] = {}
    for expr in dataflow(function.body):
        old = operands(expr)
        new = with_parts(expr, old, [memo.get(part, part) for part in old])
        number = numbers.of(new)
        if is_kernel(new) and not _has_state(new.op):
            original = first.setdefault(number, new)
            if not original.same_as(new):
                kept[original] = None
                new = original
        memo[expr] = new
    return (rewritten(function, memo), list(kept)) if kept else (function, [])


class _Numbers:
    """Equal numbers for equal values: of kernels, tuples, fields and constants."""

    def __init__(self) -> None:
        self._of: dict[relay.Expr, int] = {}
        self._keys: dict[tuple, int] = {}
        self._structures: dict[int, list[relay.Expr]] = {}

    def of(self, expr: relay.Expr) -> int:
        """Return the number of a value whose operands are numbered, or are leaves."""
        if expr not in self._of:
            self._of[expr] = self._keys.setdefault(self._key(expr), len(self._keys))
        return self._of[expr]

    def _key(self, expr: relay.Expr) -> tuple:
        if is_kernel(expr):
            return ("kernel", self._structure(expr.op), *map(self.of, expr.args))
        if isinstance(expr, relay.Tuple):
            return ("tuple", *map(self.of, expr.fields))
        if isinstance(expr, relay.TupleGetItem):
            return ("field", expr.index, self.of(expr.tuple_value))
        if isinstance(expr, relay.Constant):
            return ("constant", self._structure(expr))
        return ("this", expr)

    def _structure(self, expr: relay.Expr) -> tuple[int, int]:
        """Return a key that structurally equal expressions share."""
        hash = int(tvm.ir.structural_hash(expr))
        alike = self._structures.setdefault(hash, [])
        for place, other in enumerate(alike):
            if tvm.ir.structural_equal(expr, other):
                return hash, place
        alike.append(expr)
        return hash, len(alike) - 1


def _has_state(function: relay.Function) -> bool:
    """Return whether two runs of the kernel may give different values."""
    return any(
        isinstance(expr, relay.Call) and isinstance(expr.op, tvm.ir.Op) and bool(expr.op.get_attr("TOpIsStateful"))
        for expr in dataflow(function.body)
    )


def _apart(function: relay.Function, kept: list[relay.Expr]) -> relay.Function:
    """Return the function with the merged kernels and their neighbours inlined."""
    merged = set(kept)
    apart = set(kept)
    for expr in dataflow(function.body):
        if is_kernel(expr):
            if expr in merged:
                apart.update(arg for arg in expr.args if is_kernel(arg))
            if any(arg in merged for arg in expr.args):
                apart.add(expr)
    memo: Memo = {}
    for expr in dataflow(function.body):
        old = operands(expr)
        new = with_parts(expr, old, [memo.get(part, part) for part in old])
        if expr in apart:
            new = rewritten(new.op.body, dict(zip(new.op.params, new.args, strict=True)))
        memo[expr] = new
    return rewritten(function, memo)


def _count(module: tvm.IRModule) -> int:
    """Return the number of kernel calls in the blocks of the module's functions."""
    functions = [f for f in module.functions.values() if isinstance(f, relay.Function)]
    return sum(is_kernel(expr) for function in functions for expr in dataflow(function.body))
