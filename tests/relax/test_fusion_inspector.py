"""FusionInspector on Relax: as far as the mirror goes, and in words where it does not."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.errors import WorkbenchError
from workbench.widgets.blocks import Block

KINDS = "LegalizeOps,AnnotateTIROpPattern"


def texts(blocks: list[Block]) -> str:
    return " ".join(str(block.get("text") or block.get("label")) for block in blocks)


def test_the_passes_that_find_the_kinds_are_offered_and_then_it_fuses() -> None:
    view = wb.FusionInspector(wb.samples.load("attention"))
    assert "No kinds are known" in texts(view.panels["card"])
    apart = view.kernels
    view._on_message(None, {"type": "act", "what": "before", "arg": KINDS}, [])
    assert view.wait(60)
    assert view.before == KINDS
    assert view.kernels < apart
    assert view.workload is not None
    fused = wb.trace(view.workload, "FuseOps").end.graph
    assert fused.kernels() == view.kernels


def test_reasons_and_regions_are_there_and_edits_say_where_they_are_made() -> None:
    view = wb.FusionInspector(wb.samples.load("attention"), before=KINDS)
    split = next(n.id for n in view.fused.graph.nodes if n.op == "split")
    view.selection = [split]
    view.region = split
    assert "The region" in texts(view.panels["card"])
    assert "made in Relay" in texts(view.panels["card"])
    view.tab = "branches"
    assert "Relax has CombineParallelMatmul" in texts(view.panels["tab"])
    with pytest.raises(WorkbenchError, match="nothing to compare"):
        view.measure()
