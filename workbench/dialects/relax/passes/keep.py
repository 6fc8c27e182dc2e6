"""KeepOperators: a program of any operators of the module."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax

from workbench.analysis import legality
from workbench.analysis.subprograms import Subprogram, subprogram
from workbench.dialects.relax import compat
from workbench.dialects.relax.compat import identity, type_of
from workbench.dialects.relax.passes.nodes import Located, located, variables_of
from workbench.dialects.relax.passes.rewriting import bindings_of, operands, rebuilt, with_main


@tvm.transform.module_pass(opt_level=0, name="KeepOperators")
@dataclass(frozen=True)
class KeepOperators:
    """Keep only chosen operators of `main`. The values that they read of others become inputs of the same types.

    The outputs are the values that no chosen operator reads. Inputs and constants stay as they are.
    """

    nodes: Sequence[int] = ()
    "the operators by their node ids in the module's graph"
    ops: Sequence[str] = ()
    "the operators at these ids, in the same order, checked first; empty to trust the ids"

    def transform_module(self, module: tvm.IRModule, _: tvm.transform.PassContext) -> tvm.IRModule:
        """Run on a module; raises IllegalEdit if a node is not an operator of `main`."""
        if not self.nodes:
            return module
        at = located(module)
        legality.check_names(at.graph, self.nodes, self.ops, "KeepOperators")
        return with_main(module, _main(at, subprogram(at.graph, self.nodes)))


def _main(at: Located, kept: Subprogram) -> relax.Function:
    main = at.module["main"]
    variables = variables_of(at)
    nodes = {identity(variable): node for node, variable in variables.items()}
    taken = {compat.name_of(each) for each in main.params}
    inputs = {node: variables[node] for node in kept.inputs if at.graph.nodes[node].kind == "param"}
    inputs |= {node: _input(type_of(variables[node]), taken) for node in kept.inputs if node not in inputs}
    instead = {identity(variables[node]): value for node, value in inputs.items()}
    inside = {*kept.operators, *kept.between}
    bindings = [binding for binding in bindings_of(main) if nodes.get(identity(binding.var)) in inside]
    params = [each for node in sorted(inputs) for each in operands(inputs[node])]
    results = [each for node in kept.outputs for each in _fields(variables[node], type_of(variables[node]))]
    return rebuilt(main, params, bindings, instead, results)


def _fields(value: relax.Expr, type: Any) -> Iterator[relax.Expr]:
    """Yield the tensors of a value."""
    if not isinstance(type, compat.TupleType):
        yield value
        return
    for place, field in enumerate(type.fields):
        yield from _fields(relax.TupleGetItem(value, place), field)


def _input(type: Any, taken: set[str]) -> relax.Expr:
    """Return a new input of a type; for a tuple, a tuple of new inputs."""
    if isinstance(type, compat.TupleType):
        return relax.Tuple([_input(field, taken) for field in type.fields])
    name = next(name for number in range(len(taken) + 1) if (name := f"v{number}") not in taken)
    taken.add(name)
    return relax.Var(name, type)
