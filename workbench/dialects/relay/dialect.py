"""Relay (TVM 0.8 to 0.19) as a Dialect."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from tvm import relay

from workbench.dialects import arrays
from workbench.dialects.base import SAFE_DEPTH, PassInfo, Preset, Workload
from workbench.dialects.relay import catalog
from workbench.dialects.relay.diagnostics import told
from workbench.dialects.relay.graph import build_graph
from workbench.dialects.relay.presets import PRESETS, TOGGLES
from workbench.dialects.relay.printed import constant_digests, parameter_names, print_module
from workbench.dialects.relay.scalars import share_scalars
from workbench.dialects.relay.text import parse
from workbench.errors import LoadError, PipelineError, TooDeep, UnknownName, last_line
from workbench.graph.model import Graph
from workbench.graph.walk import depth


class Relay:
    """Relay behind the Dialect's door; each method's meaning is written there."""

    name = "relay"

    def load(self, source: Any, params: Mapping[str, Any] | None, name: str) -> Workload | None:
        if isinstance(source, relay.Expr):
            source = _module_of(source)
        if not isinstance(source, tvm.IRModule):
            return None
        return Workload(_typed(source), _arrays(params or {}), name, self.name)

    def read(self, path: Path | None, text: str, name: str) -> Workload:
        if (path is not None and path.suffix == ".json") or (path is None and text.lstrip().startswith("{")):
            return self._read_json(text, name)
        # Ours reads first: its errors name the place, and TVM's own parser ends the process on very deep text.
        graph = build_graph(parse(text), name, catalog.pattern_of)
        if depth(graph) > SAFE_DEPTH:
            raise TooDeep(
                f"{name} chains {depth(graph)} operators, and TVM's parser ends the process beyond about {SAFE_DEPTH}; split the graph"
            )
        try:
            module = tvm.relay.parse(_with_version(text))
        except (tvm.TVMError, tvm.error.DiagnosticError) as error:
            raise LoadError(f"TVM cannot read this Relay text: {last_line(error)}") from None
        if not module.functions:
            raise LoadError(f"{name} holds no function; give text with a `def @main(...)` in it")
        return Workload(_typed(module), {}, name, self.name)

    def _read_json(self, text: str, name: str) -> Workload:
        try:
            module = tvm.ir.load_json(text)
        except (tvm.TVMError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            raise LoadError(
                f"this is not a module that tvm.ir.save_json of TVM {tvm.__version__} wrote: {last_line(error)}"
            ) from None
        loaded = self.load(module, None, name)
        if loaded is None:
            raise LoadError(
                f"this JSON holds a {type(module).__name__}, not an IRModule; save the whole module with tvm.ir.save_json"
            )
        return loaded

    def text(self, module: tvm.IRModule) -> str:
        return print_module(module).text

    def graph(self, module: tvm.IRModule, name: str) -> Graph:
        printed = print_module(module)
        parsed = parse(printed.text)
        share_scalars(module, parsed)
        digests = constant_digests(module, parsed) if "meta[relay.Constant]" in printed.text else {}
        return build_graph(
            parsed, name, catalog.pattern_of, digests, {**printed.names, **parameter_names(printed, parsed)}
        )

    def passes(self) -> tuple[PassInfo, ...]:
        return catalog.passes()

    def fusing(self) -> str:
        return "SimplifyInference,FuseOps{fuse_opt_level=2}"

    def copied(self, module: tvm.IRModule) -> tvm.IRModule:
        return tvm.IRModule(module.functions, module.type_definitions, module.attrs)

    def presets(self) -> tuple[Preset, ...]:
        return PRESETS

    def toggles(self) -> tuple[str, ...]:
        return TOGGLES

    def make(self, name: str, options: Mapping[str, Any]) -> tvm.transform.Pass:
        constructors = catalog.constructors()
        if name not in constructors:
            raise UnknownName("Relay pass", name, constructors)
        try:
            return constructors[name](**options)
        except (TypeError, tvm.TVMError) as error:
            raise PipelineError(f"{name} cannot be made with {dict(options)}: {last_line(error)}") from None

    def apply(self, compiled: tvm.transform.Pass, module: tvm.IRModule, opt_level: int) -> tvm.IRModule:
        with told(PipelineError), tvm.transform.PassContext(opt_level=opt_level):
            return tvm.transform.Sequential([relay.transform.InferType(), compiled, relay.transform.InferType()])(
                module
            )

    def runs_at(self, compiled: tvm.transform.Pass) -> int:
        return int(compiled.info.opt_level)

    def same(self, first: tvm.IRModule, second: tvm.IRModule) -> bool:
        return tvm.ir.structural_equal(first, second, map_free_vars=True)

    def typed(self, module: tvm.IRModule) -> tvm.IRModule:
        return _typed(module)

    def bind(self, module: tvm.IRModule, params: Mapping[str, Any]) -> tvm.IRModule:
        bound = tvm.IRModule(module.functions, module.type_definitions)
        bound["main"] = relay.build_module.bind_params_by_name(module["main"], dict(params))
        return _typed(bound)

    def rewritten(self, callback: Any, module: tvm.IRModule) -> tvm.IRModule:
        for name, function in module.functions.items():
            if isinstance(function, relay.Function):
                module.update_func(name, relay.dataflow_pattern.rewrite(callback, function, module))
        return module

    def is_pass(self, thing: Any) -> bool:
        return isinstance(thing, tvm.transform.Pass)

    def is_module(self, thing: Any) -> bool:
        return isinstance(thing, tvm.IRModule)

    def dump(self, workload: Workload, folder: Path) -> None:
        (folder / "module.json").write_text(tvm.ir.save_json(workload.module))
        arrays.write(folder, workload.params)

    def restore(self, folder: Path) -> Workload:
        module = tvm.ir.load_json((folder / "module.json").read_text())
        return Workload(_typed(module), arrays.read(folder, _tensor), folder.name, self.name)


def _module_of(expr: relay.Expr) -> tvm.IRModule:
    free = [v.name_hint for v in relay.analysis.free_vars(expr)] if isinstance(expr, relay.Function) else []
    if free:
        raise LoadError(
            f"the function uses {', '.join(free)} without binding them; make them parameters of the function"
        )
    return tvm.IRModule.from_expr(expr)


def _typed(module: tvm.IRModule) -> tvm.IRModule:
    try:
        with told(LoadError, "the module does not type-check: "):
            return relay.transform.InferType()(module)
    except tvm.TVMError as error:
        raise LoadError(f"the module does not type-check: {last_line(error)}") from None


def _arrays(params: Mapping[str, Any]) -> dict[str, tvm.nd.NDArray]:
    return {name: value if isinstance(value, tvm.nd.NDArray) else tvm.nd.array(value) for name, value in params.items()}


def _tensor(numbers: np.ndarray, shape: list[int], dtype: str) -> tvm.nd.NDArray:
    made = tvm.nd.empty(tuple(shape), dtype)
    arrays.copy_into(made.handle.contents.data, numbers)
    return made


def _with_version(text: str) -> str:
    return text if "#[version" in text else '#[version = "0.0.5"]\n' + text


DIALECT = Relay()
