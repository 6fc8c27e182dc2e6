"""Relay modules: loaded from objects, text and files, inspected, and written for another process."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import tvm
from tvm import relay
from tvm.relay.quantize import _calibrate

from workbench.dialects.base import SAFE_DEPTH, Workload
from workbench.dialects.nesting import refuse_large_types
from workbench.dialects.relay.diagnostics import as_error
from workbench.dialects.relay.diagnostics import infer_types as infer_types
from workbench.dialects.relay.entries import copy as copy
from workbench.dialects.relay.entries import entries as entries
from workbench.dialects.relay.entries import with_entry as with_entry
from workbench.dialects.relay.entries import with_shapes
from workbench.dialects.relay.graph import build_graph
from workbench.dialects.relay.objects import lacks_types, module_of
from workbench.dialects.relay.operators import registered_pattern
from workbench.dialects.relay.parser import parse
from workbench.dialects.relay.parser.ast import operands_first
from workbench.dialects.relay.paste.reading import METADATA, Reading, read_all, text_only
from workbench.dialects.relay.printer import (
    constant_digests,
    constant_values,
    parameter_names,
    print_module,
    share_scalars,
)
from workbench.dialects.relay.saved import checked, with_checked_metadata
from workbench.dialects.relay.saved import dump as dump
from workbench.dialects.relay.saved import restore as restore
from workbench.dialects.relay.saved import source as source
from workbench.dialects.trust import is_generated, judge
from workbench.errors import LoadError, TooDeep, UnknownOperator, Unread, reason_of
from workbench.graph.model import Graph, collector_paused, depth


def give_old_names(module: Any = _calibrate) -> None:
    """Give a TVM module a numpy with `np.math`, which numpy 2 removed; `relay.quantize` calls it."""
    if "math" not in vars(module.np):
        module.np = SimpleNamespace(**vars(np), math=math)


_ESCAPED = re.compile(r'[=,\[]\s*"[^"\\]*\\')
"a string with a backslash, which TVM's parser does not unescape"

give_old_names()


NAME = "relay"


def load(source: Any, params: Mapping[str, Any] | None, name: str) -> Workload | None:
    """Return a Workload of a module or an expression; None for anything else."""
    if isinstance(source, relay.Expr):
        free = relay.analysis.free_vars(source) if isinstance(source, relay.Function) else []
        if free:
            names = ", ".join(variable.name_hint for variable in free)
            raise LoadError(f"the function uses {names} without binding them; make them parameters of the function")
        try:
            source = tvm.IRModule.from_expr(source)
        except tvm.TVMError:
            raise LoadError(
                "the function is not well formed; bind each variable once, and use it only where it is bound"
            ) from None
    if not isinstance(source, tvm.IRModule):
        return None
    return Workload(infer_types(source), _arrays(params or {}), name, NAME, trusted=True)


def read(text: str, is_json: bool, name: str) -> Workload:
    """Return a Workload of printed text or of TVM's JSON."""
    if not is_json:
        return from_reading(read_all(text)[0], {}, name)
    try:
        module = tvm.ir.load_json(checked(text))
    except (tvm.TVMError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise LoadError(
            f"this is not a module that tvm.ir.save_json of TVM {tvm.__version__} wrote: {reason_of(error)}"
        ) from None
    loaded = load(module, None, name)
    if loaded is None:
        raise LoadError(
            f"this JSON holds a {type(module).__name__}, not an IRModule; save the whole module with tvm.ir.save_json"
        )
    judge(loaded, relay.Function, relay.analysis.post_order_visit, _is_code)
    return loaded


def from_reading(reading: Reading, params: Mapping[str, Any], name: str, refused: LoadError | None = None) -> Workload:
    """Return a Workload of one reading; one without a module if repaired text does not make one.

    `refused`: the error of TVM, if the child process found that it makes no module of it.
    """
    # Our reader goes first: its errors give the place, and TVM's own parser ends the process on very deep text.
    deep = depth(reading.graph(name, registered_pattern))
    if deep > SAFE_DEPTH:
        raise TooDeep(
            f"{name} is {deep} operators and functions deep, and TVM's parser ends the process beyond about {SAFE_DEPTH}; split the graph"
        )
    if refused:
        return _without_module(reading, name, refused)
    try:
        module, assumed = module_of_reading(reading, params)
    except LoadError as error:
        return _without_module(reading, name, error)
    workload = Workload(module, _arrays(params), name, NAME, [*reading.repairs, *assumed], trusted=False)
    judge(workload, relay.Function, relay.analysis.post_order_visit, _is_code)
    workload.notes += _contradictions(reading.graph(name), workload.graph)
    return workload


def _is_code(expr: relay.Expr) -> bool:
    """Return whether an expression ends in code that TVM does not write for operators."""
    return isinstance(expr, relay.Function) and is_generated(expr, "Compiler", "relay.ext.")


def with_sizes(module: tvm.IRModule, shapes: Mapping[str, int | Sequence[int]]) -> tvm.IRModule:
    """Return the module for these sizes of its inputs."""
    return infer_types(with_shapes(module, shapes))


def check_types(module: tvm.IRModule) -> None:
    """Refuse a module whose types are too large to be printed."""
    types: list[Any] = []

    def note(expr: relay.Expr) -> None:
        # an operator has a type of its own, which no text shows
        found = None if isinstance(expr, tvm.ir.Op) else getattr(expr, "_checked_type_", None)
        if found is not None:
            types.append(found)

    for function in module.functions.values():
        relay.analysis.post_order_visit(function, note)

    def parts(type: Any) -> list[Any]:
        if isinstance(type, relay.FuncType):
            return [*type.arg_types, type.ret_type]
        return list(type.fields) if isinstance(type, relay.TupleType) else []

    refuse_large_types(types, parts, lambda type: type.handle.value)


def text(module: tvm.IRModule) -> str:
    """Return the module as TVM prints it."""
    return print_module(module).text


def flaw(module: tvm.IRModule) -> str:
    """Return the reason why TVM's own check finds the module not well-formed; "" if it is well-formed."""
    for variable, function in module.functions.items():
        if isinstance(function, relay.Function) and not relay.analysis.well_formed(function):
            return f"@{variable.name_hint} binds a variable twice, or uses one outside its scope"
    return ""


def loops(module: tvm.IRModule) -> tuple[()]:  # noqa: ARG001
    """Return nothing: a program of Relay calls operators."""
    return ()


@collector_paused()
def graph(module: tvm.IRModule, name: str) -> Graph:
    """Return the neutral graph of the module."""
    printed = print_module(module)
    parsed = parse(printed.text)
    share_scalars(module, parsed)
    digests = constant_digests(module, parsed) if "meta[relay.Constant]" in printed.text else {}
    return build_graph(parsed, name, registered_pattern, digests, {**printed.names, **parameter_names(printed, parsed)})


def constants(module: tvm.IRModule) -> dict[str, tvm.nd.NDArray]:
    """Return the values of constants by their names in the graph, `meta[relay.Constant][0]`."""
    return constant_values(module, parse(print_module(module).text))


def same(first: tvm.IRModule, second: tvm.IRModule) -> bool:
    """Return whether two modules are structurally equal."""
    return tvm.ir.structural_equal(first, second, map_free_vars=True)


def bind(module: tvm.IRModule, params: Mapping[str, Any]) -> tvm.IRModule:
    """Return the module with its parameters as constants."""
    bound = copy(module)
    bound["main"] = relay.build_module.bind_params_by_name(module["main"], dict(params))
    return infer_types(bound)


def is_module(thing: Any) -> bool:
    """Return whether an object is an IRModule."""
    return isinstance(thing, tvm.IRModule)


def _arrays(params: Mapping[str, Any]) -> dict[str, tvm.nd.NDArray]:
    return {name: value if isinstance(value, tvm.nd.NDArray) else tvm.nd.array(value) for name, value in params.items()}


def _without_module(reading: Reading, name: str, error: LoadError) -> Workload:
    """Return the graph of a text that is repaired or of another TVM version; raise the error of a complete text of this one."""
    if reading.complete and not isinstance(error, Unread):
        raise error
    without = text_only(reading, name, str(error))
    without.notes.append(f"TVM makes no module of it: {error}")
    return without


_OF_ANOTHER_TVM = re.compile(r"expected .{1,80} found|Cannot find required field")
"the reasons of TVM's parser where the text has another grammar or other attributes than it knows"


def module_of_reading(reading: Reading, params: Mapping[str, Any]) -> tuple[tvm.IRModule, list[str]]:
    """Return the typed module of a reading and its assumptions; TVM's own parser reads complete text."""
    try:
        return _module_of_reading(reading, params)
    except LoadError:
        # it has operators of an early Relax too
        known = {name for name in map(str, tvm.ir.Op.list_op_names()) if not name.startswith("relax.")}
        for part in operands_first(reading.module.functions.values()):
            if part.kind == "op" and part.text not in known:
                raise UnknownOperator(part.text, known, reading.text) from None
        raise


def _module_of_reading(reading: Reading, params: Mapping[str, Any]) -> tuple[tvm.IRModule, list[str]]:
    program = reading.text.partition(METADATA)[0]
    if not reading.complete or _ESCAPED.search(program) or lacks_types(reading.module):
        module, assumed = module_of(reading.module, _values(reading.metadata), params)
        return infer_types(module), assumed
    try:
        return _parsed(reading.whole), []
    except LoadError as refused:
        try:
            module, assumed = module_of(reading.module, _values(reading.metadata), params)
        except LoadError as error:
            if not _OF_ANOTHER_TVM.search(str(refused)):
                raise refused from None
            # TVM's parser refuses each bare function, so its reason is of no use
            raise Unread(str(error if program.lstrip().startswith("fn") else refused)) from None
        try:
            return infer_types(module), assumed
        except LoadError:
            raise refused from None


def _parsed(text: str) -> tvm.IRModule:
    """Return the typed module that TVM's parser reads from a text."""
    try:
        with as_error(LoadError, "TVM cannot read this Relay text: "):
            text = with_checked_metadata(text)
            module = tvm.relay.parse(text if "#[version" in text else f'#[version = "0.0.5"]\n{text}')
    except (tvm.TVMError, AttributeError, ValueError, TypeError) as error:
        raise LoadError(f"TVM cannot read this Relay text: {reason_of(error)}") from None
    return infer_types(module)


def _values(metadata: str) -> dict[str, Any]:
    """Return the objects in a text's metadata, by their names in the text."""
    if not metadata:
        return {}
    try:
        kept = tvm.ir.load_json(checked(metadata))
        return {f"meta[{kind}][{place}]": one for kind, each in kept.items() for place, one in enumerate(each)}
    except (tvm.TVMError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise LoadError(f"the text's #[metadata] cannot be read: {reason_of(error)}") from None


def _contradictions(said: Graph, inferred: Graph) -> list[str]:
    """Return the places where the text states another type than TVM infers, from two graphs of one program."""
    if [(node.kind, node.op) for node in said.nodes if node.kind == "op"] != [
        (node.kind, node.op) for node in inferred.nodes if node.kind == "op"
    ]:
        return []
    other = [(a, b) for a, b in zip(said.ops, inferred.ops, strict=True) if a.type and a.type != b.type]
    if not other:
        return []
    stated, found = other[0]
    return [
        f"{len(other)} types differ from what the text states; the first is that of {stated.op} in line {stated.line}: {stated.type} there, {found.type} as TVM infers it"
    ]
