"""Which layer of an imported model each binding comes from, kept in the names of Relax's variables.

Relax's importers give every binding a number for a name, and passes drop spans; names of variables survive legalisation and
are kept inside kernels. So a binding is named by its path, `layers.0.q.MatMul`, with dots, which printed text and generated
code write as underscores.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import tvm
from tvm import relax

from workbench.dialects.compat import identity, name_of, type_of
from workbench.dialects.relax.expressions import operands_of

_INSIDE_A_PART = re.compile(r"\.(?![0-9]+(?:\.|$))|[^A-Za-z0-9_.]")


class Origins:
    """What each node of the imported model became."""

    def __init__(self) -> None:
        self.paths: dict[int, str] = {}
        self.kept: list[Any] = []
        "the expressions, so that no other takes the address of one"

    def came(self, value: Any, path: Sequence[str], builder: relax.BlockBuilder) -> None:
        """Record that `value`, and what was made for it since the last call, is of the node at this path."""
        name = ".".join(_INSIDE_A_PART.sub("_", part) for part in path if part)
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
        """The module with what `main` binds named by where it came from, each name once, in printed text too."""
        function, names = module["main"], {}
        taken = {name_of(param).replace(".", "_") for param in function.params}
        for block in function.body.blocks:
            for binding in block.bindings:
                # what one node gave unbound is bound only for the next one
                path = self.paths.get(identity(binding.value)) or self.paths.get(identity(binding.var))
                if path:
                    names[identity(binding.var)] = _once(path, taken)
        module = module.clone()
        module["main"] = _Renaming(names).visit_expr(function)
        return module


def _once(path: str, taken: set[str]) -> str:
    name, number = path, 1
    while name.replace(".", "_") in taken:
        number += 1
        name = f"{path}_{number}"
    taken.add(name.replace(".", "_"))
    return name


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
