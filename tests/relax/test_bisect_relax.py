"""wb.bisect on Relax: a pass of TVM that changes the answer, and a wrong pass of the test among right ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import tvm
from tvm import relax

import workbench as wb

PASSES = "CanonicalizeBindings,EliminateCommonSubexpr,DeadCodeElimination,{},LegalizeOps,AnnotateTIROpPattern,FoldConstant,FuseOps{{fuse_opt_level=2}}"


def normalised(layers: int) -> wb.Workload:
    """Return layers of add and relu around a batch_norm with the batch's statistics, which is TVM's default."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 4, 8, 8), "float32"))
    statistics = [relax.Var(name, relax.TensorType((4,), "float32")) for name in ("gamma", "beta", "mean", "var")]
    with builder.function("main", [x, *statistics]):
        with builder.dataflow():
            value = x
            for place in range(layers):
                value = builder.emit(relax.op.nn.relu(builder.emit(relax.op.add(value, x))))
                if place == layers // 2:
                    value = builder.emit(relax.op.nn.batch_norm(value, *statistics, axis=1)[0])
            result = builder.emit_output(value)
        builder.emit_func_output(result)
    return wb.load(builder.get(), name="normalised")


def check(layers: int) -> int:
    found = wb.bisect(normalised(layers), "wrong", PASSES.format("DecomposeOpsForInference"))
    assert found.passes == ("DecomposeOpsForInference",), str(found)
    assert found.good is not None
    assert found.trace.steps[found.step].name == "DecomposeOpsForInference"
    # the first wrong node is the first result of batch_norm
    before = found.trace.steps[found.step].before
    (field,) = found.selection["before"]
    assert before.nodes[field].op == ".0"
    assert [before.nodes[id].op for id in before.inputs[field]] == ["relax.nn.batch_norm"]
    return len(found.probes)


def test_pass_that_changes_the_answer_is_found() -> None:
    check(2)


@pytest.mark.sweep
def test_pass_that_changes_the_answer_is_found_in_300_operators(tell: Callable[[object], None]) -> None:
    tell(f"bisect, batch_norm with the moving statistics: {check(150)} probes of 8 changes")


def wrong(module: tvm.IRModule) -> tvm.IRModule:
    """Replace every relu by a negation."""
    return tvm.script.from_source(module.script().replace("R.nn.relu(", "R.negative("))


def test_wrong_python_function_is_found() -> None:
    first, last = PASSES.split("{},")
    pipeline = wb.Pipeline([first.rstrip(","), wrong, last.replace("{{", "{").replace("}}", "}")])
    found = wb.bisect(wb.samples.load("mlp"), "wrong", pipeline)
    assert found.passes == ("<wrong>",), str(found)
    assert found.config is not None
    step = found.trace.steps[found.step]
    assert step.name == "<wrong>"
    assert {step.after.nodes[id].op.rpartition(".")[2] for id in found.selection["after"]} >= {"negative"}


def unbound(module: tvm.IRModule) -> tvm.IRModule:
    """Leave out the first binding, whose variable is then used and not bound."""
    main = module["main"]
    blocks = main.body.blocks
    body = relax.SeqExpr([relax.DataflowBlock(list(blocks[0].bindings)[1:]), *blocks[1:]], main.body.body)
    return tvm.IRModule({"main": relax.Function(main.params, body, main.ret_ty, attrs=main.attrs)})


def test_pass_that_breaks_the_module_is_named_with_the_reason() -> None:
    pipeline = wb.Pipeline(["CanonicalizeBindings", unbound, "DeadCodeElimination"])
    found = wb.bisect(wb.samples.load("parallel_cast"), "crash", pipeline)
    assert found.passes == ("<unbound>",)
    assert "the result of <unbound> is not well-formed: " in str(found)
    assert "is not defined" in found.broken
