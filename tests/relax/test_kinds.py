"""How a kernel's kind is derived: the same kinds as AnnotateTIROpPattern's, in words that name the access."""

from __future__ import annotations

import sys
from random import Random
from types import SimpleNamespace

import pytest
import tvm
from kernel_programs import Program
from tvm import relax

import workbench as wb
from workbench.dialects.registry import explain_kind
from workbench.dialects.relax.kinds import derived_kind, prim_funcs, reduces

KINDS = "DecomposeOpsForInference,LegalizeOps,AnnotateTIROpPattern"


def compare(modules: list[tvm.IRModule], tell) -> None:
    compared = 0
    for module in modules:
        for name, function in prim_funcs(module).items():
            told = derived_kind(function, name)
            compared += 1
            assert told.kind == told.derived, (told, function.script())
    tell(f"kinds of PrimFuncs derived as AnnotateTIROpPattern does: {compared} of {compared}")
    assert compared


def test_every_sample(tell) -> None:
    compare([wb.trace(wb.samples.load(name), KINDS).result for name in wb.samples.names("relax")], tell)


def test_random_programs(tell) -> None:
    compare([Program(Random(seed), 8).module() for seed in range(10)], tell)


UNUSUAL = {
    "avg_pool": lambda x: relax.op.nn.avg_pool2d(x, (2, 2)),
    "max_pool": lambda x: relax.op.nn.max_pool2d(x, (2, 2)),
    "softmax": lambda x: relax.op.nn.softmax(x),
    "take": lambda x: relax.op.take(x, relax.const([0, 1], "int64"), axis=1),
    "flip": lambda x: relax.op.flip(x, 1),
    "sum": lambda x: relax.op.sum(x),
    "mean": lambda x: relax.op.mean(x, axis=[2, 3]),
    "argmax": lambda x: relax.op.argmax(x, axis=1),
    "layer_norm": lambda x: relax.op.nn.layer_norm(x, relax.const([1.0] * 4), relax.const([0.0] * 4), [3]),
    "tile": lambda x: relax.op.tile(x, (1, 2, 1, 1)),
    "concat": lambda x: relax.op.concat([x, x], 1),
    "full": lambda x: relax.op.full_like(x, relax.const(1.0)),
    "resize": lambda x: relax.op.image.resize2d(x, (8, 8)),
    "pad": lambda x: relax.op.nn.pad(x, (0, 0, 0, 0, 1, 1, 1, 1)),
    "strided": lambda x: relax.op.strided_slice(x, [2], [0], [4], [2]),
    "one_hot": lambda x: (
        relax.op.one_hot(relax.op.astype(x, "int64"), relax.PrimValue(1), relax.PrimValue(0), 4, 4)
        if hasattr(relax, "PrimValue")
        else relax.op.flip(x, 0)
    ),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_operators(name: str, tell) -> None:
    from workbench.dialects.relax import compat

    block = relax.BlockBuilder()
    x = relax.Var("x", compat.tensor_type((1, 4, 4, 4), "float32"))
    with block.function("main", [x]):
        block.emit_func_output(block.emit(UNUSUAL[name](x)))
    compare(
        [
            tvm.transform.Sequential([relax.transform.LegalizeOps(), relax.transform.AnnotateTIROpPattern()])(
                block.get()
            )
        ],
        tell,
    )


def test_the_sentence_names_the_block_and_the_access() -> None:
    workload = wb.load(wb.trace(wb.samples.load("mlp"), KINDS).result)
    said = {node.op: explain_kind(workload, node.id).sentence for node in workload.graph.ops}
    assert "block matmul adds up" in said["matmul"]
    assert "reads both again for other results" in said["matmul"]
    assert "block T_transpose reads fc0_weight[v_ax1, v_ax0] by other expressions of the indices" in said["transpose"]
    assert "elementwise" in said["relu"]


def test_before_the_pass_and_against_a_kind_set_by_hand() -> None:
    legal = wb.load(wb.trace(wb.samples.load("mlp"), "LegalizeOps").result)
    node = next(node.id for node in legal.graph.ops if node.op == "relu")
    assert "has not run yet" in explain_kind(legal, node).sentence
    module = legal.module.clone()
    variable = module.get_global_var("relu")
    module.update_func(variable, module["relu"].with_attr("op_pattern", 8))
    assert "set before" in explain_kind(wb.load(module), node).sentence


def test_what_has_no_kind_is_refused_in_words() -> None:
    with pytest.raises(wb.WorkbenchError, match="run LegalizeOps first"):
        explain_kind(wb.samples.load("mlp"), wb.samples.load("mlp").graph.ops[0].id)


def test_the_inspector_says_it() -> None:
    view = wb.FusionInspector(wb.samples.load("mlp"), before="LegalizeOps,AnnotateTIROpPattern")
    view.selection = [next(node.id for node in view.fused.graph.ops if node.op == "matmul")]
    assert "block matmul adds up" in str(view.panels["card"])


def test_a_kernel_of_any_depth_is_walked() -> None:
    body = SimpleNamespace(iter_vars=[SimpleNamespace(iter_type=2)])
    for _ in range(20 * sys.getrecursionlimit()):
        body = SimpleNamespace(body=body)
    assert reduces(SimpleNamespace(body=body))
    # without it Python ends the objects one within another, and the process
    while hasattr(body, "body"):
        body = body.body
