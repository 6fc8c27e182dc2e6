"""Which scalar constants are one object: TVM prints the value at each use, and FuseOps treats one and two differently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import tvm
from tvm import relay

from workbench.dialects.relay.ast import Expr, Module
from workbench.dialects.relay.printed import parts


def share_scalars(module: tvm.IRModule, parsed: Module) -> None:
    """Make uses of one scalar object references to one Expr, as uses of any other value are."""
    constants = [expr for expr in _expressions(parsed) if expr.kind == "constant"]
    printed = Counter((expr.text, expr.type) for expr in constants if _is_scalar(expr))
    uses = sum(not expr.type.startswith("Tensor[") for expr in constants)
    if max(printed.values(), default=1) > 1 and _scalars(module, parsed) < uses:
        _merge(module, parsed)


def _is_scalar(expr: Expr) -> bool:
    return expr.kind == "constant" and not expr.text.startswith("meta[")


def _expressions(parsed: Module) -> Iterator[Expr]:
    seen: set[Expr] = set()
    waiting = list(parsed.functions.values())
    while waiting:
        expr = waiting.pop()
        if expr not in seen:
            seen.add(expr)
            waiting += expr.args
            yield expr


def _scalars(module: tvm.IRModule, parsed: Module) -> int:
    """How many scalar objects there are; asking TVM's visitor costs a fifth of walking beside the text."""
    found: set[int] = set()

    def note(expr: relay.Expr) -> None:
        if isinstance(expr, relay.Constant) and not expr.data.shape:
            found.add(expr.handle.value)

    for name in parsed.functions:
        relay.analysis.post_order_visit(module[name], note)
    return len(found)


def _merge(module: tvm.IRModule, parsed: Module) -> None:
    first: dict[int, Expr] = {}
    seen: set[Expr] = set()
    waiting = [(function, module[name]) for name, function in parsed.functions.items()]
    while waiting:
        said, meant = waiting.pop()
        if said in seen or said.kind in ("var", "op", "global", "constructor", "constant"):
            continue
        seen.add(said)
        pairs = list(zip(said.args, parts(meant), strict=True))
        said.args = tuple(first.setdefault(m.handle.value, s) if _is_scalar(s) else s for s, m in pairs)
        waiting += pairs
