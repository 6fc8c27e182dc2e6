"""Moving a region of a module into a function of its own, for ForceFusion and OutlineRegion."""

from __future__ import annotations

from dataclasses import dataclass

import tvm
from tvm import relay

from workbench.analysis.legality import IllegalEdit, Selection, describe
from workbench.dialects.relay.passes.nodes import Located
from workbench.dialects.relay.passes.rewriting import Memo, in_module, rewritten


@dataclass(frozen=True)
class Enclosed:
    """A region as a function, not yet called."""

    function: relay.Function
    "its parameters are the region's inputs in order; its body is the one output, or a Tuple of them"
    arguments: tuple[relay.Expr, ...]
    outputs: tuple[relay.Expr, ...]
    "the expressions of the module that the function computes"


def enclosed(at: Located, selection: Selection) -> Enclosed:
    """Return the function that computes a region.

    Raises
    ------
    IllegalEdit
        The module has a `let` or a function that is called twice, which the graph does not show.
    """
    inside = [at.expressions[i] for i in selection.nodes]
    for id, expression in zip(selection.nodes, inside, strict=True):
        is_constant = isinstance(expression, relay.Constant)
        if at.instances[expression] > 1 and not is_constant:
            raise IllegalEdit(
                f"{describe(at.graph, id)} is in a function that is called more than once; inline it first"
            )
        if at.graph.nodes[id].name and not is_constant:
            raise IllegalEdit(f"{describe(at.graph, id)} is bound by a let; run ToGraphNormalForm first")
    arguments = tuple(dict.fromkeys(at.expressions[i] for i in selection.inputs))
    params = [relay.Var(f"p{place}", argument.checked_type) for place, argument in enumerate(arguments)]
    memo: Memo = dict(zip(arguments, params, strict=True))
    outputs = tuple(at.expressions[i] for i in selection.outputs)
    results = [rewritten(output, memo) for output in outputs]
    body = results[0] if len(results) == 1 else relay.Tuple(results)
    types = [output.checked_type for output in outputs]
    # calls of a global function are typed by its declared return type
    result = types[0] if len(types) == 1 else relay.TupleType(types)
    return Enclosed(relay.Function(params, body, result), arguments, outputs)


def called(
    at: Located, region: Enclosed, callee: relay.Expr, added: dict[relay.GlobalVar, relay.Function]
) -> tvm.IRModule:
    """Return the module in which `callee`, on the region's arguments, computes the region."""
    call = relay.Call(callee, list(region.arguments))
    memo: Memo = {}
    for place, output in enumerate(region.outputs):
        memo[output] = call if len(region.outputs) == 1 else relay.TupleGetItem(call, place)
    functions: dict[relay.GlobalVar | str, relay.Function] = dict(added)
    for name, function in at.module.functions.items():
        if isinstance(function, relay.Function):
            changed = rewritten(function, memo)
            if not changed.same_as(function):
                functions[name.name_hint] = changed
    return in_module(at.module, functions)
