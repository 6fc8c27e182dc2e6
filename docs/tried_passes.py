"""Pages of TVM's own passes, tried: `python docs/tried_passes.py` in the environment of each dialect writes its page.

The seeds are fixed, and a budget of seconds bounds each pass, so a slower machine tries fewer programs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import tvm

import workbench as wb
from workbench.dialects.registry import installed
from workbench.testing.result import Tried

FOLDER = Path(__file__).parent / "explanation"
BUDGET = 15.0
PASSES = {
    "relax": """
        AnnotateTIROpPattern CanonicalizeBindings CombineParallelMatmul ComputePrimValue
        ConvertToDataflow DataflowUseInplaceCalls DeadCodeElimination DecomposeOpsForInference DecomposeOpsForTraining
        EliminateCommonSubexpr ExpandMatmulOfSum ExpandTupleArguments FoldBatchnormToConv2D FoldConstant FuseOps FuseTIR
        InlinePrivateFunctions KillAfterLastUse LambdaLift LegalizeOps LiftTransformParams MergeCompositeFunctions
        Normalize RemovePurityChecking RemoveUnusedOutputs RemoveUnusedParameters ReorderPermuteDimsAfterConcat
        ReorderTakeAfterMatmul RewriteDataflowReshape StaticPlanBlockMemory ToNonDataflow TopologicalSort

    """,
    "relay": """
        AlterOpLayout BackwardFoldScaleAxis CanonicalizeCast CanonicalizeOps CombineParallelConv2D CombineParallelDense
        CombineParallelBatchMatmul DeadCodeElimination DefuseOps DynamicToStatic EliminateCommonSubexpr EtaExpand FastMath
        FoldConstant FoldExplicitPadding FoldScaleAxis ForwardFoldScaleAxis FuseOps InferType Legalize LambdaLift
        PartialEvaluate RemoveUnusedFunctions SimplifyExpr SimplifyInference ToANormalForm ToBasicBlockNormalForm
        ToGraphNormalForm ToMixedPrecision
    """,
}
"names that a dialect of this TVM lacks, or that need options, are left out"
AROUND = {
    "CombineParallelMatmul": 'is_op("relax.add")(is_op("relax.matmul")(wildcard(), wildcard()), is_op("relax.matmul")(wildcard(), wildcard()))',
    "ExpandMatmulOfSum": 'is_op("relax.matmul")(wildcard(), is_op("relax.add")(wildcard(), wildcard()))',
    "FoldBatchnormToConv2D": 'is_tuple_get_item(is_op("relax.nn.batch_norm")(is_op("relax.nn.conv2d")(wildcard(), wildcard()), wildcard(), wildcard(), wildcard(), wildcard()), 0)',
    "ReorderPermuteDimsAfterConcat": 'is_op("relax.concat")(is_tuple([is_op("relax.permute_dims")(wildcard()), is_op("relax.permute_dims")(wildcard())]))',
    "ReorderTakeAfterMatmul": 'is_op("relax.matmul")(wildcard(), is_op("relax.take")(wildcard(), wildcard()))',
    "CombineParallelDense": 'is_op("add")(is_op("nn.dense")(wildcard(), wildcard()), is_op("nn.dense")(wildcard(), wildcard()))',
    "CombineParallelConv2D": 'is_op("add")(is_op("nn.conv2d")(wildcard(), wildcard()), is_op("nn.conv2d")(wildcard(), wildcard()))',
    "CombineParallelBatchMatmul": 'is_op("add")(is_op("nn.batch_matmul")(wildcard(), wildcard()), is_op("nn.batch_matmul")(wildcard(), wildcard()))',
    "FoldScaleAxis": 'is_op("multiply")(is_op("nn.conv2d")(wildcard(), wildcard()), wildcard())',
    "SimplifyInference": 'is_tuple_get_item(is_op("nn.batch_norm")(wildcard(), wildcard(), wildcard(), wildcard(), wildcard()), 0)',
}
"a pattern of what the pass looks for, so that programs with it are generated"


def tried(name: str) -> Tried | None:
    """Try a pass; None where it is not one that a pipeline can name without options."""
    infos = {info.name: info for info in wb.passes()}
    info = infos.get(name)
    if info is None or info.reason or any(option.required for option in info.options):
        return None
    return wb.try_pass(name, budget=BUDGET, pattern=AROUND.get(name))


def row(found: Tried) -> str:
    """Return the row of a pass."""
    compared = sum(each.compared in ("equal", "different") for each in found.attempts)
    broken = "; ".join(f"{each.law} on {each.programs}" for each in found.failures) or "none seen"
    growth = "" if found.growth is None or found.growth.exponent is None else f"n^{found.growth.exponent:.1f}"
    return f"| `{found.name}` | {len(found.fired)} of {len(found.attempts)} | {compared} | {growth} | {broken} |"


def details(found: Tried) -> str:
    """Return the failures of a pass, each with its smallest program."""
    parts = [f"### {found.name}"]
    for each in found.failures:
        parts += [
            f"**{each.law}**, on {each.programs} of {len(found.attempts)} programs:",
            "",
            f"```text\n{each.said}\n```",
        ]
        if each.text:
            parts += ["", f"```text\n{each.text.strip()}\n```"]
        parts.append("")
    return "\n".join(parts)


def main() -> None:
    """Write the page of the dialect that is installed."""
    dialect = installed()
    assert dialect is not None
    names = sys.argv[1:] or PASSES[dialect].split()
    results = []
    for name in names:
        found = tried(name)
        print(name, "left out" if found is None else row(found), flush=True)
        if found is not None:
            results.append(found)
    head = f"""# TVM's own {dialect.capitalize()} passes, tried

`python docs/tried_passes.py` wrote this page with TVM {tvm.__version__}: each pass ran on generated programs, and on the samples with what
the default pipeline makes of them, for {BUDGET:g} seconds. A row counts only these programs. A pass that breaks a law is
not always wrong: a pass that lowers a program may change its types, and a pass that needs another one before it may raise. What was
found to be a fault of TVM is in [Limits and hazards](hazards.md).

| pass | fired on | outputs compared | time | broken laws |
|---|---|---|---|---|
"""
    broken = [details(each) for each in results if each.failures]
    body = "\n".join(map(row, results))
    page = FOLDER / f"tried-{dialect}-passes.md"
    page.write_text(f"{head}{body}\n\n## The smallest programs\n\n" + "\n".join(broken))


if __name__ == "__main__":
    main()
