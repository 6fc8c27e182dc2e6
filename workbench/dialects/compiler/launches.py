"""Device kernel launches of a compiled function, read from its host part by class names that every TVM shares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import tvm

Launches = tuple[int, bool]
"the number, and whether it is exact; otherwise it is a lower bound"


def launches_of(modules: Iterable[tvm.IRModule]) -> dict[str, Launches]:
    """Return host function -> its launches.

    Parameters
    ----------
    modules
        As the pass that splits host and device parts returned them: a host part calls its kernels by name.
    """
    found: dict[str, Launches] = {}
    for module in modules:
        functions = {variable.name_hint: function for variable, function in module.functions.items()}
        for name, function in functions.items():
            if type(function).__name__ == "PrimFunc":
                found[name] = _launches(function.body, functions)
    return found


def _launches(stmt: Any, functions: dict[str, Any]) -> Launches:
    kind = type(stmt).__name__
    if kind == "SeqStmt":
        parts = [_launches(part, functions) for part in stmt]
        return sum(count for count, _ in parts), all(exact for _, exact in parts)
    if kind == "IfThenElse":
        return _either(stmt, functions)
    if kind in ("For", "While"):
        count, exact = _launches(stmt.body, functions)
        if count == 0:
            return 0, exact
        # the extent is a number where the shapes are known
        known = kind == "For" and type(stmt.extent).__name__ == "IntImm"
        return (count * int(stmt.extent), exact) if known else (count, False)
    count, exact = _call(getattr(stmt, "value", None), functions)
    inner = getattr(stmt, "body", None)
    if inner is None:
        return count, exact
    below, also = _launches(inner, functions)
    return count + below, exact and also


def _either(stmt: Any, functions: dict[str, Any]) -> Launches:
    least, exact = _launches(stmt.then_case, functions)
    other, also = (0, True) if stmt.else_case is None else _launches(stmt.else_case, functions)
    return min(least, other), exact and also and least == other


def _call(value: Any, functions: dict[str, Any]) -> Launches:
    op = getattr(value, "op", None)
    if op is None:
        return 0, True
    if isinstance(op, tvm.ir.GlobalVar):
        return int(op.name_hint in functions), True
    if not getattr(op, "name", "").endswith(_BY_NAME):
        return 0, True
    # a kernel of the module; otherwise a library's function (cuBLAS, Thrust), whose launches are unknown
    named = getattr(value.args[0], "value", "") in functions
    return 1, named


_BY_NAME = ("call_ffi_kernel", "tvm_call_packed", "tvm_call_cpacked", "call_extern")
"operators that call the function named by their first argument"


REPEATS = 5
MOST_RUNS = 10_000


def evaluated(module: Any, function: str, arguments: Sequence[Any], device: Any, budget: float) -> list[float]:
    """Time one run REPEATS times, in about `budget` seconds in all; one warm-up run is not counted."""

    def samples(number: int, repeat: int) -> list[float]:
        timed = module.time_evaluator(function, device, number=number, repeat=repeat)
        return [float(seconds) for seconds in timed(*arguments).results]

    once = samples(1, 1)[0]
    return samples(max(1, min(MOST_RUNS, int(budget / REPEATS / max(once, 1e-7)))), REPEATS)
