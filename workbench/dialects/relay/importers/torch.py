"""PyTorch to Relay: TorchScript, by TVM's converters."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tvm
from tvm import relay
from tvm.relay.frontend import pytorch
from tvm.relay.prelude import Prelude

from workbench.dialects.base import Workload
from workbench.dialects.importers.converting import (
    Converting,
    Inputs,
    drawn_once,
    needed,
    refuse,
    shapes,
    wrong_outputs,
)
from workbench.dialects.importers.torch_model import evaluating, examples, kind_of
from workbench.dialects.relay.frontend import load
from workbench.errors import LoadError

_WITHOUT_CONVERTER = (
    *("prim::Constant", "prim::GetAttr", "prim::ListConstruct", "prim::ListUnpack", "prim::TupleConstruct"),
    *("prim::TupleUnpack", "prim::RaiseException", "prim::If", "prim::Loop"),
)
"converted without an entry in TVM's table"


def workload(model: Any, name: str, inputs: Inputs) -> Workload:
    """Return a Workload of a ScriptModule, or of a module that is traced for it; its weights are the parameters."""
    torch = needed("torch", "torch", "a PyTorch model")
    kind = kind_of(model)
    if kind == "exported":
        raise LoadError(
            "TVM with Relay reads TorchScript, not torch.export; give the model itself with example inputs, wb.load(model, inputs=[...])"
        )
    converting = Converting()
    with converting:
        if kind == "module":
            model = torch.jit.trace(evaluating(model), examples(inputs, "module"))
        table = pytorch.PyTorchOpConverter(Prelude(tvm.IRModule()), "float32").convert_map
        known = {*_WITHOUT_CONVERTER, *table, *pytorch.qnn_torch.convert_map}
        # and their in-place variants
        refuse(operators(model), known | {f"{name}_" for name in known}, "PyTorch operators")
        described = _described(model, None if kind == "module" else inputs)
        with full_paths(model):
            module, params = relay.frontend.from_pytorch(model, described, preserve_pytorch_scopes=True)
    made = load(_alone(module), params, name)
    assert made is not None, "it is an IRModule"
    # a script that was traced has the shapes of that run
    if kind != "script" or not inputs:
        values = [(value.debugName(), value.type()) for value in model.graph.outputs()]
        declared = [(each, type.sizes() if type.kind() == "TensorType" else None) for each, type in values]
        made.notes += wrong_outputs(declared, made.graph)
    made.notes += drawn_once(operators(model)) + converting.warnings
    return made


def _described(script: Any, inputs: Inputs) -> list[tuple[str, tuple[tuple[int, ...], str]]]:
    """Return name, shape and type of each input: as traced, or as given by the user."""
    torch = needed("torch", "torch", "a PyTorch model")
    taken = list(script.graph.inputs())[1:]
    # TorchScript numbers the values of a variable, `x.1`
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
    """Return the module without the importer's library of lists and tensor arrays, if `main` uses none of it."""
    uses: list[Any] = []
    relay.analysis.post_order_visit(
        module["main"],
        lambda e: uses.append(e) if isinstance(e, (relay.GlobalVar, relay.Match, tvm.ir.GlobalVar)) else None,
    )
    return module if uses else tvm.IRModule.from_expr(module["main"])


@contextmanager
def full_paths(script: Any) -> Iterator[None]:
    """Make TVM's importer name the operators of this script by the paths of the modules that call them."""
    paths: dict[str, deque[str]] = defaultdict(deque)
    for kind, path in operators(script):
        paths[kind].append(path)

    theirs = pytorch.PytorchScopePreservingNamer

    class ByModule(theirs):
        def get_node_source_name(self, node: Any) -> str:
            named = paths.get(node.kind()) if node.kind().startswith("aten::") else None
            if named:
                named.rotate(-1)  # the whole graph is visited more than once
            # a script from a file has no paths
            return (named[-1] if named else "") or super().get_node_source_name(node)

    pytorch.PytorchScopePreservingNamer = ByModule
    try:
        yield
    finally:
        pytorch.PytorchScopePreservingNamer = theirs


def operators(script: Any) -> Iterator[tuple[str, str]]:
    """Yield every operator and the path of the module that calls it, in order, branches and loops included."""
    graph = script.inlined_graph  # its nodes live as long as it does
    waiting = [graph.nodes()]
    while waiting:
        node = next(waiting[-1], None)
        if node is None:
            waiting.pop()
            continue
        yield node.kind(), path_in(node.scopeName())
        waiting.extend(block.nodes() for block in reversed(list(node.blocks())))


def path_in(scope: str) -> str:
    """Return the path of a module from either form of a scope's name that PyTorch writes.

    >>> path_in("__module.layers.0/__module.layers.0.query"), path_in("Net::/Layer::layers.0/torch.nn.Linear::query")
    ('layers.0.query', 'layers.0.query')
    """
    if "__module." in scope:
        return scope.rpartition("__module.")[2]
    return ".".join(name for part in scope.split("/") if (name := part.rpartition("::")[2]))
