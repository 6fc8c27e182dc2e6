"""FusionInspector's edits, on Relay: what is applied is what TVM then does, what is not says why."""

from __future__ import annotations

import pytest
from page_driver import Page

import workbench as wb
from workbench.analysis.legality import IllegalEdit
from workbench.errors import WorkbenchError

CAST, LEFT, LEFT_RELU, RIGHT, RIGHT_RELU = 1, 2, 3, 6, 7


@pytest.fixture
def view() -> wb.FusionInspector:
    return wb.FusionInspector(wb.samples.load("parallel_cast"))


def built(view: wb.FusionInspector) -> int:
    """Kernels that TVM's own pass makes."""
    assert view.workload is not None
    return wb.trace(view.workload, "FuseOps").end.graph.kernel_count


def test_a_cut_is_one_kernel_more_and_undo_takes_it_back(view: wb.FusionInspector) -> None:
    assert built(view) == view.kernels == 5
    view.cut(LEFT, LEFT_RELU)
    assert built(view) == view.kernels == 6
    assert [edit.applied for edit in view.edited] == [True]
    assert view.undo()
    assert (view.kernels, view.edits) == (5, [])
    assert view.redo()
    assert view.kernels == 6
    assert not view.redo()


def test_the_selection_stays_with_its_nodes_when_a_cut_numbers_them_anew(view: wb.FusionInspector) -> None:
    view.selection = [RIGHT, RIGHT_RELU]
    Page(view).click_action("cut")
    nodes = view.fused.graph.nodes
    assert [nodes[n].op for n in view.selection] == ["cast", "nn.relu"]
    assert view.selection[1] == view.selection[0] + 2
    assert view.status["error"] is None


def test_edits_on_edits_and_one_taken_from_the_middle(view: wb.FusionInspector) -> None:
    view.cut(RIGHT, RIGHT_RELU)
    view.cut(LEFT, LEFT_RELU)
    assert built(view) == view.kernels == 7
    Page(view).click_action("drop", "0")
    assert len(view.edits) == 1
    assert built(view) == view.kernels == 6
    Page(view).click_action("clear")
    assert view.kernels == 5


def test_a_kernel_is_forced_and_a_region_outlined(view: wb.FusionInspector) -> None:
    view.force([LEFT])
    assert view.edited[0].applied
    assert built(view) == view.kernels == 6
    view.undo()
    view.outline([LEFT, LEFT_RELU], "mine.cast_relu")
    assert view.edited[0].applied
    assert [group.name for group in view.fused.graph.groups if group.kind == "composite"] == ["mine.cast_relu"]


def test_what_cannot_be_is_refused_before_it_is_tried(view: wb.FusionInspector) -> None:
    with pytest.raises(IllegalEdit, match="no edge goes from"):
        view.cut(LEFT, RIGHT)
    with pytest.raises(IllegalEdit):
        view.force([LEFT, RIGHT])
    assert (view.edits, view.kernels) == ([], 5)
    view.selection = [LEFT, RIGHT]
    Page(view).click_action("force")
    assert "kernel gives one result" in view.status["error"]["text"]
    offered = {block["act"]: block["off"] for block in view.panels["card"] if block["t"] == "act"}
    assert "no edge goes from" in offered["cut"]
    assert "kernel gives one result" in offered["force"]


def test_an_edit_that_does_not_fit_is_rejected_because(view: wb.FusionInspector) -> None:
    view.edit("CutFusion{edges=[(1, 2)],ops=['exp', 'tanh']}")
    assert view.kernels == 5
    assert "exp" in view.edited[0].reason
    view.tab = "edits"
    row = next(block for block in view.panels["tab"] if block.get("name") == "edits")["rows"][0]
    assert row["small"].startswith("rejected because ")


def test_a_boundary_that_a_change_moves(view: wb.FusionInspector) -> None:
    dense, add = 9, 10
    view.selection = [dense, add]
    assert view.wait(30)
    changes = next(block for block in view.panels["card"] if block.get("name") == "changes")["rows"]
    Page(view).click_action("change", changes[0]["arg"])
    report = view.report
    mine = next(n.id for n in view.fused.graph.nodes if n.op == "add")
    assert any(report.group_of(n.id) is report.group_of(mine) for n in view.fused.graph.nodes if n.op == "nn.dense")
    assert built(view) == view.kernels


def test_passes_run_first_where_fusion_would_fail() -> None:
    view = wb.FusionInspector(wb.samples.load("bert", layers=1))
    assert view.report.failure
    Page(view).click_action("before", "SimplifyInference")
    assert not view.report.failure
    assert built(view) == view.kernels
    with pytest.raises(WorkbenchError):
        view.before = "NoSuchPass"
    assert view.before == "SimplifyInference"


def test_the_code_of_the_view_makes_the_view_again(view: wb.FusionInspector) -> None:
    view.cut(LEFT, LEFT_RELU)
    view.tab = "code"
    code = next(block["text"] for block in view.panels["tab"] if block.get("name") == "python")
    code = code.replace("wb.load(module, params)", "wb.samples.load('parallel_cast')")
    names: dict[str, object] = {}
    exec(code, names)
    assert names["view"].kernels == 6  # pyright: ignore[reportAttributeAccessIssue]


def test_a_copied_test_holds_for_what_is_shown() -> None:
    view = wb.FusionInspector(wb.samples.load("bert", layers=1), before="SimplifyInference", settings={"max_depth": 2})
    dense = next(n.id for n in view.fused.graph.nodes if n.op == "nn.dense")
    for chosen in ([dense], [n.id for n in view.fused.graph.ops]):
        view.selection = chosen
        text = next(block["text"] for block in view.panels["card"] if block.get("name") == "test-code")
        assert "SimplifyInference" in text
        assert "max_depth=2" in text
        exec(text, {"wb": wb, "w": wb.samples.load("bert", layers=1)})


def test_time_and_outputs_as_given_and_with_the_edits(view: wb.FusionInspector) -> None:
    view.cut(LEFT, LEFT_RELU)
    view.measure(budget=0.05)
    assert view.wait(120)
    assert [(row["status"], row["kernels"]) for row in view.rows] == [("ok", 5), ("ok", 6)]
    assert view.outputs == "The outputs are equal, element by element."
    view.undo()
    assert view.rows == []


def test_the_depth_is_the_builds_too(view: wb.FusionInspector) -> None:
    view.settings = {"max_depth": 1}
    view.measure(budget=0.05)
    assert view.wait(120)
    assert [row["kernels"] for row in view.rows] == [view.kernels] == [8]


def test_a_cut_says_what_it_holds_apart_and_is_not_offered_where_it_does_nothing(view: wb.FusionInspector) -> None:
    view.selection = [LEFT, LEFT_RELU]
    Page(view).click_action("cut")
    assert "A cut keeps cast (node 2) and nn.relu (node 4) apart." in str(view.panels["card"])
    Page(view).click_action("undo")
    view.selection = [LEFT_RELU, 5]
    Page(view).click_action("cut")
    assert "two kernels already" in view.status["error"]["text"]
    assert view.edits == []
