"""Relax modules: loaded from objects, text and files, inspected, and written for another process."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.relax.frontend.nn import Parameter

from workbench.dialects.base import Workload
from workbench.dialects.compiler.results import LoopRow
from workbench.dialects.editable import new_name
from workbench.dialects.nesting import refuse_large_types
from workbench.dialects.relax import compat
from workbench.dialects.relax.answers import (
    SAFE_NESTING,
    Drawn,
    fusion_failure,
    joined_products,
    merged_nodes,
    nested_depth,
)
from workbench.dialects.relax.compat import flaw as flaw
from workbench.dialects.relax.compat import name_of
from workbench.dialects.relax.entries import entries as entries
from workbench.dialects.relax.entries import with_entry as with_entry
from workbench.dialects.relax.entries import with_sizes as with_sizes
from workbench.dialects.relax.expressions import callee_name, sort_of, type_parts
from workbench.dialects.relax.graph import build_graph
from workbench.dialects.relax.parser import vocabulary
from workbench.dialects.relax.parser.source import Source, find_program
from workbench.dialects.relax.passes.rewriting import bindings_of, constants_of, rebuilt, with_main
from workbench.dialects.relax.prim_functions import calls_only, with_calls
from workbench.dialects.relax.saved import dump as dump
from workbench.dialects.relax.saved import load_json, load_metadata
from workbench.dialects.relax.saved import restore as restore
from workbench.dialects.trust import is_generated, judge
from workbench.errors import LoadError, Unread, reason_of
from workbench.graph.model import Graph, collector_paused
from workbench.graph.nodes import Answers, Products
from workbench.quoting import python

NAME = "relax"
FEW = 17
"functions of a program whose loops are listed"
_IMPORT = re.compile(r"^# (from (?:tvm\.script|typing) import .*)$", re.MULTILINE)


def load(source: Any, params: Mapping[str, Any] | None, name: str) -> Workload | None:
    """Return a Workload of a module or an expression; None for anything else."""
    if isinstance(source, relax.Function):
        free = [name_of(v) for v in relax.analysis.free_vars(source)]
        if free:
            raise LoadError(
                f"the function uses {', '.join(free)} without binding them; make them parameters of the function"
            )
        source = tvm.IRModule.from_expr(source)
    if isinstance(source, tvm.tirx.PrimFunc):
        source = tvm.IRModule({"main": source})
    if not isinstance(source, tvm.IRModule):
        return None
    compat.warn_of_unknown()
    if not any(isinstance(function, relax.Function) for function in source.functions.values()):
        source = with_calls(source)
    compat.walk(source)
    return Workload(source, _arrays(source, params or {}), name, NAME, noted(source), trusted=True)


def read(text: str, is_json: bool, name: str) -> Workload:
    """Return a Workload of printed text or of TVM's JSON."""
    if is_json:
        return _loaded(load_json(text), name)
    source = find_program(text, vocabulary.vocabulary())
    if source.metadata is not None:
        try:
            load_metadata(source.metadata)
        except Unread:  # another TVM wrote them
            source = find_program(text, vocabulary.vocabulary(), valued=False)
    workload = _loaded(_from_script(source), name)
    workload.notes += source.notes
    return workload


def _loaded(thing: Any, name: str) -> Workload:
    workload = load(thing, None, name)
    if workload is None:
        raise LoadError(
            f"this holds a {type(thing).__name__}, not an IRModule; save the whole module with tvm.ir.save_json"
        )
    judge(workload, relax.Function, relax.analysis.post_order_visit, _is_code)
    return workload


def _is_code(expr: Any) -> bool:
    """Return whether an expression ends in code that TVM does not write for operators."""
    if isinstance(expr, relax.Call):
        return getattr(expr.op, "name", "") == "relax.call_py_func"
    if isinstance(expr, relax.Function):
        return is_generated(expr, "Codegen", "relax.ext.")
    return isinstance(expr, relax.ExternFunc)


def check_types(module: tvm.IRModule) -> None:
    """Refuse a module whose types are too large to be printed."""
    types: list[Any] = []

    def visit(expr: Any) -> None:
        if sort_of(expr) not in ("op", "shape", "literal"):  # most expressions, whose types have no parts
            types.append(compat.type_of(expr))

    compat.walk(module, visit)
    refuse_large_types([each for each in types if each is not None], type_parts, compat.identity)


def text(module: tvm.IRModule) -> str:
    """Return the module as TVM prints it."""
    return str(module.script())


def source(module: tvm.IRModule) -> tuple[str, dict[str, np.ndarray]]:
    """Return Python that makes `mod`, and the values of the constants that are parameters of its `main`.

    The text is the one that TVM prints, if it makes the same module; otherwise TVM's JSON, with all constants.
    """
    main, apart = module["main"], module
    taken = {name_of(each) for each in main.params}
    instead: dict[int, relax.Expr] = {}
    values: dict[str, np.ndarray] = {}
    for each in constants_of(main):
        if compat.identity(each) not in instead:
            name = new_name("c", taken)
            instead[compat.identity(each)] = relax.Var(name, compat.type_of(each))
            values[name] = compat.value_of(each).numpy()
    if values:
        params = [*main.params, *instead.values()]
        apart = with_main(module, rebuilt(main, params, bindings_of(main), instead, [main.body.body]))
    printed = text(apart)
    # TVM's parser leaves out what nothing uses, and then the parameters that only it read
    with suppress(LoadError, tvm.error.InternalError):
        if same(bind(_from_script(find_program(printed, vocabulary.vocabulary())), values), module):
            return _IMPORT.sub(r"\1", printed).strip() + "\n\n\nmod = Module", values
    return f"mod = tvm.ir.load_json({python(tvm.ir.save_json(module))})", {}


@collector_paused()
def graph(module: tvm.IRModule, name: str) -> Graph:
    """Return the neutral graph of the module."""
    drawn: dict[int, list[Drawn]] = {}
    found = build_graph(module, name, drawn=drawn)
    too_deep = cache(lambda: nested_depth(found) > SAFE_NESTING)

    def ask() -> Answers:
        if too_deep():
            return Answers()
        try:
            compat.walk(module)
        except LoadError as error:
            return Answers(unfusible=f"FuseOps fails here: {error}")
        return Answers(merged_nodes(module, found, drawn), fusion_failure(module))

    def ask_products() -> Products | None:
        return None if too_deep() else joined_products(module, found, drawn)

    return replace(found, ask=cache(ask), ask_products=cache(ask_products))


def loops(module: tvm.IRModule) -> list[LoopRow]:
    """Return the loops, blocks and buffers of a program that only calls PrimFuncs, a few; [] of any other."""
    from workbench.dialects.relax.compiler.loops import loops_of

    few = len(module.functions) <= FEW
    return [*loops_of(module)] if few and calls_only(module) else []


def copy(module: tvm.IRModule) -> tvm.IRModule:
    """Return the same functions in a module of their own."""
    return module.clone()


def same(first: tvm.IRModule, second: tvm.IRModule) -> bool:
    """Return whether two modules are structurally equal."""
    return compat.structural_equal(first, second)


def infer_types(module: tvm.IRModule) -> tvm.IRModule:
    """Return the module with its types inferred."""
    # Relax infers types when a binding is made, so normalizing the module is enough
    try:
        return relax.transform.Normalize()(module)
    except (ValueError, TypeError, RuntimeError) as error:
        raise LoadError(f"the module does not type-check: {reason_of(error)}") from None


def bind(module: tvm.IRModule, params: Mapping[str, Any]) -> tvm.IRModule:
    """Return the module with its parameters as constants."""
    return relax.transform.BindParams("main", dict(params))(module)


def is_module(thing: Any) -> bool:
    """Return whether an object is an IRModule."""
    return isinstance(thing, tvm.IRModule)


def _from_script(source: Source) -> Any:
    metadata = {} if source.metadata is None else {"metadata": load_metadata(source.metadata)}
    read = partial(tvm.script.from_source, source.program, extra_vars={**vocabulary.environment(), **metadata})
    try:
        return read()
    except (tvm.error.DiagnosticError, ValueError, AttributeError, KeyError, TypeError, RuntimeError) as error:
        said = re.sub(r"^line (\d+)", lambda line: f"line {source.original_line(int(line[1]))}", reason_of(error))
        if "not well-formed" in said:  # the parser leaves out the reason of Relax's check
            found = read(check_well_formed=False)
            wrong = compat.flaw(found if isinstance(found, tvm.IRModule) else tvm.IRModule.from_expr(found))
            said = f"it is not well-formed: {wrong or said.partition('Traceback: ')[2] or said}"
        raise LoadError(f"TVM cannot read this Relax text: {said}") from None


def _arrays(module: tvm.IRModule, params: Mapping[str, Any]) -> dict[str, tvm.runtime.Tensor]:
    """Return parameters by name, also those of `relax.frontend.detach_params`: a list for each function.

    Parameters of relax.frontend.nn without values are left out.
    """
    named: dict[str, Any] = {}
    for name, given in params.items():
        value: Any = given.data if isinstance(given, Parameter) else given
        if value is None:
            continue
        if isinstance(value, (list, tuple, tvm.ir.Array)):
            takes = module[name].params
            named.update(zip([compat.name_of(p) for p in takes[len(takes) - len(value) :]], value, strict=True))
        else:
            named[name] = value
    return {
        name: value if isinstance(value, tvm.runtime.Tensor) else tvm.runtime.tensor(value)
        for name, value in named.items()
    }


def noted(module: tvm.IRModule) -> list[str]:
    """Return a sentence for each known pitfall in the module."""
    wrong = compat.flaw(module)
    notes = [f"TVM's check finds the module not well-formed, so its passes may fail: {wrong}"] if wrong else []
    functions = [each for each in module.functions.values() if isinstance(each, relax.Function)]
    bodies = [each for each in functions if isinstance(each.body, relax.SeqExpr)]
    trained = [
        binding
        for function in bodies
        for binding in bindings_of(function)
        if sort_of(binding.value) == "call" and callee_name(binding.value.op) == "relax.nn.batch_norm"
        if getattr(binding.value.attrs, "training", False)
    ]
    if not trained:
        return notes
    first = name_of(trained[0].var)
    many = (
        f"{len(trained)} calls of batch_norm, the first {first}, use"
        if len(trained) > 1
        else f"batch_norm {first} uses"
    )
    told = (
        f"{many} the statistics of the batch (training=True, the default of relax.op.nn.batch_norm); a pass for inference, as "
        "DecomposeOpsForInference, takes the moving ones, and the outputs change: say training=False where the model is meant to infer"
    )
    return [*notes, told]
