"""Rewriting Relay without recursion: graphs of real models nest deeply."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import tvm
from tvm import relay
from tvm.relay.expr import CallWithFields, IfWithFields, LetWithFields, TupleGetItemWithFields, TupleWithFields

from workbench.dialects.relay.entries import copy, with_entry
from workbench.dialects.relay.printer import parts

_WITH_PARTS = (
    *(relay.Call, relay.Tuple, relay.TupleGetItem, relay.Function, relay.Let, relay.If, relay.Match),
    *(relay.RefCreate, relay.RefRead, relay.RefWrite),
)
Memo = dict[relay.Expr, relay.Expr]
Change = Callable[[relay.Expr, list[relay.Expr]], "list[relay.Expr]"]


def rewritten(root: relay.Expr, memo: Memo, change: Change | None = None, instead: Memo | None = None) -> relay.Expr:
    """Return `root` with every expression of `memo` replaced; unaffected expressions stay the same objects.

    `memo`: expression -> its replacement. It is filled with everything that was visited. `change`: given an
    expression and its new parts (`printed.parts`), returns the parts to use instead. `instead`: expression -> its
    replacement, which is rewritten too.
    """
    stack = [root]
    instead = instead or {}
    while stack:
        expr = stack[-1]
        if expr in memo:
            stack.pop()
            continue
        successor = instead.get(expr)
        old = operands(expr) if successor is None else [successor]
        waiting = [part for part in old if part not in memo]
        if waiting:
            stack.extend(reversed(waiting))
            continue
        new = [memo[part] for part in old]
        if successor is not None:
            memo[expr] = new[0]
            stack.pop()
            continue
        memo[expr] = with_parts(expr, old, change(expr, new) if change else new)
        stack.pop()
    return memo[root]


def operands(expr: relay.Expr) -> list[relay.Expr]:
    """Return the parts of an expression; none for a leaf. The parameters of a function are not parts of it."""
    return parts(expr) if isinstance(expr, _WITH_PARTS) else []


def dataflow(body: relay.Expr) -> Iterator[relay.Expr]:
    """Yield the calls, tuples and fields of a body in post-order, without those of other scopes."""
    seen: set[relay.Expr] = set()
    stack = [(body, False)]
    while stack:
        expr, finished = stack.pop()
        if finished:
            yield expr
        elif expr not in seen and isinstance(expr, (relay.Call, relay.Tuple, relay.TupleGetItem)):
            seen.add(expr)
            stack.append((expr, True))
            stack.extend((part, False) for part in reversed(operands(expr)))


def with_parts(expr: relay.Expr, old: list[relay.Expr], new: list[relay.Expr]) -> relay.Expr:
    """Return the expression with other parts; itself if they are the same objects."""
    if all(a.same_as(b) for a, b in zip(old, new, strict=True)):
        return expr
    # these functions of TVM's keep devices and spans; an argument that is not given to them is any value
    if isinstance(expr, relay.Call):
        callee, arguments = (new[0], new[1:]) if len(new) > len(expr.args) else (expr.op, new)
        # type arguments are inferred again with the function's types
        return CallWithFields(expr, callee, arguments, None, [], None, None)
    if isinstance(expr, relay.Tuple):
        return TupleWithFields(expr, new, None, None)
    if isinstance(expr, relay.Function):
        return with_body(expr, new[0])
    if isinstance(expr, relay.Let):
        return LetWithFields(expr, expr.var, *new[1:], None, None)
    if isinstance(expr, relay.Match):
        clauses = [relay.Clause(c.lhs, body) for c, body in zip(expr.clauses, new[1:], strict=True)]
        return relay.Match(new[0], clauses, expr.complete)
    if isinstance(expr, relay.TupleGetItem):
        return TupleGetItemWithFields(expr, new[0], None, None, None)
    return IfWithFields(expr, *new, None, None) if isinstance(expr, relay.If) else type(expr)(*new)


def with_body(function: relay.Function, body: relay.Expr) -> relay.Function:
    """Return the function with another body; its result type is inferred again."""
    return relay.Function(list(function.params), body, None, function.type_params, function.attrs, function.span)


def in_module(module: tvm.IRModule, functions: Mapping[Any, relay.Function]) -> tvm.IRModule:
    """Return a copy of the module with some functions added or replaced, by name or GlobalVar; types inferred."""
    changed = copy(module)
    for name, function in functions.items():
        changed[name] = function
    return relay.transform.InferType()(changed)


def everywhere(
    module: tvm.IRModule,
    change: Callable[[relay.Function], relay.Function],
    added: Mapping[Any, relay.Function] | None = None,
) -> tvm.IRModule:
    """Return a copy of the module with each function changed, and some added; types inferred."""
    functions = dict(added or {})
    for name, function in module.functions.items():
        if isinstance(function, relay.Function) and not (new := change(function)).same_as(function):
            functions[name.name_hint] = new
    return in_module(module, functions)


def with_main(module: tvm.IRModule, main: relay.Function) -> tvm.IRModule:
    """Return the module with another `main`, without the functions that it does not call; types inferred."""
    made = copy(module)
    made["main"] = main
    return with_entry(made, "main")
