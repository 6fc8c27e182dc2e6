"""Modules of Relay as JSON or Python: received JSON, if it holds data only, workloads for another process, and code for TVM alone.

TVM's JSON can also name functions that type inference calls, and hold compiled modules. It holds a constant as base64,
which TVM writes and reads at some 15 MB a second; so in a workload for another process large constants become parameters,
which the reader binds. Those of attributes stay in the JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tvm
from tvm import relay
from tvm.relay.function import FunctionWithFields
from tvm.runtime import _ffi_node_api

from workbench.dialects import arrays
from workbench.dialects.base import Workload
from workbench.dialects.editable import new_name
from workbench.dialects.relay.diagnostics import as_error, infer_types
from workbench.dialects.relay.entries import copy
from workbench.dialects.relay.passes.rewriting import Memo, in_module, rewritten
from workbench.errors import LoadError, WorkbenchError, reason_of
from workbench.quoting import python

_DATA = re.compile(
    r"Array|Map|DictAttrs|IRModule|Source(Map|Name)?|(Sequential)?Span|Global(Type)?Var|Type(Var|Data|Call)|Constructor"
    r"|(Func|Tuple|Incomplete|Prim|Pointer)Type|Op|(Int|Float)Imm|Range|VirtualDevice|Target|TargetKind"
    r"|runtime\.(String|ShapeTuple|Box(Bool|Int|Float))|relay\.attrs\.(?!DebugAttrs)\w+|(relay|tir)\.\w+"
)
_TYPE = re.compile(r" /\* ty=[^*]*\*/")
"a type that the parser infers again; that of a parameter is not a comment"
_METADATA = re.compile(r"#\[\s*metadata\s*\]")


def checked(text: str) -> str:
    """Return the JSON at the start of a text, written again from the checked values.

    Raises LoadError: it is not TVM's JSON, or holds something other than data.
    """
    try:
        # TVM does not escape control characters in names
        graph, _ = json.JSONDecoder(strict=False).raw_decode(text.lstrip())
        for node in graph["nodes"]:
            kind = node["type_key"]
            if kind and not _DATA.fullmatch(kind):
                raise LoadError(
                    f"this JSON holds a {kind[:80]}, which is code and not data; save the module without it"
                )
        # not the text itself: TVM's reader may read it differently. It does not support \uXXXX
        return json.dumps(graph, ensure_ascii=False)
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        raise LoadError("this is not JSON that tvm.ir.save_json wrote; save the whole module with it") from None


def with_checked_metadata(text: str) -> str:
    """Return a Relay text whose `#[metadata]`, which TVM's parser reads as JSON, was checked."""
    mark = _METADATA.search(text)
    return text if mark is None else f"{text[: mark.start()]}#[metadata]\n{checked(text[mark.end() :])}"


def dump(workload: Workload, folder: Path) -> None:
    """Write module and parameters into a folder, for another process."""
    thin = lifted(workload.module)
    (folder / "module.json").write_text(_json(thin.module))
    arrays.write(folder / "constants", thin.numbers)
    (folder / "constants" / "counts.json").write_text(json.dumps(thin.counts))
    arrays.write(folder, workload.params)


def restore(folder: Path) -> Workload:
    """Read the workload that `dump` wrote."""
    # tvm.ir.load_json parses it twice more, in Python, to read those of older versions
    held = _ffi_node_api.LoadJSON((folder / "module.json").read_text())  # pyright: ignore[reportAttributeAccessIssue]  registered by TVM
    thin = held if isinstance(held, tvm.IRModule) else held[0]
    numbers = arrays.read(folder / "constants", _tensor)
    module = bound(thin, numbers, json.loads((folder / "constants" / "counts.json").read_text()))
    return Workload(infer_types(module), arrays.read(folder, _tensor), folder.name, "relay", trusted=False)


def _json(module: tvm.IRModule) -> str:
    """Return the JSON of the module, or of a list that begins with it.

    TVM 0.17 does not list the device of a `let` for its JSON. A module with `let` that was read from JSON has TVM's own
    object for "any device" nowhere else, so a new tuple is added that holds that object.
    """
    try:
        with suppress(tvm.TVMError):
            return tvm.ir.save_json(module)
        return tvm.ir.save_json(tvm.runtime.convert([module, relay.Tuple([])]))
    except tvm.TVMError as error:
        raise WorkbenchError(
            f"TVM {tvm.__version__} cannot write this module for another process: {reason_of(error)}"
        ) from None


def _tensor(numbers: np.ndarray, shape: list[int], dtype: str) -> tvm.nd.NDArray:
    made = tvm.nd.empty(tuple(shape), dtype)
    arrays.copy_into(made.handle.contents.data, numbers)
    return made


class Lifted(NamedTuple):
    """A module without its large constants."""

    module: tvm.IRModule
    numbers: dict[str, tvm.nd.NDArray]
    "the value of each parameter that replaces a constant, by its name"
    counts: dict[str, int]
    "the number of a function's parameters, the last ones, that replace constants"


def lifted(module: tvm.IRModule) -> Lifted:
    """Return the module with its large constants as parameters; one constant is the same parameter everywhere."""
    names: dict[tvm.nd.NDArray, str] = {}
    variables: dict[relay.Constant, relay.Var] = {}

    def variable(constant: relay.Constant) -> relay.Var:
        if constant not in variables:
            data = constant.data
            name = names.setdefault(data, str(len(names)))
            variables[constant] = relay.var(name, shape=data.shape, dtype=data.dtype)
        return variables[constant]

    thin, counts = copy(module), dict[str, int]()
    for global_var, function in module.functions.items():
        if isinstance(function, relay.Function):
            new, count = _with_parameters(function, lambda constant: arrays.is_raw(constant.data), variable)
            if count:
                thin.update_func(global_var, new)
                counts[global_var.name_hint] = count
    return Lifted(thin, {name: data for data, name in names.items()}, counts)


def _with_parameters(
    function: relay.Function, chosen: Callable[[relay.Constant], bool], variable: Callable[[relay.Constant], relay.Var]
) -> tuple[relay.Function, int]:
    """Return a function with variables in place of the chosen constants, its last parameters, and their number."""
    memo: Memo = {}

    def lift(expr: relay.Expr) -> None:
        if isinstance(expr, relay.Constant) and chosen(expr):
            memo[expr] = variable(expr)

    relay.analysis.post_order_visit(function.body, lift)
    added = list(memo.values())
    if not added:
        return function, 0
    params = [*function.params, *added]
    return FunctionWithFields(function, params=params, body=rewritten(function.body, memo)), len(added)


def bound(module: tvm.IRModule, numbers: Mapping[str, tvm.nd.NDArray], counts: Mapping[str, int]) -> tvm.IRModule:
    """Return a `Lifted` with its constants restored; types are not inferred."""
    constants: dict[relay.Var, relay.Constant] = {}
    for name, count in counts.items():
        function = module[name]
        taken = list(function.params)[-count:]
        constants.update((v, relay.Constant(numbers[v.name_hint])) for v in taken if v not in constants)
        module.update_func(module.get_global_var(name), relay.bind(function, {v: constants[v] for v in taken}))
    return module


def source(module: tvm.IRModule) -> tuple[str, dict[str, np.ndarray]]:
    """Return Python that makes `mod`, and the values of the constants that are parameters of its `main`.

    The text is the one that TVM prints, if TVM's parser makes the same module of it; otherwise TVM's JSON, with all constants.
    """
    taken = {each.name_hint for each in relay.analysis.all_vars(module["main"])}
    values: dict[str, np.ndarray] = {}

    def variable(constant: relay.Constant) -> relay.Var:
        name = new_name("c", taken)
        values[name] = constant.data.numpy()
        return relay.Var(name, constant.checked_type)

    main, _ = _with_parameters(module["main"], lambda constant: bool(constant.data.shape), variable)
    typed = str(in_module(module, {"main": main}).astext(show_meta_data=True))
    for text in (_TYPE.sub("", typed), typed):
        with suppress(tvm.TVMError, LoadError), as_error(LoadError):
            read = relay.parse(text)
            read["main"] = relay.build_module.bind_params_by_name(read["main"], values)
            if tvm.ir.structural_equal(relay.transform.InferType()(read), relay.transform.InferType()(module)):
                return f"mod = relay.parse({python(text)})", values
    return f"mod = tvm.ir.load_json({python(tvm.ir.save_json(module))})", {}
