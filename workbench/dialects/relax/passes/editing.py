"""The changes of a Relax module that the passes of `dialects/edits.py` are made of."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from workbench.analysis.legality import IllegalEdit, Selection, describe
from workbench.analysis.subprograms import Subprogram
from workbench.dialects.editable import Change, Editable
from workbench.dialects.entries import functions_reached
from workbench.dialects.relax import compat
from workbench.dialects.relax.compat import identity, type_of
from workbench.dialects.relax.entries import with_entry
from workbench.dialects.relax.graph import build_graph
from workbench.dialects.relax.passes.rewriting import (
    Place,
    around,
    bindings_of,
    constants_of,
    operands,
    rebuilt,
    replaced,
    with_block,
    with_main,
    with_operands,
)
from workbench.errors import PipelineError
from workbench.graph.model import Graph

# TVM calls a pass, and keeps only the errors that it knows; others come back as a RuntimeError.
for error in (IllegalEdit, PipelineError):
    tvm_ffi.register_error(error.__name__, error)


@dataclass(frozen=True)
class _Region:
    """Chosen bindings as a function of their own."""

    place: Place
    function: relax.Function
    arguments: tuple[relax.Expr, ...]
    "the arguments of its call"
    chosen: frozenset[int]
    "identities of the variables that were bound by the chosen bindings"
    results: tuple[relax.Var, ...]
    "those of them that are used elsewhere, in the order of the function's results"


class Located(Editable):
    """A module with the binding of each node of its graph."""

    ir = relax
    tuple_type = compat.TupleType

    def __init__(self, module: tvm.IRModule) -> None:
        self.module = module

    @cached_property
    def _drawn(self) -> tuple[Graph, dict[int, Any], dict[int, list[int]]]:
        """The graph, the binding of each node, and the nodes of each expression by its identity."""
        bindings: dict[int, Any] = {}
        shown: dict[int, list[int]] = {}
        return build_graph(self.module, "main", bindings, shown), bindings, shown

    @property
    def graph(self) -> Graph:
        return self._drawn[0]

    @property
    def bindings(self) -> dict[int, Any]:
        """Node id -> its binding; a constant or a tuple written into a call has none."""
        return self._drawn[1]

    @cached_property
    def _places(self) -> dict[int, Place]:
        """Identity of a variable that a dataflow block binds -> its place."""
        return {
            identity(binding.var): Place(variable.name_hint, index)
            for variable, function in self.module.functions_items()
            if isinstance(function, relax.Function)
            for index, block in enumerate(function.body.blocks)
            if isinstance(block, relax.DataflowBlock)
            for binding in block.bindings
        }

    def _place(self, nodes: Iterable[int]) -> Place:
        """Return the one dataflow block in which all of these nodes are bound.

        Raises IllegalEdit: they are in several blocks, or in none that is dataflow.
        """
        chosen = [node for node in nodes if node in self.bindings]
        found = {self._places.get(identity(self.bindings[node].var)) for node in chosen}
        place = found.pop() if len(found) == 1 else None
        if place is not None:
            return place
        raise IllegalEdit(
            f"{', '.join(describe(self.graph, node) for node in chosen[:3])} are not in one dataflow block, and "
            "FuseOps looks at one such block at a time; ConvertToDataflow makes them"
        )

    @property
    def _variables(self) -> dict[int, relax.Var]:
        """The variable of each node that has one; a parameter of `main` too."""
        # the entry function is drawn first, and its parameters before its body
        params = [node.id for node in self.graph.nodes if node.kind == "param"]
        bound = {node: each.var for node, each in self.bindings.items()}
        return {**bound, **dict(zip(params, self.module["main"].params, strict=False))}

    def cut(self, edges: Sequence[Any]) -> tvm.IRModule:
        module = self.module
        for source in dict.fromkeys(edge.source for edge in edges):
            place, variable = self._place([source]), self.bindings[source].var
            if not isinstance(variable, relax.DataflowVar):
                continue
            outside = relax.Var(compat.name_of(variable), type_of(variable))
            instead = {identity(variable): outside}

            def leaving(bindings: list[Any], instead: Mapping[int, relax.Expr] = instead) -> list[Any]:
                return [_rebound(each, instead.get(identity(each.var), each.var), instead) for each in bindings]

            module = with_block(module, place, leaving)
        return module

    def outlined(self, region: Selection, name: str, attribute: str, value: Any) -> tvm.IRModule:
        if attribute == "Compiler":
            attrs = {"Codegen": value, "global_symbol": name}
        else:
            attrs = {attribute: value}
            name = self._free_name("".join(c if c.isalnum() else "_" for c in name))
        found = self._region(region, attrs, name)
        builder = relax.BlockBuilder(self.module)
        call = relax.Call(builder.add_func(found.function, name), list(found.arguments))

        def change(bindings: list[Any]) -> list[Any]:
            first, last = around(bindings, found.chosen)
            if len(found.results) == 1:
                return [*first, relax.VarBinding(found.results[0], call), *last]
            whole = relax.DataflowVar("results", type_of(found.function.body.body))
            fields = [relax.VarBinding(v, relax.TupleGetItem(whole, place)) for place, v in enumerate(found.results)]
            return [*first, relax.VarBinding(whole, call), *fields, *last]

        return with_block(builder.get(), found.place, change)

    def _free_name(self, wanted: str) -> str:
        """Return the name, with a number appended if the module has a function of that name."""
        taken = {variable.name_hint for variable in self.module.get_global_vars()}
        number = next(n for n in range(len(taken) + 1) if (f"{wanted}{n}" if n else wanted) not in taken)
        return f"{wanted}{number}" if number else wanted

    def _region(self, selection: Selection, attrs: Mapping[str, Any], name: str) -> _Region:
        """Return the function of a legal selection; constant tensors are its arguments, as in FuseOps."""
        nodes = [node for node in selection.nodes if node in self.bindings]
        place = self._place(nodes)
        inside = frozenset(identity(self.bindings[node].var) for node in nodes)
        block = self.module[place.function].body.blocks[place.block]
        ordered = [binding for binding in block.bindings if identity(binding.var) in inside]
        entering = {
            identity(each): each
            for binding in ordered
            for each in operands(binding.value)
            if identity(each) not in inside and _is_argument(each)
        }
        results = tuple(self.bindings[node].var for node in selection.outputs if node in self.bindings)
        instead: dict[int, relax.Expr] = {}
        for key, each in entering.items():
            hint = compat.name_of(each) if isinstance(each, relax.Var) else f"constant{len(instead)}"
            instead[key] = relax.Var(hint, type_of(each))
        builder = relax.BlockBuilder()
        with builder.function(name, list(instead.values()), attrs=dict(attrs), private=True):
            with builder.dataflow():
                for binding in ordered:
                    value = replaced(binding.value, instead)
                    instead[identity(binding.var)] = builder.emit(value, compat.name_of(binding.var))
                inner = [instead[identity(result)] for result in results]
                output = builder.emit_output(inner[0] if len(inner) == 1 else relax.Tuple(inner))
            builder.emit_func_output(output)
        return _Region(place, builder.get()[name], tuple(entering.values()), inside, results)

    def extracted(self, region: Selection) -> tvm.IRModule:
        name = self._free_name("extracted")
        function = self._region(region, {}, name).function
        others = {v: each for v, each in self.module.functions_items() if v.name_hint != "main"}
        functions = {**others, tvm.ir.GlobalVar(name): function}
        return with_entry(tvm.IRModule(functions, self.module.attrs, self.module.global_infos), name)

    def kept(self, program: Subprogram) -> tvm.IRModule:
        main, variables = self.module["main"], self._variables
        nodes = {identity(variable): node for node, variable in variables.items()}
        taken = {compat.name_of(each) for each in main.params}
        inputs: dict[int, Any] = {node: variables[node] for node in program.inputs if self._is_param(node)}
        inputs |= {
            node: self.new_input(type_of(variables[node]), taken) for node in program.inputs if node not in inputs
        }
        instead = {identity(variables[node]): value for node, value in inputs.items()}
        inside = {*program.operators, *program.between}
        bindings = [binding for binding in bindings_of(main) if nodes.get(identity(binding.var)) in inside]
        params = [each for node in sorted(inputs) for each in operands(inputs[node])]
        outputs = [variables[node] for node in program.outputs]
        results = [each for variable in outputs for each in self.tensors(variable, type_of(variable))]
        return with_main(self.module, rebuilt(main, params, bindings, instead, results))

    def _is_param(self, node: int) -> bool:
        return self.graph.nodes[node].kind == "param"

    def replaced(self, pairs: Sequence[Sequence[int]]) -> tvm.IRModule:
        main, variables = self.module["main"], self._variables
        alias = {identity(variables[node]): variables[other] for node, other in pairs}
        bindings = [
            relax.VarBinding(each.var, alias[identity(each.var)]) if identity(each.var) in alias else each
            for each in bindings_of(main)
        ]
        return with_main(self.module, rebuilt(main, main.params, bindings, {}, [main.body.body]))

    def inlined(self, functions: Collection[str]) -> tvm.IRModule:
        def reached(name: str) -> set[str]:
            return functions_reached(self.module, name, relax.Function, relax.analysis.post_order_visit)

        def chosen(name: str) -> bool:
            function = self.module[name]
            if not isinstance(function, relax.Function) or (function.attrs or {}).get("Codegen") is not None:
                return False
            return (not functions or name in functions) and name not in reached(name)

        bodies = {name: self.module[name] for name in sorted(reached("main")) if chosen(name)}
        return with_main(self.module, self.module["main"].inline_functions(bodies)) if bodies else self.module

    def changed(self, change: Change, nodes: Collection[int] = (), attributes: bool = False) -> tvm.IRModule:
        main, chosen = self.module["main"], None
        if nodes:
            inputs = zip((node.id for node in self.graph.nodes if self._is_param(node.id)), main.params, strict=False)
            chosen = {identity(variable) for node, variable in inputs if node in nodes}
            chosen |= {key for key, shown in self._drawn[2].items() if set(shown) & set(nodes)}
        params, instead = [], dict[int, relax.Expr]()
        for param in main.params:
            is_chosen = chosen is None or identity(param) in chosen
            params.append(_changed_param(param, change) if is_chosen else param)
            instead[identity(param)] = params[-1]
        for each in constants_of(main):
            if chosen is not None and identity(each) not in chosen:
                continue
            shape, dtype = compat.fixed_shape(type_of(each)) or [], compat.dtype_of(type_of(each))
            values = change.constant(shape, dtype, compat.value_of(each).numpy)
            if values is not None:
                instead[identity(each)] = relax.const(values, change.tensor(shape, dtype)[1])
        bindings = list(bindings_of(main))
        if attributes:
            shapes = [each for binding in bindings for each in operands(binding.value)]
            instead |= {
                identity(each): relax.ShapeExpr(
                    [change.attribute(int(size)) if compat.is_number(size) else size for size in each.values]
                )
                for each in shapes
                if isinstance(each, relax.ShapeExpr)
            }
            bindings = [_with_data_types(binding, change) for binding in bindings]
        return with_main(self.module, rebuilt(main, params, bindings, instead, [main.body.body]))


def _rebound(binding: Any, variable: relax.Var, instead: Mapping[int, relax.Expr]) -> Any:
    value = replaced(binding.value, instead)
    if isinstance(binding, relax.VarBinding):
        return relax.VarBinding(variable, value)
    return relax.MatchCast(binding.var, value, type_of(binding.var))


def _is_argument(value: relax.Expr) -> bool:
    """Return whether a value is an argument of a kernel: a variable, or a constant that is not a scalar."""
    if isinstance(value, relax.Var):
        return True
    return isinstance(value, compat.Constant) and bool(compat.fixed_shape(type_of(value)))


def _changed_param(param: relax.Var, change: Change) -> relax.Var:
    shape = compat.dimensions_of(type_of(param))
    if shape is None:
        return param
    old = [int(size) if compat.is_number(size) else size for size in shape], compat.dtype_of(type_of(param))
    new, dtype = change.tensor(*old)
    is_same = dtype == old[1] and all(a is b or a == b for a, b in zip(new, old[0], strict=True))
    return param if is_same else relax.Var(compat.name_of(param), compat.tensor_type(tuple(new), dtype))


def _with_data_types(binding: Any, change: Change) -> Any:
    """Return the binding with other data types among the attributes of its call."""
    call = binding.value
    attrs = getattr(call, "attrs", None) if isinstance(call, relax.Call) else None
    if attrs is None or not isinstance(binding, relax.VarBinding):
        return binding
    changed = {
        name: tvm.DataType(new) for name, value in compat.data_types(attrs) if (new := change.attribute(value)) != value
    }
    if not changed:
        return binding
    return relax.VarBinding(binding.var, with_operands(call, call.args, compat.replaced(attrs, changed)))
