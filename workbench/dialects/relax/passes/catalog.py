"""Relax's passes with their options, found by inspecting the running TVM."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import tvm
from tvm import relax

from workbench.dialects.base import PassInfo, Preset
from workbench.dialects.catalog import Catalog
from workbench.dialects.catalog import is_pass as is_pass
from workbench.dialects.catalog import opt_level_of as opt_level_of
from workbench.dialects.relax import passes
from workbench.errors import PipelineError, reason_of

LOCKED = {
    "LegalizeOps": "an operator without a PrimFunc has no code generator",
    "FuseTIR": "what FuseOps grouped would be called operator by operator; to fuse nothing, switch FuseOps off",
    "CallTIRRewrite": "the virtual machine calls a PrimFunc with its output already allocated",
    "LowerAllocTensor": "the virtual machine allocates storage, not tensors",
    "LowerRuntimeBuiltin": "the virtual machine knows memory and shapes by their runtime functions only",
    "VMShapeLower": "the virtual machine computes symbolic shapes in a heap of its own",
    "AttachGlobalSymbol": "a PrimFunc without a symbol is not compiled",
}
_OBJECTS = "it takes {}, which only Python can give; use the Pass object in the pipeline"
# Reasons why a pass cannot be made from its name and literals.
REASONS = {
    "AlterOpImpl": _OBJECTS.format("PrimFuncs and functions"),
    "AttachExternModules": _OBJECTS.format("external modules"),
    "BindSymbolicVars": "it takes the symbolic variables of one module and their values",
    "FuseOpsByPattern": _OBJECTS.format("patterns"),
    "MetaScheduleApplyDatabase": "it takes a tuning database, and can be made only where a target is current",
    "MetaScheduleTuneIRMod": "it tunes, which takes hours, and writes a database into a folder",
    "MetaScheduleTuneTIR": "it tunes, which takes hours, and writes a database into a folder",
    "SplitCallTIRByPattern": _OBJECTS.format("PrimFuncs and a code generator"),
    "UpdateParamType": _OBJECTS.format("a function of a parameter"),
    "UpdateVDevice": _OBJECTS.format("a VDevice"),
}
CAUTIONS = {
    "FoldConstant": "It compiles a kernel with LLVM for each constant expression: seconds for a model with many weights to fold.",
    "FuseOps": "It reads the context's opt_level too: at 0 it fuses nothing, required or not, unless fuse_opt_level is given.",
    "DecomposeOpsForInference": "It takes batch_norm's moving statistics, also where training=True, TVM's default, used the batch's.",
}
# Options that work on any module, for passes that have no default.
EXAMPLES = {
    "ChangeDtype": {"dtype": "float64", "to": "float32"},
    "ConvertLayout": {"desired_layouts": {"relax.nn.conv2d": ["NHWC", "OHWI"]}},
    "Gradient": {"func_name": "main"},
    "IPCAllReduceRewrite": {"allreduce_strategy": 0},
    "ResizeDimensions": {"size": 1, "to": 1},
}
# Base classes of passes, not passes.
_BASES = (relax.transform.FunctionPass, relax.transform.DataflowBlockPass)


@lru_cache
def catalog() -> tuple[PassInfo, ...]:
    """Return every public pass constructor of relax.transform, and ours, in alphabetical order."""
    return tuple(sorted(_catalog().infos(), key=lambda info: info.name.lower()))


def make(name: str, options: Mapping[str, Any]) -> tvm.transform.Pass:
    """Return the pass of a name with these options."""
    return _catalog().make(name, options)


@lru_cache
def _catalog() -> Catalog:
    theirs = {
        name: thing for name, thing in inspect.getmembers(relax.transform) if name[0].isupper() and _makes_a_pass(thing)
    }
    ours = {name: getattr(passes, name) for name in passes.OURS}
    return Catalog("relax", {**theirs, **ours}, passes.OURS, reason_of, LOCKED, REASONS, EXAMPLES, CAUTIONS)


def _makes_a_pass(thing: Any) -> bool:
    if inspect.isclass(thing):
        return issubclass(thing, tvm.transform.Pass) and thing not in _BASES
    return inspect.isfunction(thing)


_LEGAL = "LegalizeOps,AnnotateTIROpPattern,FoldConstant"
_FUSED = f"{_LEGAL},FuseOps{{fuse_opt_level=2}}"
_TIDY = "CanonicalizeBindings,EliminateCommonSubexpr,DeadCodeElimination"

PRESETS = (
    Preset(
        "build",
        _FUSED,
        "what tvm.compile does to the graph, with fusion; FuseTIR then makes one function of each kernel",
    ),
    Preset("no fusion", _LEGAL, "every operator is a kernel of its own, as the CPU's default pipeline leaves it"),
    Preset("one function a kernel", f"{_FUSED},FuseTIR", "fused, each kernel one PrimFunc"),
    Preset(
        "inference",
        f"FoldBatchnormToConv2D,DecomposeOpsForInference,{_TIDY},{_FUSED}",
        "batch_norm into its conv2d where it can go, the rest to primitive operators; equal values once",
    ),
    Preset("combine branches", f"CombineParallelMatmul,{_TIDY},{_FUSED}", "sibling matmuls of one input become one"),
)

TOGGLES = (
    "LegalizeOps",
    "AnnotateTIROpPattern",
    "FoldConstant",
    "FuseOps",
    "FuseTIR",
    "RewriteDataflowReshape",
    "StaticPlanBlockMemory",
    "KillAfterLastUse",
    "ComputePrimValue",
)


def fusing() -> str:
    """Return the pipeline that makes kernels of any module."""
    return "DecomposeOpsForInference,LegalizeOps,AnnotateTIROpPattern,FuseOps{fuse_opt_level=2}"


def presets() -> tuple[Preset, ...]:
    """Return pipelines to start from, the best first."""
    return PRESETS


def toggles() -> tuple[str, ...]:
    """Return the passes of the compiler's pipeline that a PassContext switches."""
    return TOGGLES


def apply(compiled: tvm.transform.Pass, module: tvm.IRModule, opt_level: int) -> tvm.IRModule:
    """Run one pass as a Sequential does at this opt_level."""
    # a pass that is called directly ignores opt_level; only a Sequential checks it
    with tvm.transform.PassContext(opt_level=opt_level):
        return tvm.transform.Sequential([compiled])(module)


def rewrite(callback: Any, module: tvm.IRModule) -> tvm.IRModule:  # noqa: ARG001
    """Refuse a DFPatternCallback: Relax rewrites with other objects."""
    raise PipelineError(
        f"{type(callback).__name__} is Relay's way to rewrite; give a relax.dpl.PatternMatchingRewriter"
    )
