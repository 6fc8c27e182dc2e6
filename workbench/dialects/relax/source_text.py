"""A module as Python that makes it with TVM alone, with the values of its constants apart."""

from __future__ import annotations

import re

import numpy as np
import tvm
from tvm import relax

from workbench.dialects.relax import compat
from workbench.dialects.relax.compat import identity, type_of
from workbench.dialects.relax.passes.rewriting import bindings_of, constants_of, rebuilt, with_main

_IMPORT = re.compile(r"^# (from tvm\.script import .*)$", re.MULTILINE)


def with_parameters(module: tvm.IRModule) -> tuple[tvm.IRModule, dict[str, np.ndarray]]:
    """Return the module with the tensors among its constants as parameters of `main`, and their values."""
    main = module["main"]
    taken = {compat.name_of(each) for each in main.params}
    instead: dict[int, relax.Expr] = {}
    values: dict[str, np.ndarray] = {}
    for each in constants_of(main):
        if identity(each) not in instead:
            name = next(name for number in range(len(taken) + 1) if (name := f"c{number}") not in taken)
            taken.add(name)
            instead[identity(each)] = relax.Var(name, type_of(each))
            values[name] = compat.value_of(each).numpy()
    if not values:
        return module, {}
    params = [*main.params, *instead.values()]
    return with_main(module, rebuilt(main, params, bindings_of(main), instead, [main.body.body])), values


def python(script: str) -> str:
    """Return the statements that make `mod`, from the text that TVM prints."""
    uncommented = _IMPORT.sub(r"\1", script).strip()
    return f"{uncommented}\n\n\nmod = Module"
