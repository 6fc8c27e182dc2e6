"""The block of a value that several blocks use: the innermost block around all its uses.

A block is the body of a function, an arm of an if, or a clause of a match. TVM's printer binds a shared value at its
first use, inside a branch though other blocks use it too; TVM's own passes place it as is done here
(src/relay/transforms/to_a_normal_form.cc, CalcScope).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workbench.dialects.relay.parser.ast import Expr
from workbench.errors import LoadError

Key = tuple[Expr, int]
"A block: the function, if or match that opens it, and the index of its part."


@dataclass(slots=True, eq=False)
class _Block:
    key: Key
    outer: _Block | None
    depth: int


def homes(function: Expr) -> dict[Expr, Key]:
    """Return the block of each value that is used in more than one.

    Raises
    ------
    LoadError
        A value uses itself, which text can express and a program cannot.
    """
    block_of: dict[Expr, _Block] = {function.args[0]: _Block((function, 0), None, 0)}
    shared: dict[Expr, Key] = {}
    for expr in reversed(_operands_first(function.args[0])):
        for operand, block in _uses(expr, block_of[expr]):
            known = block_of.get(operand)
            block_of[operand] = block if known is None else _around(known, block)
            if known is not None and known is not block:
                shared[operand] = block_of[operand].key
    return {expr: key for expr, key in shared.items() if expr.kind not in ("var", "constant")}


def _uses(expr: Expr, here: _Block) -> Iterator[tuple[Expr, _Block]]:
    """Yield the operands of an expression, each with its block."""
    inside = {"function": 0, "if": 1, "match": 1}.get(expr.kind, len(expr.args))
    for place, operand in enumerate(expr.args):
        yield operand, here if place < inside else _Block((expr, place), here, here.depth + 1)


def _around(a: _Block, b: _Block) -> _Block:
    """Return the innermost block around both."""
    while a.key != b.key:
        if a.depth < b.depth:
            a, b = b, a
        assert a.outer is not None, "the body of the function is around every block"
        a = a.outer
    return a


def _operands_first(start: Expr) -> list[Expr]:
    """Return every expression after all its operands, without recursion."""
    order: list[Expr] = []
    seen: set[Expr] = set()
    unfinished: set[Expr] = set()
    stack: list[tuple[Expr, bool]] = [(start, False)]
    while stack:
        expr, finished = stack.pop()
        if finished:
            order.append(expr)
            unfinished.discard(expr)
        elif expr in unfinished:
            raise LoadError(
                f"line {expr.line}: this value is made from itself; check the numbers %0, %1, ... of the text"
            )
        elif expr not in seen:
            seen.add(expr)
            unfinished.add(expr)
            stack.append((expr, True))
            stack.extend((operand, False) for operand in reversed(expr.args))
    return order
