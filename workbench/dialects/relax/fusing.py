"""Finds the reason why TVM's FuseOps raises on a module (src/relax/transform/fuse_ops.cc, TVM 0.27).

FuseOps makes one node of each variable that a function binds, and raises where two functions bind the same variable. In an arm
of an `if` or in a local function it makes nodes of the used variables only. It raises where a dataflow block there binds an
unused one.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from workbench.dialects.compat import identity, name_of
from workbench.dialects.relax.expressions import sort_of


def fusion_failure(module: tvm.IRModule) -> str:
    """Return why FuseOps raises on the module, in a sentence; "" where none of these reasons applies."""
    owner: dict[int, str] = {}
    for variable, function in module.functions_items():
        if not isinstance(function, relax.Function) or _is_kernel(function):
            continue
        name = str(variable.name_hint)
        bindings = [binding for block in function.body.blocks for binding in block.bindings]
        for bound in (*function.params, *(binding.var for binding in bindings)):
            first = owner.setdefault(identity(bound), name)
            if first != name:
                return (
                    f"FuseOps fails here: @{first} and @{name} share the variable {name_of(bound)}; give each function "
                    "variables of its own (relax.utils.copy_with_new_vars)"
                )
        for binding in bindings:
            unused = _unused(binding.value)
            if unused:
                return (
                    f"FuseOps fails here: nothing uses {unused}, which a dataflow block inside an `if` or a local function "
                    f"of @{name} binds; run DeadCodeElimination first"
                )
    return ""


def _is_kernel(function: relax.Function) -> bool:
    attrs = function.attrs or {}
    return bool(int(attrs.get("Primitive", 0))) or "Codegen" in attrs


def _unused(value: Any) -> str:
    """Return the name of a variable that a dataflow block inside the value binds and nothing in the value uses."""
    if sort_of(value) not in ("if", "function"):
        return ""
    used: set[int] = set()
    blocks: list[Any] = []

    def note(expr: Any) -> None:
        sort = sort_of(expr)
        if sort == "variable":
            used.add(identity(expr))
        elif sort == "sequence":
            blocks.extend(expr.blocks)

    relax.analysis.post_order_visit(value, note)
    inner = (block for block in blocks if isinstance(block, relax.DataflowBlock))
    variables = (binding.var for block in inner for binding in block.bindings)
    return next((name_of(variable) for variable in variables if identity(variable) not in used), "")
