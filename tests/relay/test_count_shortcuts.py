"""Counting leaves work out; what it leaves out must not show."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import tvm
from tvm import relay

import workbench as wb
from workbench.dialects.registry import dialect_of
from workbench.dialects.relay.compiler import folding
from workbench.dialects.relay.compiler.kernels import Walk, typed
from workbench.dialects.relay.compiler.optimization import quickly_optimized
from workbench.errors import MeasureError

PLAIN = {"opt_level": 3, "disabled": [], "required": [], "options": {}}


def constant(*shape: int, dtype: str = "float32") -> relay.Constant:
    return relay.const(np.random.default_rng(0).normal(size=shape).astype(dtype))


def same_counts(function: relay.Function, target: str = "llvm", **how: object) -> wb.Workload:
    workload = wb.load(function)
    built, found = wb.kernels(workload, target, **how), wb.count(workload, target, **how)
    assert (found.calls, found.functions, found.noops) == (built.calls, built.functions, built.noops)
    assert found.traffic_bytes == built.traffic_bytes
    return workload


def shown(module: tvm.IRModule) -> list[tuple[str, str]]:
    graph = wb.load(module).graph
    return [(node.op if node.kind == "op" else node.kind, node.type) for node in graph.nodes]


@pytest.mark.parametrize("name", ["branches", "conv_bias_batch_norm", "attention", "parallel_cast"])
def test_folds_what_tvm_folds(name):
    workload = wb.samples.load(name)
    bound = dialect_of(workload).frontend.bind(workload.module, workload.params)
    module = relay.transform.InferType()(relay.transform.SimplifyInference()(bound))
    ours = tvm.IRModule(module.functions)
    folding.Folder().fold(ours)
    assert shown(ours) == shown(relay.transform.FoldConstant()(module))


def test_a_small_constant_has_its_value():
    x = relay.var("x", shape=(4,))
    function = relay.Function([x], x + relay.exp(relay.sqrt(constant(4) * constant(4))))
    ours = relay.transform.InferType()(tvm.IRModule.from_expr(function))
    theirs = relay.transform.FoldConstant()(ours)
    folding.Folder().fold(ours)
    values = [module["main"].body.args[1].data.numpy() for module in (ours, theirs)]
    np.testing.assert_allclose(*values, rtol=1e-6)


def norms() -> tvm.IRModule:
    """Three scales and shifts of two shapes, computed of constants."""
    x = y = relay.var("x", shape=(2, 4))
    for place, size in enumerate((4, 4, 1)):
        y = y * relay.sqrt(relay.const(np.arange(place, place + size, dtype="float32")))
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], y)))


def compiled_by(once: folding.CompiledOnce) -> int:
    return sum(map(len, once.made.values()))


def test_equal_kernels_of_constants_are_compiled_once_and_have_tvms_bits():
    plain = relay.transform.FoldConstant()(norms())
    once = folding.CompiledOnce()
    with tvm.transform.PassContext(opt_level=3, instruments=[once]):
        folded = relay.transform.FoldConstant()(norms())
        # two shapes of sqrt
        assert compiled_by(once) == 2
        relay.build(folded, "llvm")
    assert tvm.ir.structural_equal(folded, plain)
    assert compiled_by(once) == 2


def test_tvms_own_compiler_is_back_after_a_fold_that_fails():
    @tvm.ir.instrument.pass_instrument
    class Fails:
        def run_after_pass(self, _module: tvm.IRModule, _info: object) -> None:
            raise ValueError("stop")

    module, once = norms(), folding.CompiledOnce()
    with pytest.raises(ValueError, match="stop"), tvm.transform.PassContext(instruments=[Fails(), once]):
        relay.transform.FoldConstant()(module)
    assert compiled_by(once) == 2
    relay.transform.FoldConstant()(tvm.IRModule.from_expr(relay.sqrt(constant(7))))
    assert compiled_by(once) == 2


def test_a_value_that_hangs_on_a_large_constant_is_left_to_tvm():
    """A reshape whose result is asked for its elements: a scale of sums, which FoldScaleAxis wants to be positive."""
    big = relay.add(constant(300, 300), constant(300, 300))
    x = relay.var("x", shape=(300,))
    same_counts(relay.Function([x], x * relay.sum(big, axis=1)), opt_level=3)
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], x * relay.sum(big, axis=1))))
    with pytest.raises(folding.NotPlain):
        folding.Folder().fold(module)


def test_a_large_folded_constant_has_no_checksum():
    """Its memory was never written, so a checksum of it would be of anything."""
    x = relay.var("x", shape=(300, 300))
    workload = wb.load(relay.Function([x], x * relay.exp(constant(300, 300))))
    folded = quickly_optimized(workload, "llvm", PLAIN)
    frontend = dialect_of(workload).frontend

    def digests(module: tvm.IRModule) -> list[bool]:
        nodes = frontend.graph(frontend.infer_types(module), "m").nodes
        return ["digest" in node.attrs for node in nodes if node.kind == "constant"]

    assert (digests(workload.module), digests(folded)) == ([True], [False])


def test_tuples_lets_and_shapes():
    x = relay.var("x", shape=(4, 4))
    pair = relay.split(constant(4, 4), 2)
    whole = relay.Tuple([x, relay.concatenate([pair[0], pair[1]], 0)])
    same_counts(relay.Function([x], relay.TupleGetItem(whole, 1) + relay.TupleGetItem(whole, 0)))
    rows = relay.take(relay.cast(relay.shape_of(x), "float32"), relay.const(0))
    same_counts(relay.Function([x], relay.reshape(relay.exp(x), (16,)) + rows))


def test_let_bound_values_are_followed():
    x, y, z = relay.var("x", shape=(4,)), relay.var("y"), relay.var("z")
    body = relay.Let(y, relay.exp(x), relay.Let(z, relay.reshape(y, (2, 2)), relay.Tuple([z, relay.sqrt(y)])))
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body)))
    fused = relay.transform.InferType()(relay.transform.FuseOps(0)(module))
    program = Walk(typed(fused), False).program()
    assert [call.kind for call in program.calls] == ["kernel", "noop", "kernel"]
    assert [call.sources for call in program.calls] == [(-1,), (0,), (0,)]


def test_equal_calls_share_what_alter_op_layout_was_told():
    x = relay.var("x", shape=(1, 32))
    out = x
    for _ in range(3):
        out = relay.nn.dense(out, constant(32, 32))
    workload = same_counts(relay.Function([x], out))
    first = Walk(typed(quickly_optimized(workload, "llvm", PLAIN)), False).program()
    assert dataclasses.asdict(first) == dataclasses.asdict(
        Walk(typed(quickly_optimized(workload, "llvm", PLAIN)), False).program()
    )


def test_a_required_fold_at_a_low_level_runs():
    x = relay.var("x", shape=(4,))
    function = relay.Function([x], x + relay.exp(constant(4)))
    same_counts(function, opt_level=0, required=["FoldConstant"])
    assert wb.count(wb.load(function), opt_level=0, required=["FoldConstant"]).calls == 1
    assert wb.count(wb.load(function), opt_level=0).calls == 2


def test_launches_of_a_host_loop_are_those_that_it_makes():
    """A scan of 16 elements goes up and down four steps; each is one launch of the same kernel."""
    x = relay.var("x", shape=(4, 16))
    outputs = relay.Tuple([relay.cumsum(x, axis=1), relay.argsort(x), relay.nn.softmax(x)])
    built = wb.kernels(wb.load(relay.Function([x], outputs)), "cuda -arch=sm_80")
    launched = {row["op"]: (row["launches"], row["launches_exact"]) for row in built.rows}
    kernels = {row["op"]: built.source(row["function"]).count("__global__") for row in built.rows}
    assert kernels == {"cumsum": 5, "argsort": 2, "nn.softmax": 1}
    assert launched == {"cumsum": (1 + 4 + 1 + 4 + 1, True), "argsort": (2, True), "nn.softmax": (1, True)}
    assert built.flops is None
    assert built.notes == ("flops are unknown: how many argsort, cumsum takes depends on how it is carried out",)
    assert built.table["flops"].isna().tolist() == [True, True, False]


def test_multiplications_are_those_that_tvm_counts():
    data = relay.var("data", shape=(1, 4, 8, 8))
    conv = relay.nn.conv2d(data, relay.var("w", shape=(8, 4, 3, 3)), (2, 2), (1, 1), channels=8, kernel_size=(3, 3))
    out = relay.nn.dense(relay.nn.batch_flatten(conv), relay.var("v", shape=(10, 128)))
    workload = wb.load(relay.Function(relay.analysis.free_vars(out), out))
    built = wb.kernels(workload, opt_level=0)
    macs = relay.analysis.get_total_mac_number(workload.module["main"])
    assert built.flops == 2 * macs


def test_a_dynamic_shape_is_refused_or_counts_no_bytes():
    x = relay.var("x", shape=(relay.Any(),))
    workload = wb.load(relay.Function([x], relay.exp(x)))
    with pytest.raises(MeasureError):
        wb.kernels(workload)
    assert wb.count(workload).traffic_bytes == 0


def test_what_is_inside_a_kernel_is_not_folded():
    x = relay.var("x", shape=(4,))
    function = relay.Function([x], relay.exp(x + relay.sqrt(constant(4))))
    fused = relay.transform.FuseOps(2)(relay.transform.InferType()(tvm.IRModule.from_expr(function)))
    ours = tvm.IRModule(relay.transform.InferType()(fused).functions)
    theirs = relay.transform.FoldConstant()(ours)
    folding.Folder().fold(ours)
    assert shown(ours) == shown(theirs)
    assert "sqrt" in [op for op, _ in shown(ours)]
