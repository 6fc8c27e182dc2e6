"""Models of other frameworks as Relax, by TVM's converters, with the layer paths of their nodes in the names of variables.

Relax's importers give every binding a number for a name, and passes drop spans; variable names survive legalisation and
remain inside kernels. So a binding is named by its path, `layers.0.q.MatMul`, with dots, which printed text and
generated code write as underscores.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import tvm
from tvm import relax
from tvm.relax.frontend import detach_params

from workbench.dialects.base import Workload
from workbench.dialects.importers import tflite_model
from workbench.dialects.importers.converting import Converting, Inputs, drawn_once, needed, refuse, shapes, wrong_shapes
from workbench.dialects.importers.names import binding_names, dotted
from workbench.dialects.importers.onnx_model import (
    contradicted,
    input_names,
    newest_version,
    notes,
    one_convert_map,
    opset,
    prepared,
    visible_names,
)
from workbench.dialects.importers.torch_model import evaluating, examples, kind_of
from workbench.dialects.relax import compat
from workbench.dialects.relax.compat import identity, name_of
from workbench.dialects.relax.expressions import operands_of
from workbench.dialects.relax.frontend import load
from workbench.errors import LoadError
from workbench.graph.scopes import modules

if TYPE_CHECKING:
    from workbench.dialects.facets import Importer

_WITHOUT_CONVERTER = ("If", "Constant")
"operators of ONNX that are converted without an entry in TVM's table"


def onnx(model: Any, name: str, inputs: Inputs) -> Workload:
    """Return a Workload of a ModelProto; weights are its parameters."""
    from tvm.relax.frontend.onnx import onnx_frontend  # it needs the package onnx

    table = {op: each for op, each in onnx_frontend._get_convert_map().items() if each}  # noqa: SLF001  TVM has no public list
    model = visible_names(model)
    given = shapes(inputs, input_names(model))
    model = prepared(model, {*table, *_WITHOUT_CONVERTER}, given)
    converting, origins = Converting(), Origins()
    converting.contradicted = contradicted(model, given)
    sizes = {input: list(shape) for input, shape in given.items()}
    importer = onnx_frontend.ONNXGraphImporter(sizes, "float32", keep_params_in_input=True)
    convert = importer._convert_operator  # noqa: SLF001  the node being converted has no public name

    def recorded(op_name: str, inputs: Any, attrs: dict[str, Any], opset: int) -> Any:
        path = attrs["tvm_custom"]["name"]
        converting.now(op_name, path)
        made = convert(op_name, inputs, attrs, opset)
        if isinstance(made, relax.Expr):
            # TVM 0.26 does this next, and makes another expression, which would have no name
            made = importer.bb.normalize(made)
        origins.came(made, dotted(path.split("/")), importer.bb)
        return made

    importer._convert_operator = recorded  # noqa: SLF001
    with one_convert_map(onnx_frontend), converting:
        module = importer.from_onnx(model.graph, opset(model))
    made = _loaded(origins.named(module), name)
    newest = newest_version(method for converter in table.values() for method in dir(converter))
    made.notes += notes(model, given, newest, made.graph) + converting.warnings
    return made


def _loaded(module: tvm.IRModule, name: str, params: Mapping[str, Any] | None = None) -> Workload:
    """Return the Workload of a module; without `params` the module has them among its attributes."""
    if params is None:
        module, params = detach_params(module)
    made = load(module, params, name)
    assert made is not None, "it is an IRModule"
    return made


def tflite(model: Any, name: str, inputs: Inputs) -> Workload:
    """Return a Workload of a tflite.Model."""
    from tvm.relax.frontend.tflite import from_tflite

    # the weights are constants already; the detached arrays are copies of them that belong to no parameter
    def convert(*given: Any) -> tuple[Any, None]:
        return detach_params(from_tflite(*given))[0], None

    return tflite_model.workload(convert, load, model, name, inputs)


def torch(model: Any, name: str, inputs: Inputs) -> Workload:
    """Return a Workload of an ExportedProgram, or of a module that is exported for it; its weights are the parameters."""
    package = needed("torch", "torch", "a PyTorch model")
    converting, kind = Converting(), kind_of(model)
    if kind == "script":
        raise LoadError(
            "TVM with Relax reads torch.export, not TorchScript; give the model itself with example inputs, wb.load(model, inputs=[...])"
        )
    with converting:
        if kind == "module":
            model = package.export.export(evaluating(model), examples(inputs, "module"))
        model = model.run_decompositions()
        module, values = _converted(model, converting)
    made = _loaded(values.origins.named(module), name)
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


def nn(model: Any, name: str, inputs: Inputs) -> Workload:
    """Return a Workload of a module's `forward`; parameters that have values keep them."""
    from tvm.relax.frontend.nn import spec

    takes = [p.name for p in inspect.signature(model.forward).parameters.values() if p.default is p.empty]
    given = shapes(inputs, takes)
    lacking = [argument for argument in takes if argument not in given]
    if lacking:
        raise LoadError(
            f"the shapes of {', '.join(lacking)} are not in the module; give them, wb.load(model, inputs={{{lacking[0]!r}: (1, 128)}})"
        )
    examples = inputs if isinstance(inputs, dict) else dict(zip(takes, inputs or (), strict=False))
    described = {
        argument: spec.Tensor(given[argument], str(getattr(examples[argument], "dtype", "float32")))
        for argument in takes
    }
    converting = Converting()
    with converting:
        module, parameters = model.export_tvm(spec={"forward": described})
    values = {key: parameter.data for key, parameter in parameters if parameter.data is not None}
    made = _loaded(_entry_called_main(module), name, values)
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


class Origins:
    """The bindings that each node of the imported model became."""

    def __init__(self) -> None:
        self.paths: dict[int, str] = {}
        self.kept: list[Any] = []
        "the expressions, kept alive so that no other takes the address of one"

    def came(self, value: Any, name: str, builder: relax.BlockBuilder) -> None:
        """Record that `value`, and the bindings made since the last call, belong to the node of this dotted name."""
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
        function, nodes = module["main"], dict[int, str]()
        for block in function.body.blocks:
            for binding in block.bindings[:]:
                # an unbound result of one node is bound only by the next one
                node = self.paths.get(identity(binding.value)) or self.paths.get(identity(binding.var))
                if node:
                    nodes[identity(binding.var)] = node
        if not nodes:
            return module
        named = binding_names(nodes.values(), (name_of(param) for param in function.params))
        names = dict(zip(nodes, named, strict=True))
        module = module.clone()
        module["main"] = _Renaming(names).visit_expr(function)
        return module


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
        # without a type, TVM gives it that of its value, the same object, which is then written to another process once
        return kind(name, None) if name else var


IMPORTERS: dict[str, Importer] = {"onnx": onnx, "tflite": tflite, "torch": torch, "nn": nn}
