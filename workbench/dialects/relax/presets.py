"""Relax pipelines worth starting from.

The first is the order in which relax.get_default_pipeline runs its graph passes, for a CPU, up to the kernels: the passes
after them lower calls to allocations and packed calls. The compiler's own pipeline merges, removes and folds little; the
passes that do are there for the asking, and the others ask.
"""

from __future__ import annotations

from workbench.dialects.base import Preset

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
