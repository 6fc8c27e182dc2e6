"""The changes of a Relay module that the passes of `dialects/edits.py` are made of.

A node's id is its place in TVM's own post-DFS order, which is the same each time a module is printed; so ids in a
pipeline's text refer to the same nodes when the pipeline runs again on the same module.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import tvm
from tvm import relay

from workbench.analysis.legality import IllegalEdit, Selection, describe
from workbench.analysis.subprograms import Subprogram
from workbench.dialects.editable import Change, Editable
from workbench.dialects.entries import functions_reached
from workbench.dialects.relay.compiler.kernels import foreign
from workbench.dialects.relay.entries import with_entry
from workbench.dialects.relay.graph import build_graph
from workbench.dialects.relay.objects import attribute_type
from workbench.dialects.relay.operators import registered_pattern
from workbench.dialects.relay.parser import parse
from workbench.dialects.relay.parser.ast import Expr, Module
from workbench.dialects.relay.passes.rewriting import Memo, everywhere, rewritten, with_body, with_main
from workbench.dialects.relay.printer import constant_digests, parameter_names, print_module, share_scalars, together
from workbench.graph.model import Graph


class Located(Editable):
    """A module with the expression of each node of its graph."""

    ir = relay
    tuple_type = relay.TupleType

    def __init__(self, module: tvm.IRModule, name: str = "main") -> None:
        self.module, self.name = module, name

    @cached_property
    def _drawn(self) -> tuple[Graph, tuple[relay.Expr, ...]]:
        printed = print_module(self.module)
        parsed = parse(printed.text)
        share_scalars(self.module, parsed)
        digests = constant_digests(self.module, parsed) if "meta[relay.Constant]" in printed.text else {}
        names = {**printed.names, **parameter_names(printed, parsed)}
        origins: list[Expr] = []
        graph = build_graph(parsed, self.name, registered_pattern, digests, names, origins)
        meant = _meanings(self.module, parsed)
        return graph, tuple(meant[origin] for origin in origins)

    @property
    def graph(self) -> Graph:
        return self._drawn[0]

    @property
    def expressions(self) -> tuple[relay.Expr, ...]:
        """The expressions in node order; those of a function that is called twice are here twice, as it is drawn twice."""
        return self._drawn[1]

    @cached_property
    def instances(self) -> Counter[relay.Expr]:
        """The number of nodes of each expression."""
        return Counter(self.expressions)

    def cut(self, edges: Sequence[Any]) -> tvm.IRModule:
        places: dict[relay.Expr, set[int]] = {}
        for edge in edges:
            target = self.expressions[edge.target]
            self._check_once(edge.target)
            # the first part of a call is its operator
            places.setdefault(target, set()).add(edge.index + isinstance(target, relay.Call))

        def stopped(expr: relay.Expr, new: list[relay.Expr]) -> list[relay.Expr]:
            stops = places.get(expr, ())
            return [relay.annotation.stop_fusion(part) if i in stops else part for i, part in enumerate(new)]

        return everywhere(self.module, lambda function: rewritten(function, {}, stopped))

    def outlined(self, region: Selection, name: str, attribute: str, value: Any) -> tvm.IRModule:
        function = self._function(region)
        arguments = list(dict.fromkeys(self.expressions[i] for i in region.inputs))
        one = tvm.tir.IntImm("int32", 1)
        if attribute == "Compiler":
            variable = relay.GlobalVar(name)
            attrs = {"Compiler": value, "Primitive": one, "Inline": one, "global_symbol": name}
            call, added = relay.Call(variable, arguments), {variable: function.with_attr(attrs)}
        else:
            own = function.with_attr(attribute, one if attribute == "Primitive" else value)
            call, added = relay.Call(own, arguments), {}
        memo: Memo = {}
        for place, node in enumerate(region.outputs):
            memo[self.expressions[node]] = call if len(region.outputs) == 1 else relay.TupleGetItem(call, place)
        return everywhere(self.module, lambda function: rewritten(function, memo), added)

    def _check_once(self, node: int) -> None:
        if self.instances[self.expressions[node]] > 1:
            raise IllegalEdit(
                f"{describe(self.graph, node)} is in a function that is called more than once; inline it first"
            )

    def _function(self, region: Selection, prefix: str = "p") -> relay.Function:
        """Return the function that computes a region: of its inputs in order, to its one output or a Tuple of them.

        Raises IllegalEdit: the module has a `let` or a function that is called twice, which the graph does not show.
        """
        for node in region.nodes:
            if isinstance(self.expressions[node], relay.Constant):
                continue
            self._check_once(node)
            if self.graph.nodes[node].name:
                raise IllegalEdit(f"{describe(self.graph, node)} is bound by a let; run ToGraphNormalForm first")
        arguments = dict.fromkeys(self.expressions[i] for i in region.inputs)
        params = [relay.Var(f"{prefix}{place}", each.checked_type) for place, each in enumerate(arguments)]
        memo: Memo = dict(zip(arguments, params, strict=True))
        results = [rewritten(self.expressions[i], memo) for i in region.outputs]
        types = [self.expressions[i].checked_type for i in region.outputs]
        # calls of a global function are typed by its declared return type
        one = len(results) == 1
        return relay.Function(
            params, results[0] if one else relay.Tuple(results), types[0] if one else relay.TupleType(types)
        )

    def extracted(self, region: Selection) -> tvm.IRModule:
        others = {v: function for v, function in self.module.functions.items() if v.name_hint != "main"}
        made = tvm.IRModule(others, self.module.type_definitions, self.module.attrs)
        # relay.build names constants p0, p1 and so on
        made["main"] = self._function(region, "x")
        return with_entry(made, "main")

    def kept(self, program: Subprogram) -> tvm.IRModule:
        taken = {each.name_hint for each in self.module["main"].params}
        memo: Memo = {}
        for place in program.inputs:
            value = self.expressions[place]
            memo[value] = value if isinstance(value, relay.Var) else self.new_input(value.checked_type, taken)
        outputs = [self.expressions[place] for place in program.outputs]
        results = [each for out in outputs for each in self.tensors(rewritten(out, memo), out.checked_type)]
        return self._with_body(results[0] if len(results) == 1 else relay.Tuple(results))

    def replaced(self, pairs: Sequence[Sequence[int]]) -> tvm.IRModule:
        instead = {self.expressions[node]: self.expressions[other] for node, other in pairs}
        return self._with_body(rewritten(self.module["main"].body, {}, instead=instead))

    def _with_body(self, body: relay.Expr) -> tvm.IRModule:
        """Return the module with that body of `main`, and of its inputs those that the body reads, then the new ones."""
        main, read = self.module["main"], list(relay.analysis.free_vars(body))
        old = [each for each in main.params if each in read]
        params = [*old, *(each for each in read if each not in old)]
        return with_main(self.module, relay.Function(params, body, None, [], main.attrs))

    def inlined(self, functions: Collection[str]) -> tvm.IRModule:
        main = self.module["main"]
        body = main.body
        while calls := self._calls(body, functions):
            memo: Memo = {}
            for call in calls:
                arguments = [rewritten(each, memo) for each in call.args]
                function = self._callee(call)
                memo[call] = rewritten(function.body, dict(zip(function.params, arguments, strict=True)))
            body = rewritten(body, memo)
        return self.module if body.same_as(main.body) else with_main(self.module, with_body(main, body))

    def _callee(self, call: relay.Call) -> Any:
        return self.module[call.op] if isinstance(call.op, tvm.ir.GlobalVar) else call.op

    def _calls(self, body: relay.Expr, functions: Collection[str]) -> list[relay.Call]:
        """Return the calls to inline, the arguments of a call before it."""
        found: list[relay.Call] = []
        visit = relay.analysis.post_order_visit

        def look(expr: relay.Expr) -> None:
            if not isinstance(expr, relay.Call):
                return
            function, name = self._callee(expr), getattr(expr.op, "name_hint", "")
            if not isinstance(function, relay.Function) or foreign(function) or (functions and name not in functions):
                return
            if not name or name not in functions_reached(self.module, name, relay.Function, visit):
                found.append(expr)

        visit(body, look)
        return found

    def changed(self, change: Change, nodes: Collection[int] = (), attributes: bool = False) -> tvm.IRModule:
        main = self.module["main"]
        chosen = {self.expressions[node] for node in nodes}
        memo: Memo = {}
        for param in main.params:
            type = _changed_type(param.checked_type, change) if not nodes or param in chosen else param.checked_type
            memo[param] = relay.Var(param.name_hint, type)

        def look(expr: relay.Expr) -> None:
            # its parts are noted already
            if isinstance(expr, relay.Constant):
                memo[expr] = _changed_constant(expr, change) if not nodes or expr in chosen else expr
            elif attributes and isinstance(expr, relay.Call) and expr.attrs is not None:
                arguments = [memo.get(each, each) for each in expr.args]
                attrs = _changed_attributes(expr, change)
                memo[expr] = relay.Call(memo.get(expr.op, expr.op), arguments, attrs, [], expr.span)
            else:
                rewritten(expr, memo)

        relay.analysis.post_order_visit(main.body, look)
        params = [memo[each] for each in main.params]
        return with_main(self.module, relay.Function(params, memo[main.body], None, [], main.attrs))


def _meanings(module: tvm.IRModule, parsed: Module) -> dict[Expr, relay.Expr]:
    """Return the expression of the module for each one of its text, by walking both together."""
    found: dict[Expr, relay.Expr] = {}
    for said, meant in together(module, parsed):
        found[said] = meant
        if said.kind == "function":
            found.update(zip(said.params, meant.params, strict=True))
        if said.kind == "match":
            for pattern, clause in zip(said.patterns, meant.clauses, strict=True):
                found.update(zip(pattern.variables, bound_by(clause.lhs), strict=True))
    return found


def bound_by(pattern: relay.Pattern) -> list[relay.Var]:
    """Return the variables that a pattern binds, left to right."""
    found, stack = [], [pattern]
    while stack:
        current = stack.pop()
        if isinstance(current, relay.PatternVar):
            found.append(current.var)
        elif isinstance(current, (relay.PatternConstructor, relay.PatternTuple)):
            stack.extend(reversed(list(current.patterns)))
    return found


def _changed_type(type: Any, change: Change) -> Any:
    if not isinstance(type, relay.TensorType):
        return type
    old = [int(size) if isinstance(size, tvm.tir.IntImm) else size for size in type.shape]
    new, dtype = change.tensor(old, type.dtype)
    # a size that stays has its integer type too
    sizes = [size if now is was else now for size, was, now in zip(type.shape, old, new, strict=True)]
    return relay.TensorType(sizes, dtype)


def _changed_constant(constant: relay.Constant, change: Change) -> relay.Constant:
    data = constant.data
    values: np.ndarray | None = change.constant(data.shape, data.dtype, data.numpy)
    return constant if values is None else relay.const(values, change.tensor(data.shape, data.dtype)[1])


def _changed_attributes(call: relay.Call, change: Change) -> Any:
    def changed(value: Any) -> Any:
        if isinstance(value, tvm.tir.IntImm):
            return tvm.tir.IntImm(value.dtype, change.attribute(int(value)))
        if isinstance(value, tvm.ir.Array):
            return [changed(each) for each in value]
        return value if isinstance(value, bool) else change.attribute(value)

    fields = {str(name): changed(call.attrs[name]) for name in call.attrs.keys()}  # noqa: SIM118  not a mapping
    key = attribute_type(call.op) if isinstance(call.op, tvm.ir.Op) else ""
    return tvm.ir.make_node(key, **fields) if key else call.attrs
