"""Where the dialects differ for a contract test: one object for each, each difference with its reason.

A test's body names no dialect (tests/static/test_contract.py holds that). What a difference below does not cover, a test asks
of the dialect itself: `registry.dialect(name).fusing()`, `.presets()`, `wb.passes(name)`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Facts:
    """What is one way in one dialect, and another way in the other."""

    deep_constants: bool
    "whether a constant of a very deep module goes as raw numbers: TVM rewrites Relay by recursion, Relax is a list of bindings"
    suffix: str
    "of a file of the dialect's text: Relay's is a language of its own, Relax's is Python (TVMScript)"
    batch_norm_apart: str
    "the pass that writes batch_norm as primitive operators"
    folded: str
    "batch_norm into its conv2d: FoldScaleAxis moves the factors once they are operators, FoldBatchnormToConv2D the operator"
    mixed: str
    "a cast to float16 in which each layer can still be told: Relax's leaves 5 of resnet18's 8 blocks, seen without the step before"
    after_fusion: str
    "what makes one function of each kernel: Relay's FuseOps does, Relax's only groups the calls of PrimFuncs"
    kernels_of_merged_casts: int
    """of the sample parallel_cast after EliminateCommonSubexpr, which leaves aliases (`lv3 = lv1`) in Relax; FuseOps takes each
    for an opaque reader, so that relu stays alone, until CanonicalizeBindings removes them"""
    bad_triple: str
    "what a build for a target triple that LLVM does not know is: LLVM 10 under Relay ends the process, today's says what is wrong"


FACTS = {
    "relay": Facts(
        suffix=".relay",
        deep_constants=False,
        batch_norm_apart="SimplifyInference",
        folded="SimplifyInference,FoldScaleAxis",
        mixed=",ToMixedPrecision",
        after_fusion="",
        kernels_of_merged_casts=3,
        bad_triple="crashed",
    ),
    "relax": Facts(
        deep_constants=True,
        suffix=".py",
        batch_norm_apart="DecomposeOpsForInference",
        folded="FoldBatchnormToConv2D,DecomposeOpsForInference",
        mixed="",
        after_fusion=",FuseTIR",
        kernels_of_merged_casts=4,
        bad_triple="failed",
    ),
}
