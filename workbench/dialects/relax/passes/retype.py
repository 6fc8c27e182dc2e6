"""ChangeDtype: a program of another data type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax

from workbench.analysis.subprograms import check_dtype, check_given
from workbench.dialects.relax import compat
from workbench.dialects.relax.compat import identity, type_of
from workbench.dialects.relax.graph import build_graph
from workbench.dialects.relax.passes.fill import constants_of
from workbench.dialects.relax.passes.rewriting import bindings_of, rebuilt, with_main


@tvm.transform.module_pass(opt_level=0, name="ChangeDtype")
@dataclass(frozen=True)
class ChangeDtype:
    """Change one data type to another in `main`: of its inputs and constants, and in attributes such as that of `astype`.

    The values of constants are converted. The pass raises if the types no longer fit.
    """

    dtype: str
    to: str
    nodes: Sequence[int] = ()
    "inputs and constants by their node ids in the module's graph, which alone change; empty for all, and the attributes"

    def __post_init__(self) -> None:
        """Refuse data types that numpy cannot convert.

        Raises
        ------
        PipelineError
            One is not a type of numbers.
        """
        check_dtype(self.dtype)
        check_dtype(self.to)

    def transform_module(self, module: tvm.IRModule, _: tvm.transform.PassContext) -> tvm.IRModule:
        """Run on a module; raises IllegalEdit if a node is not an input or a constant."""
        main = module["main"]
        constants = {identity(each): each for each in constants_of(main)}
        params = {identity(each): each for each in main.params}
        chosen = self._chosen(module, list(params)) if self.nodes else {*constants, *params}
        instead: dict[int, relax.Expr] = {
            place: self._param(each) if place in chosen else each for place, each in params.items()
        }
        new = [instead[place] for place in params]
        instead |= {place: self._constant(each) for place, each in constants.items() if place in chosen}
        bindings = bindings_of(main) if self.nodes else map(self._binding, bindings_of(main))
        return with_main(module, rebuilt(main, new, bindings, instead, [main.body.body]))

    def _chosen(self, module: tvm.IRModule, params: list[int]) -> set[int]:
        """Return the identities of the chosen inputs and constants."""
        shown: dict[int, list[int]] = {}
        graph = build_graph(module, "main", shown=shown)
        check_given(graph, self.nodes)
        inputs = [node.id for node in graph.nodes if node.kind == "param"]
        named = {place for node, place in zip(inputs, params, strict=False) if node in self.nodes}
        return named | {place for place, nodes in shown.items() if set(nodes) & set(self.nodes)}

    def _param(self, param: relax.Var) -> relax.Var:
        type = type_of(param)
        shape = compat.dimensions_of(type)
        if shape is None or compat.dtype_of(type) != self.dtype:
            return param
        return relax.Var(compat.name_of(param), compat.tensor_type(tuple(shape), self.to))

    def _constant(self, constant: relax.Expr) -> relax.Expr:
        if compat.dtype_of(type_of(constant)) != self.dtype:
            return constant
        return relax.const(compat.value_of(constant).numpy().astype(self.to), self.to)

    def _binding(self, binding: Any) -> Any:
        """Return the binding with other attributes."""
        call = binding.value
        attrs = getattr(call, "attrs", None) if isinstance(call, relax.Call) else None
        if attrs is None or not isinstance(binding, relax.VarBinding):
            return binding
        changed = {name: tvm.DataType(self.to) for name, value in compat.data_types(attrs) if value == self.dtype}
        if not changed:
            return binding
        types = getattr(call, "sinfo_args", None) or getattr(call, "ty_args", None)
        return relax.VarBinding(
            binding.var, relax.Call(call.op, call.args, compat.replaced(attrs, changed), types, call.span)
        )
