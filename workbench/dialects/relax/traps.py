"""What a person should know of a Relax module before any pass has run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tvm
from tvm import relax

from workbench.dialects.compat import name_of
from workbench.dialects.relax.expressions import callee_name, sort_of


def noted(module: tvm.IRModule) -> list[str]:
    """A sentence for each trap that the module steps into."""
    trained = [binding for binding in _bindings(module) if _trains(binding.value)]
    if not trained:
        return []
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
    return [told]


def _bindings(module: tvm.IRModule) -> Iterator[Any]:
    """The bindings of the module's functions, those inside branches and local functions left out."""
    for function in module.functions.values():
        if isinstance(function, relax.Function) and isinstance(function.body, relax.SeqExpr):
            for block in function.body.blocks:
                yield from block.bindings


def _trains(value: Any) -> bool:
    if sort_of(value) != "call" or callee_name(value.op) != "relax.nn.batch_norm":
        return False
    return bool(getattr(value.attrs, "training", False))
