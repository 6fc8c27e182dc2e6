"""Layer paths of an imported model's bindings, kept in the names of Relax's variables.

Relax's importers give every binding a number for a name, and passes drop spans; variable names survive legalisation and
remain inside kernels. So a binding is named by its path, `layers.0.q.MatMul`, with dots, which printed text and
generated code write as underscores.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import tvm
from tvm import relax

from workbench.dialects.relax.compat import identity, name_of, type_of
from workbench.dialects.relax.expressions import operands_of

_INSIDE_A_PART = re.compile(r"\.(?![0-9]+(?:\.|$))|[^A-Za-z0-9_.]")


class Origins:
    """The bindings that each node of the imported model became."""

    def __init__(self) -> None:
        self.paths: dict[int, str] = {}
        self.kept: list[Any] = []
        "the expressions, kept alive so that no other takes the address of one"

    def came(self, value: Any, path: Sequence[str], builder: relax.BlockBuilder) -> None:
        """Record that `value`, and the bindings made since the last call, belong to the node at this path."""
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
        """Return the module with the bindings of `main` named by their paths, each name once, in printed text too."""
        function, names = module["main"], {}
        taken = Names(name_of(param) for param in function.params)
        for block in function.body.blocks:
            for binding in block.bindings:
                # an unbound result of one node is bound only by the next one
                path = self.paths.get(identity(binding.value)) or self.paths.get(identity(binding.var))
                if path:
                    names[identity(binding.var)] = taken.once(path)
        module = module.clone()
        module["main"] = _Renaming(names).visit_expr(function)
        return module


class Names:
    """Makes each name unique, in printed text too, where a dot is an underscore."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._numbers = dict.fromkeys(map(_printed, taken), 1)
        "printed name -> the last number that was added to it"

    def once(self, path: str) -> str:
        """Return the path, with the next free number where it is taken."""
        number = self._numbers.get(_printed(path))
        if number is None:
            self._numbers[_printed(path)] = 1
            return path
        while _printed(f"{path}_{number + 1}") in self._numbers:
            number += 1
        self._numbers[_printed(path)] = number + 1
        return self.once(f"{path}_{number + 1}")


def _printed(path: str) -> str:
    return path.replace(".", "_")


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
