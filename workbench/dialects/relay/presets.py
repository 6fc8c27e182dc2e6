"""Relay pipelines worth starting from.

The first is the order in which relay.build runs its graph passes (GetPassPrefix in src/relay/backend/utils.cc of TVM
0.17), without those that need a target.
"""

from __future__ import annotations

from workbench.dialects.base import Preset

_BUILD = (
    "RemoveUnusedFunctions,ToBasicBlockNormalForm,SimplifyInference,EliminateCommonSubexpr,FoldConstant,FoldScaleAxis,"
    "SimplifyExpr,CanonicalizeCast,CanonicalizeOps,FlattenAtrousConv,FoldConstant,FuseOps"
)

PRESETS = (
    Preset("opt 3", _BUILD, "what relay.build does to the graph at opt level 3", 3),
    Preset(
        "opt 3, weights bound",
        f"BindParams,{_BUILD}",
        "the same with the parameters as constants: FoldConstant and FoldScaleAxis fold the weights, which takes longer",
    ),
    Preset("opt 2", _BUILD, "at opt level 2: passes of level 3 are skipped", 2),
    Preset("opt 1", _BUILD, "at opt level 1: only fusion and what lowering needs", 1),
    Preset("opt 0", _BUILD, "at opt level 0: every operator is a kernel of its own", 0),
    Preset(
        "fold two adds",
        "SimplifyInference,CanonicalizeOps,FoldScaleAxis,SimplifyExpr,FoldConstant,FuseOps",
        "after FoldScaleAxis two adds with constants follow a conv2d; SimplifyExpr and FoldConstant make them one",
    ),
    Preset(
        "merge equal kernels",
        "FuseOps{fuse_opt_level=2},DefuseOps,EliminateCommonSubexpr,SimplifyExpr,FuseOps{fuse_opt_level=2}",
        "take kernels apart, merge what is equal, fuse again",
    ),
    Preset(
        "merge parallel casts",
        "SimplifyInference,EliminateCommonSubexpr,FoldConstant,FuseOps",
        "two branches that cast one value in the same way: one cast, and fused with what makes its input",
    ),
    Preset(
        "passes one by one",
        "RemoveUnusedFunctions,SimplifyInference,Inline,FoldConstant,FoldScaleAxis,CombineParallelConv2D,FuseOps",
        "what relay.build is made of, in the order in which a reader meets it (opt level 4 lets CombineParallelConv2D run)",
        4,
    ),
    Preset(
        "quantised attention",
        "SimplifyInference,EliminateCommonSubexpr,SimplifyExpr,FoldConstant,FuseOps{fuse_opt_level=2}",
        "many small operators around few large ones: how many kernels are left before a region is made one by OutlineRegion",
    ),
    Preset(
        "combine branches",
        "SimplifyInference,CombineParallelConv2D,CombineParallelDense,CombineParallelBatchMatmul,FoldConstant,FuseOps",
        "sibling operators of one input become one (these passes have opt level 4)",
        4,
    ),
)

TOGGLES = (
    "SimplifyInference",
    "EliminateCommonSubexpr",
    "CombineParallelConv2D",
    "CombineParallelDense",
    "CombineParallelBatchMatmul",
    "FoldConstant",
    "FoldScaleAxis",
    "SimplifyExpr",
    "CanonicalizeCast",
    "CanonicalizeOps",
    "FlattenAtrousConv",
    "AlterOpLayout",
    "FastMath",
    "FuseOps",
)
