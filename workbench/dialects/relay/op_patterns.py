"""The fusion patterns that TVM registered for its operators."""

from __future__ import annotations

from functools import cache

import tvm

OPAQUE = 8
"The pattern kind of operators that are never fused."


@cache
def pattern_of(op: str, dynamic: bool = False) -> int | None:
    """Return the fusion pattern kind that an operator registered, or None.

    FuseOps treats an operator as opaque if the shape of its result is dynamic and depends on the values of its inputs.
    """
    try:
        known = tvm.ir.Op.get(op)
    except tvm.TVMError:
        return None
    if dynamic and any(map(int, known.get_attr("TShapeDataDependent") or ())):
        return OPAQUE
    found = known.get_attr("TOpPattern")
    return None if found is None else int(found)
