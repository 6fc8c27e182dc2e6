"""Remarks of real passes, in both dialects."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from breadth import breadth
from dialect_facts import Facts
from small_samples import SMALL

import workbench as wb
from workbench.cli import main
from workbench.debugging.remarks.decisions import has_remark, pass_of, ran, report_of
from workbench.debugging.remarks.result import Remarks
from workbench.dialects.registry import dialect as door
from workbench.pipeline.step import Step
from workbench.pipeline.trace import Trace


def fusing(trace: Trace) -> list[Step]:
    return [step for step in trace.steps if pass_of(step) == "FuseOps" and ran(step)]


@pytest.mark.parametrize("sample", SMALL)
def test_each_decision_is_one_remark_and_each_fusion_of_tvm_has_one(sample: str, dialect: str) -> None:
    made = wb.trace(wb.samples.load(sample, **SMALL[sample]), door(dialect).passes.fusing())
    (step,) = fusing(made)
    report = report_of(made, step)
    wanted = Counter((d.node, d.code, d.phase, d.sentence) for d in report.decisions if has_remark(report, d))
    assert max(wanted.values()) == 1
    remarks = wb.remarks(made)
    found = remarks.find(pass_name="FuseOps")
    assert Counter((each.nodes[0], each.name, each.message) for each in found) == Counter(
        (node, code, sentence) for node, code, _, sentence in wanted
    )
    settled = [d for d in report.decisions if report.decided(d.node) is d]
    kinds = Counter(each.kind for each in found)
    assert kinds["passed"] == sum(d.code in ("fused", "together") for d in settled)
    assert len({each.node for each in settled}) == len(settled)
    # each fusion puts one operator into a kernel with others, so operators less kernels are the fusions of operators
    passed = [r for r in remarks.find("passed", "FuseOps") if step.before.nodes[r.nodes[0]].kind == "op"]
    inside = Counter(step.after.kernel_of(n.id) for n in step.after.ops)
    joined = sum(many - 1 for group, many in inside.items() if group is not None)
    assert len(passed) == joined


def test_a_build_that_lost_its_fusions(dialect: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, other = tmp_path / "main.opt.yaml", tmp_path / "branch.opt.yaml"
    assert main(["remarks", "sample:mlp", "-o", str(first)]) == 0
    assert main(["remarks", "sample:mlp", "-o", str(other), "-O", "0"]) == 0
    capsys.readouterr()
    before, after = Remarks.open(first), Remarks.open(other)
    assert before.find("passed", "FuseOps")
    assert main(["remarks", "--diff", str(first), str(other)]) == 3
    said = capsys.readouterr().out.splitlines()
    assert " lost since main:" in said[0]
    assert len(said) == 1 + len(after.lost(before))
    sizes = [int(line.split()[0].replace(",", "")) for line in said[1:] if line.split()[0] != "unknown"]
    assert sizes == sorted(sizes, reverse=True)
    assert main(["remarks", "--diff", str(other), str(first)]) == 0
    assert main(["remarks", "--diff", str(first), str(first)]) == 0


@pytest.mark.one_dialect
@pytest.mark.parametrize("name", breadth(["bert", "mlp"], "mlp"))
def test_the_same_program_twice_loses_nothing(dialect: str, name: str) -> None:
    w = wb.samples.load(name, **SMALL[name])
    assert not wb.remarks(w).lost(wb.remarks(w))


def test_a_longer_model_keeps_the_fusions_of_its_layers(dialect: str) -> None:
    passes = door(dialect).passes.fusing()
    short, long = (wb.remarks(wb.samples.load("mlp", layers=layers), config=passes) for layers in (2, 3))
    assert short.find("passed", "FuseOps")
    assert not long.lost(short)
    assert short.lost(long)


def test_merged_casts_are_passed_and_left_ones_missed(dialect: str) -> None:
    w = wb.samples.load("parallel_cast")
    same = "EliminateCommonSubexpr"
    did = wb.remarks(w, config=same).find("passed", same)
    assert {each.name for each in did} == {"identical"}
    left = wb.remarks(w, config=f"-{same}")
    assert [(each.name, each.change) for each in left.find("missed", same)] == [("not-run", f"{same} ran")] * len(did)
    assert len(left.lost(Remarks(tuple(did)))) == len(did)


def test_folded_weights_are_passed(dialect: str, facts: Facts) -> None:
    w = wb.samples.load("conv_bias_batch_norm", **SMALL["conv_bias_batch_norm"])
    passes = f"BindParams,{facts.batch_norm_apart},FoldConstant"
    made = wb.trace(w, passes)
    found = wb.remarks(made).find("passed", "FoldConstant", "folded")
    gone = len(made.steps[-1].before.ops) - len(made.steps[-1].after.ops)
    assert gone > 0
    assert len({node for each in found for node in each.nodes}) == gone


@pytest.mark.one_dialect
def test_layers_of_the_first_graph_are_kept(dialect: str) -> None:
    w = wb.samples.load("bert", layers=2, hidden=32, seq=8, heads=2)
    found = wb.remarks(w).find("passed", "FuseOps")
    layers = {each.layer for each in found} - {""}
    assert len(layers) >= 2


@pytest.mark.one_dialect
def test_a_pipeline_and_a_trace_of_it_have_the_same_remarks(dialect: str) -> None:
    w = wb.samples.load("mlp")
    passes = door(dialect).passes.fusing()
    assert wb.remarks(w, config=passes) == wb.remarks(wb.trace(w, passes))
