"""The passes that change a program by the node ids of its graph, for both dialects.

Each checks the request on the graph, and has the dialect's `Editable` change the module. It is a TVM Pass: it runs in a Pipeline, by name or as an object, and in TVM's own Sequential.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm

from workbench.analysis import legality
from workbench.analysis.subprograms import (
    check_dtype,
    check_functions,
    check_given,
    check_pairs,
    subprogram,
)
from workbench.dialects.editable import Change, Editable
from workbench.dialects.registry import dialect_here
from workbench.errors import PipelineError


class _Edit:
    """A pass that changes a module at chosen nodes, if there are any."""

    def chosen(self) -> Sequence[int]:
        """Return the nodes; `ops` has the operators that they were when the pass was written."""
        return self.nodes  # pyright: ignore[reportAttributeAccessIssue]  each has fields of its own

    def transform_module(self, module: tvm.IRModule, _: tvm.transform.PassContext) -> tvm.IRModule:
        """Run on a module; raises IllegalEdit if the nodes cannot be changed so."""
        if not self.chosen():
            return module
        at = dialect_here().editable(module)
        legality.check_names(at.graph, self.chosen(), getattr(self, "ops", ()), type(self).__name__)
        return self.edited(at)

    def edited(self, at: Editable) -> tvm.IRModule:
        """Return the changed module."""
        raise NotImplementedError


@dataclass(frozen=True)
class _OfOperators(_Edit):
    """An edit of chosen operators."""

    nodes: Sequence[int] = ()
    "the operators by their node ids in the module's graph"
    ops: Sequence[str] = ()
    "the operators at these ids, in the same order, checked first; empty to trust the ids"


@tvm.transform.module_pass(opt_level=0, name="CutFusion")
@dataclass(frozen=True)
class CutFusion(_Edit):
    """Keep the two ends of chosen edges in different kernels: FuseOps does not fuse across them.

    In Relay each edge gets an `annotation.stop_fusion`, which FuseOps removes; for a pass before FuseOps it is an operator, so a
    rewrite pattern no longer matches across the edge. In Relax a value that leaves its dataflow block is never fused into its
    users, so the edge's source is made an output of its block; this separates all of its uses.
    """

    edges: Sequence[Sequence[int]] = ()
    "(source, target) or (source, target, argument position) by the node ids of the module's graph"
    ops: Sequence[str] = ()
    "the operators at both ends of each edge, one after the other, checked first; empty to trust the ids"

    def chosen(self) -> Sequence[int]:
        return [node for edge in self.edges for node in tuple(edge)[:2]]

    def edited(self, at: Editable) -> tvm.IRModule:
        return at.cut(legality.cut(at.graph, [tuple(edge) for edge in self.edges]))


@tvm.transform.module_pass(opt_level=0, name="ForceFusion")
@dataclass(frozen=True)
class ForceFusion(_OfOperators):
    """Make chosen operators one kernel: they go into a Primitive function, which FuseOps leaves as it is.

    The region must be convex, give one tensor, and hold one complicated operator (a reduction, a convolution, ...) at most. Tuples
    and scalar constants between the chosen operators are included. In Relax run it after AnnotateTIROpPattern: before, no operator
    has a pattern.
    """

    def edited(self, at: Editable) -> tvm.IRModule:
        return at.outlined(legality.kernel(at.graph, self.nodes), "fused_by_hand", "Primitive", True)


@tvm.transform.module_pass(opt_level=0, name="OutlineRegion")
@dataclass(frozen=True)
class OutlineRegion(_Edit):
    """Put chosen operators into a function: a composite of that name, or with `compiler` a region for that code generator.

    A composite is the same as one of MergeComposite or FuseOpsByPattern. A region for a compiler is a global function with the
    attributes that PartitionGraph or MergeCompositeFunctions sets. A region with several results returns a tuple. Relay's own code
    generators do not accept composites; DefuseOps inlines them again.
    """

    nodes: Sequence[int] = ()
    "the operators by their node ids in the module's graph"
    name: str = "region"
    "the composite's name, or the global function's"
    compiler: str | None = None
    "the code generator that is to compile it (`relay.ext.<compiler>`, `relax.ext.<compiler>`)"
    ops: Sequence[str] = ()
    "the operators at these ids, in the same order, checked first; empty to trust the ids"

    def edited(self, at: Editable) -> tvm.IRModule:
        region = legality.region(at.graph, self.nodes)
        if not self.compiler:
            return at.outlined(region, self.name, "Composite", self.name)
        if self.name in {str(variable.name_hint) for variable in at.module.get_global_vars()}:
            raise PipelineError(f"the module has a function @{self.name} already; give the region another name")
        return at.outlined(region, self.name, "Compiler", self.compiler)


@tvm.transform.module_pass(opt_level=0, name="ExtractRegion")
@dataclass(frozen=True)
class ExtractRegion(_OfOperators):
    """Keep only chosen operators: `main` computes them from their inputs, and the rest of the module is left out.

    Constants that are tensors become parameters, because a kernel takes them as arguments too. A region with several results
    returns a tuple. Relax's kernels stay in the module.
    """

    def edited(self, at: Editable) -> tvm.IRModule:
        return at.extracted(legality.region(at.graph, self.nodes))


@tvm.transform.module_pass(opt_level=0, name="KeepOperators")
@dataclass(frozen=True)
class KeepOperators(_OfOperators):
    """Keep only chosen operators of `main`. The values that they read of others become inputs of the same types.

    The outputs are the values that no chosen operator reads. Inputs and constants stay as they are.
    """

    def edited(self, at: Editable) -> tvm.IRModule:
        return at.kept(subprogram(at.graph, self.nodes))


@tvm.transform.module_pass(opt_level=0, name="ReplaceValues")
@dataclass(frozen=True)
class ReplaceValues(_Edit):
    """Read another value of the same type in the place of a value: an operator's input in the place of its result."""

    pairs: Sequence[Sequence[int]] = ()
    "(node, an earlier node of the same type) by the node ids of the module's graph"
    ops: Sequence[str] = ()
    "the operators at both nodes of each pair, one after the other, checked first; empty to trust the ids"

    def chosen(self) -> Sequence[int]:
        return [node for pair in self.pairs for node in pair]

    def edited(self, at: Editable) -> tvm.IRModule:
        check_pairs(at.graph, self.pairs)
        return at.replaced(self.pairs)


@tvm.transform.module_pass(opt_level=0, name="InlineFunctions")
@dataclass(frozen=True)
class InlineFunctions:
    """Put the body of each called function in the place of the call, in `main`.

    A function that calls itself, and one for another compiler, stays. TVM's own Inline fails in Relay on a call whose argument is
    a call of the same function.
    """

    functions: Sequence[str] = ()
    "names of functions of the module; empty for all, in Relay also those that are written where they are called"

    def transform_module(self, module: tvm.IRModule, _: tvm.transform.PassContext) -> tvm.IRModule:
        """Run on a module; raises IllegalEdit if it does not have a function of a name."""
        check_functions(self.functions, [str(each.name_hint) for each in module.get_global_vars()])
        return dialect_here().editable(module).inlined(self.functions)


@tvm.transform.module_pass(opt_level=0, name="FillConstants")
@dataclass(frozen=True)
class FillConstants(_Edit, Change):
    """Set all elements of the chosen constants to one value; a scalar stays as it is."""

    nodes: Sequence[int] = ()
    "the constants by their node ids in the module's graph"
    value: int = 1

    def edited(self, at: Editable) -> tvm.IRModule:
        return at.changed(self, self.nodes)

    def constant(self, shape: Sequence[int], dtype: str, values: Callable[[], np.ndarray]) -> np.ndarray | None:  # noqa: ARG002
        return np.full_like(values(), self.value) if len(shape) else None


@tvm.transform.module_pass(opt_level=0, name="ResizeDimensions")
@dataclass(frozen=True)
class ResizeDimensions(Change):
    """Change every dimension of one size in `main`: of its inputs and constants, and in attributes or shapes that operators take.

    A constant keeps its first elements. The pass raises if the types no longer fit.
    """

    size: int
    to: int
    "the new size, which is smaller"
    attributes: bool = True
    "whether attributes that are this number, such as `units`, and shapes that operators take change too"

    def __post_init__(self) -> None:
        """Refuse sizes that no tensor can have. Raises PipelineError: the new size is not from 1 to the old one."""
        if not 0 < self.to <= self.size:
            raise PipelineError(f"the new size is {self.to!r}; give a whole number from 1 to {self.size}")

    def transform_module(self, module: tvm.IRModule, _: tvm.transform.PassContext) -> tvm.IRModule:
        """Run on a module."""
        if self.to == self.size:
            return module
        return dialect_here().editable(module).changed(self, attributes=self.attributes)

    def attribute(self, value: Any) -> Any:
        return self.to if isinstance(value, int) and value == self.size else value

    def tensor(self, shape: Sequence[Any], dtype: str) -> tuple[Sequence[Any], str]:
        return [self.attribute(each) for each in shape], dtype

    def constant(self, shape: Sequence[int], dtype: str, values: Callable[[], np.ndarray]) -> np.ndarray | None:
        first = tuple(slice(size) for size in self.tensor(shape, dtype)[0])
        return np.ascontiguousarray(values()[first]) if self.size in shape else None


@tvm.transform.module_pass(opt_level=0, name="ChangeDtype")
@dataclass(frozen=True)
class ChangeDtype(Change):
    """Change one data type to another in `main`: of its inputs and constants, and in attributes such as that of a cast.

    The values of constants are converted. The pass raises if the types no longer fit.
    """

    dtype: str
    to: str
    nodes: Sequence[int] = ()
    "inputs and constants by their node ids in the module's graph, which alone change; empty for all, and the attributes"

    def __post_init__(self) -> None:
        """Refuse data types that numpy cannot convert. Raises PipelineError: one is not a type of numbers."""
        check_dtype(self.dtype)
        check_dtype(self.to)

    def transform_module(self, module: tvm.IRModule, _: tvm.transform.PassContext) -> tvm.IRModule:
        """Run on a module; raises IllegalEdit if a node is not an input or a constant."""
        at = dialect_here().editable(module)
        if self.nodes:
            check_given(at.graph, self.nodes)
        return at.changed(self, self.nodes, attributes=not self.nodes)

    def attribute(self, value: Any) -> Any:
        return self.to if isinstance(value, str) and value == self.dtype else value

    def tensor(self, shape: Sequence[Any], dtype: str) -> tuple[Sequence[Any], str]:
        return shape, self.attribute(dtype)

    def constant(self, shape: Sequence[int], dtype: str, values: Callable[[], np.ndarray]) -> np.ndarray | None:  # noqa: ARG002
        return values().astype(self.to) if dtype == self.dtype else None
