"""FusionInspector on Relax: as far as the mirror goes, and in words where it does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_driver import Page

import workbench as wb
from workbench.widgets.blocks import Block

KINDS = "LegalizeOps,AnnotateTIROpPattern"


def texts(blocks: list[Block]) -> str:
    return " ".join(str(block.get("text") or block.get("label")) for block in blocks)


def test_it_opens_fused_as_tvm_does_and_the_raw_program_is_one_click_away() -> None:
    w = wb.samples.load("attention")
    view = wb.FusionInspector(w)
    assert view.kernels == wb.trace(w).end.graph.kernel_count
    assert f"after {view.before.replace(',', ', ')}" in texts(view.panels["head"])
    page = Page(view)
    page.click_action("raw")
    assert view.fused.graph.ops == w.graph.ops
    assert "No kinds are known" in texts(view.panels["card"])
    page.click_action("before", KINDS)
    assert view.before == KINDS
    assert view.workload is not None
    assert wb.trace(view.workload, "FuseOps").end.graph.kernel_count == view.kernels < len(w.graph.ops)


@pytest.mark.parametrize("traits", [{"before": ""}, {"selection": [2]}, {"edits": ["DeadCodeElimination"]}], ids=str)
def test_ids_and_edits_of_the_caller_are_of_the_program_as_given(traits: dict[str, object]) -> None:
    assert wb.FusionInspector(wb.samples.load("mlp"), **traits).before == ""


def test_a_cut_is_one_kernel_more_and_is_measured_with_the_same_outputs() -> None:
    view = wb.FusionInspector(wb.samples.load("mlp"), before=KINDS)
    split = next(n for n in view.fused.graph.ops if n.op == "relu")
    view.selection = [view.fused.graph.inputs[split.id][0], split.id]
    apart = view.kernels + 1
    Page(view).click_action("cut")
    assert view.kernels == apart
    view.tab = "edits"
    view.measure()
    assert view.wait(120)
    said = str(view.panels["tab"])
    assert "The outputs are equal, element by element." in said
    assert "failed" not in said


def test_reasons_and_regions_are_there_and_when_branches_are_combined_is_said() -> None:
    view = wb.FusionInspector(wb.samples.load("attention"), before=KINDS)
    split = next(n.id for n in view.fused.graph.nodes if n.op == "split")
    view.selection = [split]
    view.region = split
    assert "The region" in texts(view.panels["card"])
    view.tab = "branches"
    assert view.wait(60)
    assert "combined before LegalizeOps" in texts(view.panels["tab"])


def test_branches_and_chains_are_listed_and_marked() -> None:
    w = wb.samples.load("bert", dialect="relax", layers=1, hidden=32, seq=8, heads=2)
    view = wb.FusionInspector(w, before="")
    view.tab = "branches"
    assert view.wait(60)
    assert "CombineParallelMatmul" in str(view.panels["tab"])
    marked = {node: sign for node, sign, *_ in view.marks["signs"]}
    (group,) = (g for g in view.branches if g.kind == "combinable")
    assert {marked[node] for branch in group.branches for node in branch} == {"a"}
    view.tab = "chains"
    assert view.wait(60)
    assert "nothing folds it" in str(view.panels["tab"])
    assert view.marks["signs"]


def test_its_picture_is_of_the_graph_behind_the_passes_that_run_first(tmp_path: Path) -> None:
    view = wb.FusionInspector(wb.samples.load("mlp"), before=KINDS)
    drawn = view.save(tmp_path / "view.svg").read_text(encoding="utf-8")
    assert all(n.op in drawn for n in view.fused.graph.ops)
