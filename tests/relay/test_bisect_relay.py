"""wb.bisect on TVM 0.17: its known wrong passes and crashes are found, and nobody else is accused."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
import tvm
from breadth import breadth, rotating
from planted import CRASHES, MISCOMPILES, OP_BATCH, alone, planted
from tvm import relay

import workbench as wb
from workbench.experiments.bisect.search import Culprit

FAULTS = {**MISCOMPILES, **CRASHES}
ROUNDING = "a float clipped and cast to int8"
SCALARS = "a scalar per branch"
SIGNS = "a cast from int8 to uint8 to int32"
RANKS = "an addend of rank 3"


def bisected(name: str, w: wb.Workload) -> Culprit:
    # for a processor without dot products of int8, for which Legalize would change the convolution
    target = "llvm -mcpu=x86-64"
    return wb.bisect(w, "wrong" if name in MISCOMPILES else "crash", FAULTS[name].config(), target=target)


@cache
def bisected_alone(name: str) -> Culprit:
    return bisected(name, alone(name))


def check(found: Culprit, name: str) -> None:
    guilty = FAULTS[name].guilty
    assert found.passes[-1] == (f"<{guilty}>" if guilty == OP_BATCH else guilty), str(found)
    # FoldScaleAxis has parts that run from opt level 3 on, whether it is required or not
    assert found.passes[:-1] == (("opt level 3",) if guilty == "FoldScaleAxis" else ())
    assert bool(found.edges) == (guilty == "FoldScaleAxis")
    assert found.good is not None
    assert found.probes[0].finding.answer == "yes", "with all changes"
    assert not {"can't tell"} & set(found.table["answer"])


# of two faults of one pass with one symptom, one is alone and the other within 300 operators
@pytest.mark.parametrize(
    "name", breadth(sorted(FAULTS.keys() - {SCALARS, SIGNS, RANKS}), ROUNDING, "a scalar after each batch_matmul")
)
def test_guilty_pass_is_found(name: str) -> None:
    found = bisected_alone(name)
    check(found, name)
    if name == "a branch that needs the result of another":
        assert "SIGSEGV" in found.probes[0].finding.key
        assert "SIGSEGV" in str(found)


@pytest.mark.long
@pytest.mark.parametrize("name", rotating((name for name in FAULTS if name not in (ROUNDING, SCALARS)), 1))
def test_guilty_pass_is_found_in_300_operators(name: str, tell: Callable[[object], None]) -> None:
    w = planted(name)
    assert len(w.graph.ops) >= 300
    found = bisected(name, w)
    check(found, name)
    seconds = sum(probe.seconds for probe in found.probes)
    tell(f"bisect, {name}: {len(found.probes)} probes of {len(found.changes.items)} changes, {seconds:.0f} s")


def loaded(*outputs: relay.Expr) -> wb.Workload:
    body = relay.Tuple(outputs)
    return wb.load(tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body)))


def test_right_program_accuses_no_pass() -> None:
    found = wb.bisect(loaded(relay.cast(relay.clip(relay.var("x", shape=(4, 8)), -100, 100), "int8")), "wrong", 3)
    assert not found.found
    assert found.status == "not shown"
    assert len(found.probes) == 1


def test_second_cause_is_found() -> None:
    found = bisected_alone(ROUNDING)
    assert found.config is not None
    assert found.good is not None
    # the compiler runs the same rules a second time
    assert [[change.name for change in other] for other in found.others] == [["SimplifyExprPostAlterOp"]]
    assert found.good.disabled == ("SimplifyExpr", "SimplifyExprPostAlterOp")
    assert found.good.opt_level == 3
    assert found.config.opt_level == 0
    assert "SimplifyExpr" not in found.config.disabled
    assert "SimplifyExprPostAlterOp" in found.config.disabled


def test_stepper_opens_at_the_first_wrong_node() -> None:
    found = bisected_alone(ROUNDING)
    step = found.trace.steps[found.step]
    assert step.name == "SimplifyExpr"
    (before,) = found.selection["before"]
    assert step.before.nodes[before].op in ("clip", "cast", "multiply")
    stepper = found.show()
    assert stepper.step == found.step
    assert stepper.selection == found.selection


def test_each_of_two_passes_of_one_name_is_a_change() -> None:
    found = wb.bisect(alone(ROUNDING), "wrong", "SimplifyExpr,FoldConstant,SimplifyExpr,FuseOps")
    assert [change.place for change in found.guilty] == [0]
    assert [[change.place for change in other] for other in found.others] == [[2]]
    assert "without it, SimplifyExpr does too" in str(found)


def test_reference_narrows_the_changes() -> None:
    found = wb.bisect(alone(SCALARS), "wrong", 4, reference=3)
    assert "SimplifyExpr" not in {change.name for change in found.changes.items}
    assert found.passes == ("CombineParallelDense",)
    assert found.good is not None


def test_edge_in_a_pipeline_is_named_on_the_graph_that_fusion_gets() -> None:
    x = relay.var("x", shape=(4, 8))
    value: relay.Expr = relay.tanh(relay.exp(x))
    for _ in range(8):
        value = relay.negative(relay.add(value, x))

    def together(w: wb.Workload, config: wb.Config) -> bool:
        graph = wb.trace(w, config.pipeline).end.graph
        exp, tanh = (next(node.id for node in graph.ops if node.op == op) for op in ("exp", "tanh"))
        return graph.kernel_of(exp) == graph.kernel_of(tanh) is not None

    found = wb.bisect(loaded(value), together, "SimplifyInference,FoldConstant,FuseOps{fuse_opt_level=2}")
    assert found.passes == ("FuseOps{fuse_opt_level=2}",)
    assert [(found.graph.nodes[e.source].op, found.graph.nodes[e.target].op) for e in found.edges] == [("exp", "tanh")]
    assert found.boundary.startswith("exp (node ")
