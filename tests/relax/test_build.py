"""Builds: what is counted is what the virtual machine calls."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from breadth import breadth
from tvm import relax

import workbench as wb
from workbench.dialects.base import Workload
from workbench.dialects.compiler.tvm_target import make_target
from workbench.dialects.relax import compat
from workbench.dialects.relax.compiler import build
from workbench.errors import MeasureError, UnknownName

PLAIN = {"opt_level": 3, "disabled": [], "required": [], "options": {}}
SMALL = {"attention": {"seq": 8, "heads": 2, "head": 4}, "bert": {"layers": 1, "hidden": 16, "seq": 8, "heads": 2}}
# resnet18 has no kind of call that these lack, and takes longer than all of them together
NAMES = [name for name in wb.samples.names("relax") if name != "resnet18"]

BRANCHING = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")):
        if c:
            y = R.nn.relu(R.add(x, x))
        else:
            y = R.negative(x)
        return y
"""


def sample(name: str) -> Workload:
    return wb.samples.load(name, **SMALL.get(name, {}))


def called(built: build.RelaxBuilt) -> list[str]:
    """The functions that the virtual machine really calls in one run, its own ones left out."""
    machine = relax.VirtualMachine(built.library, tvm.cpu())
    names: list[str] = []

    def watch(function: object, name: str, before: bool, result: object, *arguments: object) -> int:
        if before and not name.startswith("vm."):
            names.append(name)
        return int(relax.VMInstrumentReturnKind.NO_OP)

    machine.set_instrument(watch)
    values = {**build.random_inputs(built.workload, 0), **built.workload.params}
    arguments = [values[compat.name_of(parameter)] for parameter in built.workload.module["main"].params]
    machine["main"](*[tvm.runtime.tensor(a if isinstance(a, np.ndarray) else a.numpy()) for a in arguments])
    return names


@pytest.mark.parametrize("config", [PLAIN, {**PLAIN, "opt_level": 0}, {**PLAIN, "disabled": ["FuseOps"]}])
@pytest.mark.parametrize("name", breadth(NAMES, "parallel_cast"))
def test_rows_are_the_calls_that_are_made_and_kernels_of_the_optimized_picture(name: str, config: dict) -> None:
    built = build.COMPILER.compiled(sample(name), "llvm", config)
    assert isinstance(built, build.RelaxBuilt)
    rows = [row["function"] for row in built.calls() if not row["noop"]]
    assert rows == called(built)
    graph = wb.load(build.COMPILER.optimized(sample(name), "llvm", config)).graph
    assert graph.kernel_count == len(built.calls())


def test_a_pipeline_that_fused_is_compiled_as_it_is() -> None:
    fused = wb.trace(sample("mlp"), "LegalizeOps,AnnotateTIROpPattern,FuseOps{fuse_opt_level=2}")
    workload = Workload(fused.result, sample("mlp").params, "mlp", "relax")
    unfused = {**PLAIN, "opt_level": 0}
    assert len(build.COMPILER.compiled(workload, "llvm", unfused).calls()) == fused.end.graph.kernel_count == 6
    assert (
        len(build.COMPILER.compiled(sample("mlp"), "llvm", unfused).calls()) == sample("mlp").graph.kernel_count == 12
    )


def test_both_arms_of_an_if_are_rows() -> None:
    built = build.COMPILER.compiled(wb.load(BRANCHING), "llvm", PLAIN)
    assert sorted(row["function"] for row in built.calls()) == ["add", "relu", "tir_negative"]


def test_bytes_and_shapes_of_a_call() -> None:
    row = build.COMPILER.compiled(sample("mlp"), "llvm", {**PLAIN, "opt_level": 0}).calls()[1]
    assert row == {
        "index": 1,
        "name": row["name"],
        "function": "matmul",
        "kind": "kernel",
        "noop": False,
        "launches": 1,
        "launches_exact": True,
        "bytes_read": 4 * (32 + 32 * 32),
        "bytes_written": 4 * 32,
        "inputs": ["(1, 32) float32", "(32, 32) float32"],
        "outputs": ["(1, 32) float32"],
    }


def test_the_source_holds_every_kernel() -> None:
    built = build.COMPILER.compiled(sample("mlp"), "llvm", PLAIN)
    assert all(f"@__tvm_ffi_{row['function']}(" in built.source() for row in built.calls())


def test_it_runs() -> None:
    run = build.COMPILER.compiled(sample("parallel_cast"), "llvm", PLAIN).load(seed=0).run
    assert 0 < run(3) < 1


def test_a_group_that_fuse_tir_does_not_get_is_no_kernel() -> None:
    """Why FuseTIR is locked: the picture would say 6 kernels, and 12 would run."""
    without = {**PLAIN, "disabled": ["FuseTIR"]}
    assert wb.load(build.COMPILER.optimized(sample("mlp"), "llvm", without)).graph.kernel_count == 6
    assert len(build.COMPILER.compiled(sample("mlp"), "llvm", without).calls()) == 12
    with pytest.raises(MeasureError, match="FuseTIR cannot be switched off"):
        wb.kernels(sample("mlp"), disabled=["FuseTIR"])


def test_a_cuda_build_needs_no_device_until_it_is_run() -> None:
    built = build.COMPILER.compiled(sample("mlp"), "cuda -arch=sm_80", PLAIN)
    assert len(built.calls()) == 6
    assert "__global__" in built.source()
    if not tvm.cuda(0).exist:
        with pytest.raises(MeasureError, match="no cuda device"):
            built.load(seed=0)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("llvm", {"kind": "llvm"}),
        ("llvm -mcpu=core-avx2 -num-cores=4", {"kind": "llvm", "mcpu": "core-avx2", "num-cores": 4}),
        ("llvm -keys=cpu,arm_cpu -mattr=+neon,+sve", {"keys": ["cpu", "arm_cpu"], "mattr": ["+neon", "+sve"]}),
    ],
)
def test_a_target_is_read(text: str, fields: dict) -> None:
    target = make_target(text)
    assert target.kind.name == "llvm"
    for name, value in fields.items():
        if name not in ("kind", "keys"):
            assert target.attrs[name] == value or list(target.attrs[name]) == value


@pytest.mark.parametrize("text", ["nosuch", "llvm -nosuch=1", "nvidia/nosuch", "llvm -num-cores=many"])
def test_a_bad_target_is_one_sentence(text: str) -> None:
    with pytest.raises(MeasureError, match="is not a target of this TVM") as caught:
        make_target(text)
    assert "\n" not in str(caught.value)


def test_an_unknown_context_option_is_named() -> None:
    with pytest.raises(UnknownName, match=r"relax\.FuseOps\.max_depth"):
        build.COMPILER.compiled(sample("mlp"), "llvm", {**PLAIN, "options": {"relax.FuseOps.max_dept": 1}})


def test_a_workload_without_a_main_or_of_unknown_size_can_not_be_timed() -> None:
    function = "    @R.function\n    def {}(x: R.Tensor((4,), 'float32')):\n        return x\n"
    named = wb.load("@I.ir_module\nclass M:\n" + function.format("one") + function.format("other"))
    with pytest.raises(MeasureError, match="no function `main`"):
        build.random_inputs(named, 0)
    unknown = wb.load("@R.function\ndef main(x: R.Tensor((\"n\",), 'float32')):\n    return x\n")
    with pytest.raises(MeasureError, match="leaves n open"):
        build.random_inputs(unknown, 0)


def test_bytes_of_a_tensor_with_an_open_dimension_are_a_lower_bound_and_that_is_said() -> None:
    found = wb.kernels(wb.load('@R.function\ndef main(x: R.Tensor(("n", 4), "float32")):\n    return R.nn.relu(x)\n'))
    bytes, flops = found.notes
    assert bytes.startswith("bytes are a lower bound: (n, 4) float32 ")
    assert flops.endswith("on the dimensions that are open")


def test_value_of_a_kernel_is_that_of_its_last_operator() -> None:
    """A kernel's variable may have the name of an operator inside of it."""
    program = sample("chain")
    fused = wb.load(wb.trace(program, "LegalizeOps,AnnotateTIROpPattern,FuseOps{fuse_opt_level=2}").result)
    probed, (node,) = build.probed(fused)
    assert fused.graph.nodes[node].op == "relu"
    (value,) = build.COMPILER.compiled(probed, "llvm", PLAIN).load(0).outputs()
    (expected,) = build.COMPILER.compiled(program, "llvm", PLAIN).load(0).outputs()
    np.testing.assert_allclose(value, expected, rtol=1e-6)
