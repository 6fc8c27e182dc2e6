"""Relax pipelines worth starting from.

The first is the order in which relax.get_default_pipeline runs its graph passes, for a CPU, without those that lower calls
to allocations and packed calls. The compiler's own pipeline merges, removes and folds little; the passes that do are there
for the asking, and the others ask.
"""

from __future__ import annotations

from workbench.dialects.base import Preset

_KERNELS = "LegalizeOps,AnnotateTIROpPattern,FoldConstant"
_TIDY = "CanonicalizeBindings,EliminateCommonSubexpr,DeadCodeElimination"

PRESETS = (
    Preset(
        "build", f"{_KERNELS},FuseOps{{fuse_opt_level=2}},FuseTIR", "what tvm.compile does to the graph, with fusion"
    ),
    Preset("no fusion", _KERNELS, "every operator is a kernel of its own, as the CPU's default pipeline leaves it"),
    Preset(
        "kernels as boxes",
        f"{_KERNELS},FuseOps{{fuse_opt_level=2}}",
        "fused, before FuseTIR makes one PrimFunc of each group",
    ),
    Preset(
        "inference",
        f"FoldBatchnormToConv2D,DecomposeOpsForInference,{_TIDY},{_KERNELS},FuseOps{{fuse_opt_level=2}},FuseTIR",
        "batch_norm into its conv2d where it can go, the rest to primitive operators; equal values once",
    ),
    Preset(
        "combine branches",
        f"CombineParallelMatmul,{_TIDY},{_KERNELS},FuseOps{{fuse_opt_level=2}},FuseTIR",
        "sibling matmuls of one input become one",
    ),
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
