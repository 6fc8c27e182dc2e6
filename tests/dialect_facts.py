"""Where the dialects differ for a contract test: one object for each, each difference with its reason.

A test's body names no dialect (tests/static/test_contract.py holds that). What a difference below does not cover, a test asks
of the dialect itself: `registry.dialect(name).passes.fusing()`, `.presets()`, `wb.passes(name)`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@cache
def installed_dialect() -> str:
    """Return the dialect of this environment's TVM, looked up before a lane refuses it; "" with no TVM."""
    spec = importlib.util.find_spec("tvm")
    if spec is None or spec.origin is None:
        return ""
    # The Relay build carries an early Relax too, so Relay is asked for first.
    return "relay" if (Path(spec.origin).parent / "relay").is_dir() else "relax"


def _relay_doubled(times: int) -> str:
    lines = [f"  %{i + 1} = (%{i}, %{i});\n" for i in range(times)]
    return f"def @main(%x: Tensor[(4), float32]) {{\n  %0 = (%x, %x);\n{''.join(lines)}  %{times}\n}}\n"


def _relax_doubled(times: int) -> str:
    lines = [f"    t{i + 1} = (t{i}, t{i})\n" for i in range(times)]
    return f"@R.function\ndef main(x: R.Tensor((4,), 'float32')):\n    t0 = x\n{''.join(lines)}    return x\n"


_RELAY_STEPS = """#[version = "0.0.5"]
def @first(%b: Tensor[(4, 8), float32]) { %0 = exp(%b); nn.softmax(%0) }
def @second(%c: Tensor[(4, 8), float32]) { abs(%c) }
"""
_RELAX_STEPS = """@I.ir_module
class Steps:
    @R.function
    def first(b: R.Tensor((4, 8), "float32")):
        x = R.exp(b)
        return R.nn.softmax(x)
    @R.function
    def second(c: R.Tensor((4, 8), "float32")):
        return R.abs(c)
"""


_RELAX_OPEN = """from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 8), "float32")) -> R.Tensor(("n", 8), "float32"):
        gv = R.exp(x)
        return gv
"""


@dataclass(frozen=True)
class Facts:
    """What is one way in one dialect, and another way in the other."""

    doubled: Callable[[int], str]
    "gives the text of a program whose type doubles with each line: two languages"
    steps: str
    "the text of a module without `main` that has two functions, of two operators and of one: two languages"
    open_text: tuple[str, str]
    "the text of a program that leaves 3 rows of 8 open, and the `--input` that gives them: Relax's dimensions have names"
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
    one_type_a_storage: bool
    "whether TVM's planner reuses a storage for tensors of one data type only: Relay's compares the device alone"
    bad_triple: str
    "what a build for a target triple that LLVM does not know is: LLVM 10 under Relay ends the process, today's says what is wrong"


FACTS = {
    "relay": Facts(
        doubled=_relay_doubled,
        steps=_RELAY_STEPS,
        open_text=("def @main(%x: Tensor[(?, 8), float32]) { exp(%x) }\n", "x=3,8"),
        suffix=".relay",
        batch_norm_apart="SimplifyInference",
        folded="SimplifyInference,FoldScaleAxis",
        mixed=",ToMixedPrecision",
        after_fusion="",
        kernels_of_merged_casts=3,
        one_type_a_storage=False,
        bad_triple="crashed",
    ),
    "relax": Facts(
        doubled=_relax_doubled,
        steps=_RELAX_STEPS,
        open_text=(_RELAX_OPEN, "n=3"),
        suffix=".py",
        batch_norm_apart="DecomposeOpsForInference",
        folded="FoldBatchnormToConv2D,DecomposeOpsForInference",
        mixed="",
        after_fusion=",FuseTIR",
        kernels_of_merged_casts=4,
        one_type_a_storage=True,
        bad_triple="failed",
    ),
}
