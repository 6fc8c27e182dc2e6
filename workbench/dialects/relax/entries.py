"""The functions of a Relax module that can run as `main`, and values of its symbolic dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tvm
from tvm import relax

from workbench.dialects.base import Workload
from workbench.dialects.entries import functions_reached
from workbench.dialects.relax import compat
from workbench.dialects.relax.graph import IN_PLACE
from workbench.errors import LoadError, UnknownName

PUBLIC = "global_symbol"
"the attribute of a function that others can call"


def entries(module: tvm.IRModule) -> tuple[str, ...]:
    """Return the public functions, `main` first; if none is public, those that are neither kernels nor offloaded."""
    found = {
        str(variable.name_hint): function.attrs or {}
        for variable, function in module.functions_items()
        if isinstance(function, relax.Function) and not _is_in_place(function)
    }
    public = [name for name in found if name == "main" or (PUBLIC in found[name] and not name.startswith("_"))]
    return tuple(sorted(public or found, key=lambda name: (name != "main", name)))


def _is_in_place(function: relax.Function) -> bool:
    return any((function.attrs or {}).get(key) is not None for key in IN_PLACE)


def with_entry(module: tvm.IRModule, entry: str) -> tvm.IRModule:
    """Return the module with a function as `main`, its callees, and all kernels.

    Raises LoadError: the function calls another one that has the name `main`.
    """
    functions = {str(variable.name_hint): variable for variable in module.get_global_vars()}
    reached = functions_reached(module, entry, relax.Function, relax.analysis.post_order_visit)
    kept = [name for name in functions if name in reached or not isinstance(module[name], relax.Function)]
    main = functions["main"] if entry == "main" else tvm.ir.GlobalVar("main")
    called = {functions[name]: module[name] for name in kept if name != "main"}
    return tvm.IRModule({**called, main: module[entry].with_attr(PUBLIC, "main")}, module.attrs, module.global_infos)


def with_sizes(module: tvm.IRModule, shapes: Mapping[str, int | Sequence[int]]) -> tvm.IRModule:
    """Return the module unchanged; refuse sizes that are not integers for symbolic dimensions of `main`."""
    known = _symbols(module["main"])
    for name, size in shapes.items():
        if name not in known:
            raise UnknownName("symbolic dimension", name, known)
        if not isinstance(size, int):
            raise LoadError(f"{name!r} is one symbolic dimension; give one number, shapes={{{name!r}: 128}}")
    return module


def _symbols(function: relax.Function) -> list[str]:
    return list(dict.fromkeys(name for each in function.params for name in compat.symbols_of(compat.type_of(each))))


def with_values(module: tvm.IRModule, shapes: Mapping[str, Any]) -> tvm.IRModule:
    """Return the module with numbers for the symbolic dimensions of `main` that have values.

    Kernels get them too: FuseOps gives the dimensions of a kernel the names that they have in `main`.
    """
    if not shapes:
        return module
    for variable, function in module.functions_items():
        name = str(variable.name_hint)
        if name == "main" or (isinstance(function, relax.Function) and _is_in_place(function)):
            given = {symbol: shapes[symbol] for symbol in _symbols(function) if symbol in shapes}
            module = relax.transform.BindSymbolicVars(given, name)(module) if given else module
    return module


def run_alone(module: tvm.IRModule, workload: Workload) -> tvm.IRModule:
    """Return the part of a module that one run calls, with the values of the workload's symbolic dimensions."""
    if "main" not in entries(module):
        return module
    others = [name for name in entries(module) if name != "main"]
    return with_values(with_entry(module, "main") if others else module, workload.shapes)
