"""Import of a relax.frontend.nn module to Relax."""

from __future__ import annotations

import inspect
from typing import Any

import tvm
from tvm.relax.frontend import nn

from workbench.dialects.base import Workload
from workbench.dialects.importers.converting import Converting, Inputs, shapes
from workbench.dialects.relax.frontend import load
from workbench.errors import LoadError


def workload(model: Any, name: str, inputs: Inputs) -> Workload:
    """Return a Workload of a module's `forward`; parameters that have values keep them."""
    takes = [p.name for p in inspect.signature(model.forward).parameters.values() if p.default is p.empty]
    given = shapes(inputs, takes)
    lacking = [argument for argument in takes if argument not in given]
    if lacking:
        raise LoadError(
            f"the shapes of {', '.join(lacking)} are not in the module; give them, wb.load(model, inputs={{{lacking[0]!r}: (1, 128)}})"
        )
    examples = inputs if isinstance(inputs, dict) else dict(zip(takes, inputs or (), strict=False))
    spec = {
        argument: nn.spec.Tensor(given[argument], str(getattr(examples[argument], "dtype", "float32")))
        for argument in takes
    }
    converting = Converting()
    with converting:
        module, parameters = model.export_tvm(spec={"forward": spec})
    module = _entry_called_main(module)
    values = {key: parameter.data for key, parameter in parameters if parameter.data is not None}
    made = load(module, values, name)
    assert made is not None, "it is an IRModule"
    made.notes += converting.warnings
    return made


def _entry_called_main(module: tvm.IRModule) -> tvm.IRModule:
    """Return the module with `forward` as `main`, the function that a Workload runs."""
    functions = {
        "main" if var.name_hint == "forward" else var.name_hint: function for var, function in module.functions_items()
    }
    renamed = tvm.IRModule(functions, module.attrs, module.global_infos)
    renamed["main"] = renamed["main"].with_attr("global_symbol", "main")
    return renamed
