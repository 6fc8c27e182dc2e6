"""PyTorch to Relay: TorchScript, by TVM's converters."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relay
from tvm.relay.frontend import pytorch
from tvm.relay.prelude import Prelude

from workbench.dialects.base import Workload
from workbench.dialects.importers.extras import needed
from workbench.dialects.importers.quiet import Converting
from workbench.dialects.importers.shapes import Inputs, shapes
from workbench.dialects.importers.torch_model import evaluating, examples, kind_of
from workbench.dialects.importers.unsupported import refuse
from workbench.dialects.parts import dialect
from workbench.dialects.relay.importers.scopes import full_paths, operators
from workbench.errors import LoadError

_WITHOUT_CONVERTER = (
    *("prim::Constant", "prim::GetAttr", "prim::ListConstruct", "prim::ListUnpack", "prim::TupleConstruct"),
    *("prim::TupleUnpack", "prim::RaiseException", "prim::If", "prim::Loop"),
)
"converted where they stand"


def workload(source: Any, name: str, inputs: Inputs) -> Workload:
    """A Workload of a ScriptModule, or of a module that is traced for it; its weights are the parameters."""
    torch = needed("torch", "torch", "a PyTorch model")
    kind = kind_of(source)
    if kind == "exported":
        raise LoadError(
            "TVM with Relay reads TorchScript, not torch.export; give the model itself with example inputs, wb.load(model, inputs=[...])"
        )
    converting = Converting()
    with converting:
        if kind == "module":
            source = torch.jit.trace(evaluating(source), examples(inputs, "module"))
        refuse(operators(source), _supported(), "PyTorch operators")
        described = _described(source, None if kind == "module" else inputs)
        with full_paths(source):
            module, params = relay.frontend.from_pytorch(source, described, preserve_pytorch_scopes=True)
    made = dialect("relay").load(_alone(module), params, name)
    assert made is not None, "it is an IRModule"
    made.notes += converting.warnings
    return made


def _supported() -> set[str]:
    table = pytorch.PyTorchOpConverter(Prelude(tvm.IRModule()), "float32").convert_map
    known = {*_WITHOUT_CONVERTER, *table, *pytorch.qnn_torch.convert_map}
    return known | {f"{name}_" for name in known}  # those that write where they read


def _described(script: Any, inputs: Inputs) -> list[tuple[str, tuple[tuple[int, ...], str]]]:
    """Name, shape and type of each input: as traced, or as the person says."""
    torch = needed("torch", "torch", "a PyTorch model")
    taken = list(script.graph.inputs())[1:]
    # TorchScript numbers what a variable holds, `x.1`
    names = [value.debugName().partition(".")[0] for value in taken]
    given = shapes(inputs, names)
    described = []
    for name, value in zip(names, taken, strict=True):
        tensor = value.type().kind() == "TensorType"
        shape = given.get(name) or (value.type().sizes() if tensor else None)
        if shape is None:
            raise LoadError(
                f"the shape of the input {name} is not in the script, which was not traced; give shapes, wb.load(model, inputs={{{name!r}: (1, ...)}})"
            )
        dtype = value.type().dtype() if tensor else None
        described.append((name, (tuple(shape), str(dtype or torch.float32).removeprefix("torch."))))
    return described


def _alone(module: tvm.IRModule) -> tvm.IRModule:
    """Without the library of lists and tensor arrays that the importer adds, where `main` uses none of it."""
    uses: list[Any] = []
    relay.analysis.post_order_visit(
        module["main"],
        lambda e: uses.append(e) if isinstance(e, (relay.GlobalVar, relay.Match, tvm.ir.GlobalVar)) else None,
    )
    return module if uses else tvm.IRModule.from_expr(module["main"])
