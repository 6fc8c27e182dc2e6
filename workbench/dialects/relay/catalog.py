"""Relay's passes with their options, found by looking at the running TVM."""

from __future__ import annotations

import inspect
from dataclasses import replace
from functools import lru_cache
from typing import Any

import tvm
from tvm import relay

from workbench.dialects.base import Option, PassInfo
from workbench.dialects.relay.passes import OURS

LOCKED = {
    "InferType": "later passes and the picture need every type",
    "FuseOps": "lowering takes kernels, and FuseOps makes them; to fuse less use relay.FuseOps.max_depth",
    "SimplifyInference": "batch_norm, dropout and the like have no code generator of their own",
    "ToBasicBlockNormalForm": "later passes rely on its scopes",
    "LowerTE": "it turns Relay kernels into TIR",
    "PlanDevices": "lowering needs a device for every value",
    "Inline": "functions marked for inlining have no code generator of their own",
}
# What a name and literals cannot say, or what fails in this TVM whatever the module is.
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
# Options that any module will do for, for passes that have no default.
EXAMPLES = {
    "AnnotateTarget": {"targets": ["default"]},
    "CombineParallelOps": {"op": "nn.dense"},
    "ConvertLayout": {"desired_layouts": {"nn.conv2d": ["NHWC", "default"]}},
    "EtaExpand": {"expand_global_var": True},
    "SplitArgs": {"max_function_args": 8},
}
_MODULES = (("", relay.transform), ("qnn.", relay.qnn.transform))


@lru_cache
def passes() -> tuple[PassInfo, ...]:
    """Every public pass constructor of relay.transform and relay.qnn.transform, in alphabetical order."""
    found = [
        _describe(prefix + name, constructor)
        for prefix, module in _MODULES
        for name, constructor in inspect.getmembers(module, inspect.isfunction)
        if name[0].isupper()
    ]
    bind = PassInfo(
        "BindParams", "relay", "Make the parameters constants, as relay.build does before any pass.", (), 0, ours=True
    )
    ours = [replace(_describe(made.__name__, made), ours=True) for made in OURS]
    return tuple(sorted([*found, bind, *ours], key=lambda info: info.name.lower()))


@lru_cache
def constructors() -> dict[str, Any]:
    """Pass name -> the function that makes the pass."""
    modules = dict(_MODULES)
    theirs = {
        info.name: getattr(modules["qnn." if info.name.startswith("qnn.") else ""], info.name.removeprefix("qnn."))
        for info in passes()
        if not info.ours
    }
    return {**theirs, **{made.__name__: made for made in OURS}}


def _describe(name: str, constructor: Any) -> PassInfo:
    options = tuple(
        _option(p)
        for p in inspect.signature(constructor).parameters.values()
        if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    )
    doc = (inspect.getdoc(constructor) or "").split("\n\n")[0].replace("\n", " ")
    example = EXAMPLES.get(name, {})
    level, requires = None, ()
    if {option.name for option in options if option.required} <= set(example):
        made = constructor(**example)
        if isinstance(made, tvm.transform.Pass):
            level, requires = int(made.info.opt_level), tuple(map(str, made.info.required))
    return PassInfo(
        name,
        "relay",
        doc,
        options,
        level,
        LOCKED.get(name, ""),
        requires=requires,
        example=example,
        reason=REASONS.get(name, ""),
    )


def _option(parameter: inspect.Parameter) -> Option:
    required = parameter.default is parameter.empty
    default = None if required else parameter.default
    if parameter.annotation is not parameter.empty:
        type = getattr(parameter.annotation, "__name__", str(parameter.annotation))
    else:
        type = "any" if default is None else default.__class__.__name__
    return Option(parameter.name, type, default, required)
