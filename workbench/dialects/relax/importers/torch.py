"""PyTorch to Relax: a program of torch.export, by TVM's converters."""

from __future__ import annotations

from typing import Any

from tvm import relax

from workbench.dialects.base import Workload
from workbench.dialects.importers.converting import Converting, Inputs, drawn_once, needed, refuse, wrong_shapes
from workbench.dialects.importers.names import dotted
from workbench.dialects.importers.torch_model import evaluating, examples, kind_of
from workbench.dialects.relax import compat
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
        module, values = _converted(model, converting)
    module, params = relax.frontend.detach_params(values.origins.named(module))
    made = load(module, params, name)
    assert made is not None, "it is an IRModule"
    made.notes += wrong_shapes(values.shapes) + drawn_once(map(_operator, _called(model))) + converting.warnings
    return made


def _called(program: Any) -> list[Any]:
    return [node for node in program.graph.nodes if node.op == "call_function"]


def _operator(node: Any) -> tuple[str, str]:
    return node.target.__name__, "/".join(_path(node))


def _converted(program: Any, converting: Converting) -> tuple[Any, _Values]:
    from tvm.relax.frontend.torch.exported_program_translator import ExportedProgramImporter

    importer = ExportedProgramImporter()
    refuse(map(_operator, _called(program)), importer.convert_map, "PyTorch operators")
    importer.env = values = _Values(importer, converting)
    module = importer.from_exported_program(
        program,
        keep_params_as_input=True,
        unwrap_unit_return_tuple=True,
        no_bind_return_tuple=False,
        custom_convert_map=None,
    )
    return module, values


class _Values(dict):  # type: ignore[type-arg]
    """The values that TVM's importer made of each node; reports each to `origins`."""

    def __init__(self, importer: Any, converting: Converting) -> None:
        super().__init__()
        self.importer, self.origins, self.converting = importer, Origins(), converting
        self.shapes: list[tuple[str, list[int], list[int | None]]] = []
        "of the nodes whose shape is known: the name, the shape as imported, and the one that PyTorch recorded"

    def __setitem__(self, node: Any, value: Any) -> None:
        super().__setitem__(node, value)
        if node.op == "call_function":
            # the last converted node; a failure comes after it
            self.converting.now(f"what follows {node.target.__name__}", "/".join(_path(node)))
            self.origins.came(value, dotted(_path(node)), self.importer.block_builder)
            ours = compat.fixed_shape(compat.type_of(value)) if isinstance(value, relax.Expr) else None
            theirs = getattr(node.meta.get("val"), "shape", None)
            if ours is not None and theirs is not None:
                # an open dimension of torch.export is a SymInt
                sizes = [size if isinstance(size, int) else None for size in theirs]
                self.shapes.append((f"the node {'/'.join(_path(node))}", ours, sizes))


def _path(node: Any) -> list[str]:
    """Return the modules that a node of torch.export's graph is in, and its own name."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    return [*(modules(stack[-1][0]) if stack else ()), node.name]
