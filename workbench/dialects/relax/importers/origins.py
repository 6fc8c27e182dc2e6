"""Which layer of an imported model each binding comes from, kept in the names of Relax's variables.

Relax's importers give every binding a number for a name, and passes drop spans; names of variables survive legalisation and
are kept inside kernels. So a binding is named by its path, `layers.0.q.MatMul`, with dots, which printed text and generated
code write as underscores.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
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
        taken = Names(name_of(param) for param in function.params)
        for block in function.body.blocks:
            for binding in block.bindings:
                # what one node gave unbound is bound only for the next one
                path = self.paths.get(identity(binding.value)) or self.paths.get(identity(binding.var))
                if path:
                    names[identity(binding.var)] = taken.once(path)
        module = module.clone()
        module["main"] = _Renaming(names).visit_expr(function)
        return module


class Names:
    """Gives each name once, in printed text too, where a dot is an underscore."""

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
