"""The passes of Relax, and those on its PrimFuncs (`tirx.*`, `s_tir.*`), with their options, found by inspecting the running TVM."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import tvm
from tvm import relax

from workbench.dialects.catalog import Passes, Preset
from workbench.dialects.relax import passes
from workbench.errors import PipelineError

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
    "tirx.Apply": _OBJECTS.format("a function of a PrimFunc"),
    "tirx.BindTarget": _OBJECTS.format("a Target"),
    "tirx.Filter": _OBJECTS.format("a function of a PrimFunc"),
}
CAUTIONS = {
    "FoldConstant": "It compiles a kernel with LLVM for each constant expression: seconds for a model with many weights to fold.",
    "FuseOps": "It reads the context's opt_level too: at 0 it fuses nothing, required or not, unless fuse_opt_level is given.",
    "tirx.NarrowDataType": "TVM 0.27 ends the process where a PrimFunc has blocks; run s_tir.LowerOpaqueBlock first.",
    "DecomposeOpsForInference": "It takes batch_norm's moving statistics, also where training=True, TVM's default, used the batch's.",
}
# Options that work on any module, for passes that have no default.
EXAMPLES = {
    "ChangeDtype": {"dtype": "float64", "to": "float32"},
    "ConvertLayout": {"desired_layouts": {"relax.nn.conv2d": ["NHWC", "OHWI"]}},
    "Gradient": {"func_name": "main"},
    "IPCAllReduceRewrite": {"allreduce_strategy": 0},
    "ResizeDimensions": {"size": 1, "to": 1},
    "s_tir.ThreadSync": {"storage_scope": "shared"},
    "tirx.NarrowDataType": {"target_bits": 32},
}
# Base classes of passes, not passes.
_BASES = (relax.transform.FunctionPass, relax.transform.DataflowBlockPass)


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


class RelaxPasses(Passes):
    """The public pass constructors of relax.transform, tirx.transform and s_tir.transform, and ours."""

    dialect = "relax"
    ours = passes.OURS
    locked, reasons, examples, cautions = LOCKED, REASONS, EXAMPLES, CAUTIONS
    _fusing, _presets, _toggles = (
        "DecomposeOpsForInference,LegalizeOps,AnnotateTIROpPattern,FuseOps{fuse_opt_level=2}",
        PRESETS,
        TOGGLES,
    )

    def constructors(self) -> Mapping[str, Callable[..., Any]]:
        theirs = {
            name: thing
            for name, thing in inspect.getmembers(relax.transform)
            if name[0].isupper()
            and (
                issubclass(thing, tvm.transform.Pass) and thing not in _BASES
                if inspect.isclass(thing)
                else inspect.isfunction(thing)
            )
        }
        kernels = {
            f"{module.__name__.split('.')[1]}.{name}": thing
            for module in (tvm.tirx.transform, tvm.s_tir.transform)
            for name, thing in inspect.getmembers(module, inspect.isfunction)
            if name[0].isupper()
        }
        return {**theirs, **kernels, **{name: getattr(passes, name) for name in passes.OURS}}

    def apply(self, compiled: tvm.transform.Pass, module: tvm.IRModule, opt_level: int) -> tvm.IRModule:
        # a pass that is called directly ignores opt_level; only a Sequential checks it
        with tvm.transform.PassContext(opt_level=opt_level):
            return tvm.transform.Sequential([compiled])(module)

    def rewrite(self, callback: Any, module: tvm.IRModule) -> tvm.IRModule:  # noqa: ARG002
        raise PipelineError(
            f"{type(callback).__name__} is Relay's way to rewrite; give a relax.dpl.PatternMatchingRewriter"
        )

    def rewriter(self, pattern: Any, callback: Any) -> object:
        return relax.dpl.PatternMatchingRewriter.from_pattern(pattern, callback)


PASSES = RelaxPasses()
