"""Modules of Relax as JSON: received JSON, loaded if it holds data only, and workloads for another process.

TVM's JSON can also hold compiled code, which loading links into the process, and names of functions that TVM calls later.
It holds a constant as base64, which TVM writes and reads at some 40 MB a second; so in a workload for another process a
number replaces each large constant, which the reader restores. Types, names and all else stay as they are: a node that
holds a constant is copied, and TVM infers nothing anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm_ffi.serialization import from_json_graph_str

from workbench.dialects import arrays
from workbench.dialects.base import Workload
from workbench.dialects.relax import compat
from workbench.errors import LoadError, Unread, reason_of

_DATA = re.compile(
    r"None|bool|int|float|DataType|Device|ffi\.(SmallStr|SmallBytes|String|Bytes|Shape|Tensor|Array|Map|List|Dict|BigInt)"
    r"|runtime\.(String|NDArray|Tensor|ShapeTuple|BoxBool|BoxInt|BoxFloat|disco\.\w+)"
    r"|(ir|relax|tir|tirx|s_tir|prim|sym|arith|target)\.[\w.]+|node\.\w+|\w+Node"
)
_EXPRESSION: type = getattr(tvm.ir, "Expr", None) or tvm.ir.RelaxExpr
_INFERENCE = re.compile(r"tvm\.relax\.(struct_info|type)\.infer_\w+")


def load_json(text: str) -> Any:
    """Return the object that a JSON text describes.

    Raises LoadError: the text is not TVM's JSON, or holds something other than data.
    """
    try:
        graph = json.loads(text)
        for node in graph["nodes"]:
            _check(node)
        # not the text itself: TVM's parser may read it differently
        return tvm.ir.load_json(json.dumps(graph))
    except LoadError:
        raise
    except (ValueError, AttributeError, KeyError, TypeError, IndexError, RuntimeError) as error:
        raise Unread(
            f"this is not a module that tvm.ir.save_json of TVM {tvm.__version__} wrote: {reason_of(error)}"
        ) from None


def load_metadata(text: str) -> dict[str, list[Any]]:
    """Return the constants of a script, lists by kind."""
    kinds = load_json(text)
    try:
        constants = {str(kind): list(entries) for kind, entries in kinds.items()}
    except (AttributeError, TypeError):
        raise LoadError("the metadata of this text is not a table of constants; print it again") from None
    for kind, entries in constants.items():
        # TVM's parser evaluates a string in a shape
        if not all(isinstance(entry, (_EXPRESSION, tvm.runtime.Tensor)) for entry in entries):
            raise LoadError(f"the metadata of this text holds {kind}, and only constants are read; print it without")
    return constants


def _check(node: Any) -> None:
    kind = node.get("type", node.get("type_key"))
    if not isinstance(kind, str) or (kind and not _DATA.fullmatch(kind)):
        raise LoadError(f"this file holds a {kind}, which is code and not data; save the module without it")
    if kind == "ir.EnvFunc" and not _INFERENCE.fullmatch(str(node.get("data"))):
        raise LoadError(f"this file names the function {node.get('data')}, which TVM would call; save it without")


def dump(workload: Workload, folder: Path) -> None:
    """Write module and parameters into a folder, for another process."""
    thin, numbers = lifted(workload.module)
    (folder / "module.json").write_text(compat.save_json(thin))
    arrays.write(folder / "constants", numbers)
    arrays.write(folder, workload.params)


def restore(folder: Path) -> Workload:
    """Read the workload that `dump` wrote."""
    compat.warn_of_unknown()
    # tvm.ir.load_json parses it twice more, in Python, to read those of older versions
    thin = from_json_graph_str((folder / "module.json").read_text())
    module = bound(thin, arrays.read(folder / "constants", _tensor))
    return Workload(module, arrays.read(folder, _tensor), folder.name, "relax", trusted=False)


def _tensor(numbers: np.ndarray, shape: list[int], dtype: str) -> tvm.runtime.Tensor:
    made = tvm.runtime.empty(tuple(shape), dtype)
    arrays.copy_into(made.data_ptr(), numbers)
    return made


_PLACE = (1,) * 12
"the shape of an integer that replaces a constant's values: its index among those written"
_PARTS: dict[type, tuple[str, ...]] = {
    relax.Function: ("body",),
    relax.SeqExpr: ("blocks", "body"),
    relax.BindingBlock: ("bindings",),
    relax.DataflowBlock: ("bindings",),
    relax.VarBinding: ("value",),
    relax.MatchCast: ("value",),
    relax.Call: ("op", "args"),
    relax.Tuple: ("fields",),
    relax.TupleGetItem: ("tuple_value",),
    relax.If: ("cond", "true_branch", "false_branch"),
}


def lifted(module: tvm.IRModule) -> tuple[tvm.IRModule, dict[str, tvm.runtime.Tensor]]:
    """Return the module with a number in place of each large constant, and those constants' values."""
    numbers: dict[int, tuple[int, tvm.runtime.Tensor]] = {}

    def place_of(value: Any) -> Any:
        if not (isinstance(value, tvm.runtime.Tensor) and (arrays.is_raw(value) or _is_place(value))):
            return value
        place, _ = numbers.setdefault(compat.identity(value), (len(numbers), value))
        return tvm.runtime.tensor(np.full(_PLACE, place))

    thin = _changed(module, place_of)
    return thin, {str(place): value for place, value in numbers.values()}


def bound(module: tvm.IRModule, numbers: Mapping[str, tvm.runtime.Tensor]) -> tvm.IRModule:
    """Return a module from `lifted` with its constants restored."""

    def fill(value: Any) -> Any:
        is_place = isinstance(value, tvm.runtime.Tensor) and _is_place(value)
        return numbers[str(value.numpy().item())] if is_place else value

    return _changed(module, fill) if numbers else module


def _is_place(value: tvm.runtime.Tensor) -> bool:
    """Return whether a value looks like a placeholder of `lifted`; a constant of the program that does is lifted too."""
    return tuple(value.shape) == _PLACE


def _changed(module: tvm.IRModule, change: Callable[[Any], Any]) -> tvm.IRModule:
    """Return the module with each constant's value changed; a node without a changed constant stays the same object."""
    swap, made = _Swap(change), module.clone()
    for global_var, function in module.functions.items():
        new = swap.node(function)
        if new is not function:
            made.update_func(global_var, new)
    return made


class _Swap:
    """Copies nodes that hold a constant whose value changes; each object is copied once."""

    def __init__(self, change: Callable[[Any], Any]) -> None:
        self.change = change
        self.copies: dict[int, Any] = {}

    def node(self, node: Any) -> Any:
        kind = type(node)
        if kind is not compat.Constant and kind not in _PARTS:
            return node
        key = compat.identity(node)
        if key not in self.copies:
            if kind is compat.Constant:
                value = compat.value_of(node)
                changed = self.change(value)
                self.copies[key] = None if changed is value else compat.with_value(node, changed)
            else:
                self.copies[key] = self._copy(node, _PARTS[kind])
        copied = self.copies[key]
        return node if copied is None else copied

    def _copy(self, node: Any, names: Iterable[str]) -> Any:
        """Return a copy of a node with its parts changed, None if none changes."""
        changed: dict[str, Any] = {}
        for name in names:
            part = getattr(node, name)
            new = self._list(part) if isinstance(part, tvm.ir.Array) else self.node(part)
            if new is not part:
                changed[name] = new
        return compat.replaced(node, changed) if changed else None

    def _list(self, parts: Any) -> Any:
        given = parts[:]
        new = [self.node(part) for part in given]
        return parts if all(a is b for a, b in zip(given, new, strict=True)) else new
