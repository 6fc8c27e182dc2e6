"""A module as Python that makes it with TVM alone, with the values of its constants apart."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress

import numpy as np
import tvm
from tvm import relay

from workbench.dialects.python_text import literal
from workbench.dialects.relay.diagnostics import as_error
from workbench.dialects.relay.entries import copy
from workbench.dialects.relay.passes.rewriting import Memo, rewritten
from workbench.errors import LoadError

_TYPE = re.compile(r" /\* ty=[^*]*\*/")
"a type that the parser infers again; that of a parameter is not a comment"


def source(module: tvm.IRModule) -> tuple[str, dict[str, np.ndarray]]:
    """Return Python that makes `mod`, and the values of the constants that are parameters of its `main`.

    The text is the one that TVM prints, if TVM's parser makes the same module of it; otherwise TVM's JSON, with all constants.
    """
    apart, values = _with_parameters(module)
    typed = str(apart.astext(show_meta_data=True))
    for text in (_TYPE.sub("", typed), typed):
        if _is_read(text, values, module):
            return f"mod = relay.parse({literal(text)})", values
    return f"mod = tvm.ir.load_json({literal(tvm.ir.save_json(module))})", {}


def _is_read(text: str, values: Mapping[str, np.ndarray], module: tvm.IRModule) -> bool:
    """Return whether TVM's parser makes this module of a text."""
    with suppress(tvm.TVMError, LoadError), as_error(LoadError):
        return bool(tvm.ir.structural_equal(_bound(relay.parse(text), values), relay.transform.InferType()(module)))
    return False


def _bound(module: tvm.IRModule, values: Mapping[str, np.ndarray]) -> tvm.IRModule:
    """Return the module with these parameters of `main` as constants."""
    made = copy(module)
    made["main"] = relay.build_module.bind_params_by_name(made["main"], values)
    return relay.transform.InferType()(made)


def _with_parameters(module: tvm.IRModule) -> tuple[tvm.IRModule, dict[str, np.ndarray]]:
    """Return the module with the tensors among its constants as parameters, and their values."""
    main = module["main"]
    taken = {each.name_hint for each in relay.analysis.all_vars(main)}
    memo: Memo = {}
    values: dict[str, np.ndarray] = {}

    def lift(expr: relay.Expr) -> None:
        if isinstance(expr, relay.Constant) and expr.data.shape:
            name = next(name for number in range(len(taken) + 1) if (name := f"c{number}") not in taken)
            taken.add(name)
            memo[expr], values[name] = relay.Var(name, expr.checked_type), expr.data.numpy()

    relay.analysis.post_order_visit(main.body, lift)
    if not memo:
        return module, {}
    lifted = list(memo.values())
    made = copy(module)
    body = rewritten(main.body, memo)
    made["main"] = relay.Function([*main.params, *lifted], body, None, main.type_params, main.attrs)
    return relay.transform.InferType()(made), values
