"""PyTorch to Relax: a program of torch.export, by TVM's converters."""

from __future__ import annotations

from typing import Any

from tvm import relax

from workbench.dialects.base import Workload
from workbench.dialects.importers.converting import Converting, Inputs, needed, refuse
from workbench.dialects.importers.names import dotted
from workbench.dialects.importers.torch_model import evaluating, examples, kind_of
from workbench.dialects.relax.frontend import load
from workbench.dialects.relax.importers.origins import Origins
from workbench.errors import LoadError
from workbench.graph.scopes import modules


def workload(model: Any, name: str, inputs: Inputs) -> Workload:
    """Return a Workload of an ExportedProgram, or of a module that is exported for it; its weights are the parameters."""
    torch = needed("torch", "torch", "a PyTorch model")
    converting, kind = Converting(), kind_of(model)
    if kind == "script":
        raise LoadError(
            "TVM with Relax reads torch.export, not TorchScript; give the model itself with example inputs, wb.load(model, inputs=[...])"
        )
    with converting:
        if kind == "module":
            model = torch.export.export(evaluating(model), examples(inputs, "module"))
        model = model.run_decompositions()
        module, origins = _converted(model, converting)
    module, params = relax.frontend.detach_params(origins.named(module))
    made = load(module, params, name)
    assert made is not None, "it is an IRModule"
    made.notes += converting.warnings
    return made


def _converted(program: Any, converting: Converting) -> tuple[Any, Origins]:
    from tvm.relax.frontend.torch.exported_program_translator import ExportedProgramImporter

    importer, origins = ExportedProgramImporter(), Origins()
    called = [node for node in program.graph.nodes if node.op == "call_function"]
    refuse(
        ((node.target.__name__, "/".join(_path(node))) for node in called), importer.convert_map, "PyTorch operators"
    )
    importer.env = _Values(importer, origins, converting)
    module = importer.from_exported_program(
        program,
        keep_params_as_input=True,
        unwrap_unit_return_tuple=True,
        no_bind_return_tuple=False,
        custom_convert_map=None,
    )
    return module, origins


class _Values(dict):  # type: ignore[type-arg]
    """The values that TVM's importer made of each node; reports each to `origins`."""

    def __init__(self, importer: Any, origins: Origins, converting: Converting) -> None:
        super().__init__()
        self.importer, self.origins, self.converting = importer, origins, converting

    def __setitem__(self, node: Any, value: Any) -> None:
        super().__setitem__(node, value)
        if node.op == "call_function":
            # the last converted node; a failure comes after it
            self.converting.now(f"what follows {node.target.__name__}", "/".join(_path(node)))
            self.origins.came(value, dotted(_path(node)), self.importer.block_builder)


def _path(node: Any) -> list[str]:
    """Return the modules that a node of torch.export's graph is in, and its own name."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    return [*(modules(stack[-1][0]) if stack else ()), node.name]
