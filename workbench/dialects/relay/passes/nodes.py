"""The expressions of a module for the node ids of its Graph.

A node's id is its place in TVM's own post-DFS order, which is the same each time a module is printed; so ids in a
pipeline's text refer to the same nodes when the pipeline runs again on the same module.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import tvm
from tvm import relay

from workbench.dialects.relay.graph import build_graph
from workbench.dialects.relay.operators import registered_pattern
from workbench.dialects.relay.parser import parse
from workbench.dialects.relay.parser.ast import Expr, Module
from workbench.dialects.relay.printer import constant_digests, parameter_names, parts, print_module, share_scalars
from workbench.graph.model import Graph


@dataclass(frozen=True)
class Located:
    """A module's graph, and the expression of each of its nodes."""

    module: tvm.IRModule
    graph: Graph
    expressions: tuple[relay.Expr, ...]
    "in node order; the body of a function that is called twice is drawn twice, so its expressions are here twice"

    @cached_property
    def instances(self) -> dict[relay.Expr, int]:
        """Return the number of nodes of each expression."""
        counts: dict[relay.Expr, int] = {}
        for expression in self.expressions:
            counts[expression] = counts.get(expression, 0) + 1
        return counts


def located(module: tvm.IRModule, name: str = "main") -> Located:
    """Find the expression of every node of the module's graph."""
    printed = print_module(module)
    parsed = parse(printed.text)
    share_scalars(module, parsed)
    digests = constant_digests(module, parsed) if "meta[relay.Constant]" in printed.text else {}
    names = {**printed.names, **parameter_names(printed, parsed)}
    origins: list[Expr] = []
    graph = build_graph(parsed, name, registered_pattern, digests, names, origins)
    meant = _meanings(module, parsed)
    return Located(module, graph, tuple(meant[origin] for origin in origins))


def _meanings(module: tvm.IRModule, parsed: Module) -> dict[Expr, relay.Expr]:
    """Return the expression of the module for each one of its text, by walking both together."""
    found: dict[Expr, relay.Expr] = {}
    stack = [(function, module[name]) for name, function in parsed.functions.items()]
    while stack:
        said, meant = stack.pop()
        if said in found:
            continue
        found[said] = meant
        if said.kind == "function":
            found.update(zip(said.params, meant.params, strict=True))
        if said.kind == "match":
            for pattern, clause in zip(said.patterns, meant.clauses, strict=True):
                found.update(zip(pattern.variables, _bound_by(clause.lhs), strict=True))
        if said.kind not in ("var", "op", "global", "constructor", "constant"):
            stack.extend(zip(said.args, parts(meant), strict=True))
    return found


def _bound_by(pattern: relay.Pattern) -> list[relay.Var]:
    """Return the variables that a pattern binds, left to right."""
    found, stack = [], [pattern]
    while stack:
        current = stack.pop()
        if isinstance(current, relay.PatternVar):
            found.append(current.var)
        elif isinstance(current, (relay.PatternConstructor, relay.PatternTuple)):
            stack.extend(reversed(list(current.patterns)))
    return found
