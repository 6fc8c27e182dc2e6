"""Relay's passes with their options, found by inspecting the running TVM."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import tvm
from tvm import relay

from workbench.dialects.catalog import Passes, PassInfo, Preset
from workbench.dialects.relay import passes
from workbench.dialects.relay.diagnostics import as_error
from workbench.dialects.relay.entries import unshared
from workbench.errors import PipelineError

LOCKED = {
    "InferType": "later passes and the picture need every type",
    "FuseOps": "lowering takes kernels, and FuseOps makes them; to fuse less use relay.FuseOps.max_depth",
    "SimplifyInference": "batch_norm, dropout and the like have no code generator of their own",
    "ToBasicBlockNormalForm": "later passes rely on its scopes",
    "LowerTE": "it turns Relay kernels into TIR",
    "PlanDevices": "lowering needs a device for every value",
    "Inline": "functions marked for inlining have no code generator of their own",
}
# Reasons why a pass cannot be made from its name and literals, or fails in this TVM on every module.
_EXPRESSION = "it is a function of an expression, not a pass of a module"
REASONS = {
    "CollagePartition": "it takes a CompilationConfig and a cost estimator, objects that only Python can give",
    "Conv2dToSparse": "it takes the names and shapes that relay.analysis.sparse_conv2d found in the parameters",
    "Conv2dToSparse2": "it takes a layout, a kernel size and a block size for which the constants are sparse",
    "Defunctionalization": _EXPRESSION,
    "DenseToSparse": "it takes the names and shapes that relay.analysis.sparse_dense found in the parameters",
    "DivToMul": "in a Sequential it raises in TVM 0.17: FoldConstant, which it asks for, is made without its argument",
    "FoldConstantExpr": _EXPRESSION,
    "InferTypeLocal": _EXPRESSION,
    "InlineCompilerFunctionsBoundTo": "it takes the GlobalVars of the module, objects that only Python can give",
    "MergeComposite": "it takes patterns, objects that only Python can give; use the Pass object in the pipeline",
    "PlanDevices": (
        "it takes the CompilationConfig that relay.build makes for a target; give each operator an on_device of its own: "
        "where two read one of them, TVM 0.17 can end the process"
    ),
    "SimplifyFCTranspose": "it takes the names of the transposed weights of one module",
    "ToANormalFormExpr": _EXPRESSION,
    "ToCPS": _EXPRESSION,
}
# Options that work on any module, for passes that have no default.
EXAMPLES = {
    "AnnotateTarget": {"targets": ["default"]},
    "ChangeDtype": {"dtype": "float64", "to": "float32"},
    "CombineParallelOps": {"op": "nn.dense"},
    "ConvertLayout": {"desired_layouts": {"nn.conv2d": ["NHWC", "default"]}},
    "EtaExpand": {"expand_global_var": True},
    "ResizeDimensions": {"size": 1, "to": 1},
    "SplitArgs": {"max_function_args": 8},
}


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


class RelayPasses(Passes):
    """The public pass constructors of relay.transform and relay.qnn.transform, and ours."""

    dialect = "relay"
    ours = passes.OURS
    locked, reasons, examples = LOCKED, REASONS, EXAMPLES
    _fusing, _presets, _toggles = "SimplifyInference,FuseOps{fuse_opt_level=2}", PRESETS, TOGGLES

    def constructors(self) -> Mapping[str, Callable[..., Any]]:
        theirs = {
            prefix + name: constructor
            for prefix, module in (("", relay.transform), ("qnn.", relay.qnn.transform))
            for name, constructor in inspect.getmembers(module, inspect.isfunction)
            if name[0].isupper()
        }
        return {**theirs, **{name: getattr(passes, name) for name in passes.OURS}}

    def extra(self) -> list[PassInfo]:
        doc = "Make the parameters constants, as relay.build does before any pass."
        return [PassInfo("BindParams", "relay", doc, (), 0, ours=True)]

    def apply(self, compiled: tvm.transform.Pass, module: tvm.IRModule, opt_level: int) -> tvm.IRModule:
        if compiled.info.name == "DefuseOps":
            _check_defusable(module)
        with as_error(PipelineError), tvm.transform.PassContext(opt_level=opt_level):
            return tvm.transform.Sequential([relay.transform.InferType(), compiled, relay.transform.InferType()])(
                unshared(module)
            )

    def rewrite(self, callback: Any, module: tvm.IRModule) -> tvm.IRModule:
        for name, function in module.functions.items():
            if isinstance(function, relay.Function):
                module.update_func(name, relay.dataflow_pattern.rewrite(callback, function, module))
        return module

    def diagnosed(self) -> AbstractContextManager[None]:
        return as_error(PipelineError)

    def rewriter(self, pattern: Any, callback: Any) -> object:
        if not isinstance(pattern, relay.dataflow_pattern.DFPattern) or not callable(callback):
            raise TypeError(f"{type(pattern).__name__} and {type(callback).__name__}")
        made = relay.dataflow_pattern.DFPatternCallback(require_type=True)
        made.pattern, made.callback = pattern, callback
        return made


PASSES = RelayPasses()


def _check_defusable(module: tvm.IRModule) -> None:
    """Refuse a module on which TVM 0.17's DefuseOps raises or ends the process.

    It puts nothing in the place of a variable in a called function that is not a parameter of a function called there.
    """

    def look(expr: Any) -> None:
        function: Any = expr.op if isinstance(expr, relay.Call) else None
        if not isinstance(function, relay.Function):
            return
        own = {parameter.name_hint for parameter in function.params}

        def inside(other: Any) -> None:
            if isinstance(other, relay.Call) and isinstance(other.op, relay.Function):
                own.update(parameter.name_hint for parameter in other.op.params)

        relay.analysis.post_order_visit(function.body, inside)
        for variable in relay.analysis.all_vars(function.body):
            if variable.name_hint not in own:
                raise PipelineError(
                    f"DefuseOps loses the variable {variable.name_hint}, which a called function binds itself or takes from outside, "
                    "and TVM then ends the process; take the module from before FuseOps"
                )

    for function in module.functions.values():
        if isinstance(function, relay.Function):
            relay.analysis.post_order_visit(function, look)
