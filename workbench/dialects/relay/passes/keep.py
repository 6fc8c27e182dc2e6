"""KeepOperators: a program of any operators of the module."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import tvm
from tvm import relay

from workbench.analysis import legality
from workbench.analysis.subprograms import subprogram
from workbench.dialects.relay.passes.nodes import located
from workbench.dialects.relay.passes.rewriting import Memo, rewritten, with_main


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
        at = located(relay.transform.InferType()(module))
        legality.check_names(at.graph, self.nodes, self.ops, "KeepOperators")
        kept = subprogram(at.graph, self.nodes)
        main = at.module["main"]
        taken = {each.name_hint for each in main.params}
        memo: Memo = {}
        for place in kept.inputs:
            value = at.expressions[place]
            memo[value] = value if isinstance(value, relay.Var) else _input(value.checked_type, taken)
        results = [
            field
            for place in kept.outputs
            for field in _fields(rewritten(at.expressions[place], memo), at.expressions[place].checked_type)
        ]
        body = results[0] if len(results) == 1 else relay.Tuple(results)
        return with_main(at.module, relay.Function(_inputs(main, body), body, None, [], main.attrs))


def _input(type: tvm.ir.Type, taken: set[str]) -> relay.Expr:
    """Return a new input of a type; for a tuple, a tuple of new inputs, because the executor takes tensors."""
    if isinstance(type, relay.TupleType):
        return relay.Tuple([_input(field, taken) for field in type.fields])
    name = next(name for number in range(len(taken) + 1) if (name := f"v{number}") not in taken)
    taken.add(name)
    return relay.Var(name, type)


def _fields(value: relay.Expr, type: tvm.ir.Type) -> Iterator[relay.Expr]:
    """Yield the tensors of a value."""
    if not isinstance(type, relay.TupleType):
        yield value
        return
    for place, field in enumerate(type.fields):
        yield from _fields(relay.TupleGetItem(value, place), field)


def _inputs(main: relay.Function, body: relay.Expr) -> list[relay.Var]:
    """Return the inputs that a body reads: those of `main` in their order, then the new ones."""
    read = list(relay.analysis.free_vars(body))
    old = [each for each in main.params if each in read]
    return [*old, *(each for each in read if each not in old)]
