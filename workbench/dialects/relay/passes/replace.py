"""ReplaceValues: read another value of the same type in the place of a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tvm
from tvm import relay

from workbench.analysis import legality
from workbench.analysis.subprograms import check_pairs
from workbench.dialects.relay.passes.nodes import located
from workbench.dialects.relay.passes.rewriting import rewritten, with_main


@tvm.transform.module_pass(opt_level=0, name="ReplaceValues")
@dataclass(frozen=True)
class ReplaceValues:
    """Read another value of the same type in the place of a value: an operator's input in the place of its result."""

    pairs: Sequence[Sequence[int]] = ()
    "(node, an earlier node of the same type) by the node ids of the module's graph"
    ops: Sequence[str] = ()
    "the operators at both nodes of each pair, one after the other, checked first; empty to trust the ids"

    def transform_module(self, module: tvm.IRModule, _: tvm.transform.PassContext) -> tvm.IRModule:
        """Run on a module; raises IllegalEdit if the types of a pair differ."""
        if not self.pairs:
            return module
        at = located(relay.transform.InferType()(module))
        legality.check_names(at.graph, [node for pair in self.pairs for node in pair], self.ops, "ReplaceValues")
        check_pairs(at.graph, self.pairs)
        instead = {at.expressions[node]: at.expressions[other] for node, other in self.pairs}
        main = at.module["main"]
        body = rewritten(main.body, {}, instead=instead)
        read = list(relay.analysis.free_vars(body))
        return with_main(
            at.module, relay.Function([each for each in main.params if each in read], body, None, [], main.attrs)
        )
