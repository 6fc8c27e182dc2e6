"""Layer paths of an imported model's bindings, kept in the names of Relax's variables.

Relax's importers give every binding a number for a name, and passes drop spans; variable names survive legalisation and
remain inside kernels. So a binding is named by its path, `layers.0.q.MatMul`, with dots, which printed text and
generated code write as underscores.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from workbench.dialects.importers.names import binding_names
from workbench.dialects.relax.compat import identity, name_of, type_of
from workbench.dialects.relax.expressions import operands_of


class Origins:
    """The bindings that each node of the imported model became."""

    def __init__(self) -> None:
        self.paths: dict[int, str] = {}
        self.kept: list[Any] = []
        "the expressions, kept alive so that no other takes the address of one"

    def came(self, value: Any, name: str, builder: relax.BlockBuilder) -> None:
        """Record that `value`, and the bindings made since the last call, belong to the node of this dotted name."""
        waiting = [value]
        while waiting:
            current = waiting.pop()
            if not isinstance(current, relax.Expr) or identity(current) in self.paths:
                continue
            self.paths[identity(current)] = name
            self.kept.append(current)
            bound = builder.lookup_binding(current) if isinstance(current, relax.Var) else None
            waiting.extend(operands_of(current) if bound is None else [bound])

    def named(self, module: tvm.IRModule) -> tvm.IRModule:
        """Return the module with the bindings of `main` named by their paths, each name once, in printed text too."""
        function, nodes = module["main"], dict[int, str]()
        for block in function.body.blocks:
            for binding in block.bindings:
                # an unbound result of one node is bound only by the next one
                node = self.paths.get(identity(binding.value)) or self.paths.get(identity(binding.var))
                if node:
                    nodes[identity(binding.var)] = node
        if not nodes:
            return module
        named = binding_names(nodes.values(), (name_of(param) for param in function.params))
        names = dict(zip(nodes, named, strict=True))
        module = module.clone()
        module["main"] = _Renaming(names).visit_expr(function)
        return module


@relax.expr_functor.mutator
class _Renaming(relax.expr_functor.PyExprMutator):
    def __init__(self, names: dict[int, str]) -> None:
        super().__init__()
        self.names = names

    def visit_dataflow_var_def_(self, var: relax.DataflowVar) -> relax.Var:
        return self.renamed(var, relax.DataflowVar)

    def visit_var_def_(self, var: relax.Var) -> relax.Var:
        return self.renamed(var, relax.Var)

    def renamed(self, var: relax.Var, kind: type[relax.Var]) -> relax.Var:
        name = self.names.get(identity(var))
        return kind(name, type_of(var)) if name else var
