"""The effect of each pass here, and the pass that changed the outputs."""

from __future__ import annotations

import pytest
from page_driver import Page
from workbench_widget.driving import MERGE, names, statuses

import workbench as wb
from workbench.widgets.workbench import explore_panel

pytestmark = pytest.mark.one_dialect


def test_exploring_lists_what_every_pass_would_do_and_a_row_can_be_previewed_and_added(bench, page, monkeypatch):
    monkeypatch.setattr(
        explore_panel, "explore", lambda workload, **at: wb.explore(workload, [MERGE, "FoldConstant"], **at)
    )
    assert bench.exploration is None
    bench.open_tab("explore")
    page.click_action("explore-try")
    assert (bench.exploration.total, bench.exploration.done) == (2, True)
    said, table = bench.explore_tab[-2:]
    assert said["text"] == "at the start: 1 of 2 would change it"
    (head, line), (name,) = table["rows"], table["args"]
    assert name == line[0] == MERGE
    assert line[head.index("Nodes")].startswith("\u2212")
    page.set("explore-all", "true")
    assert bench.explore_tab[-1]["rows"][-1] == ["FoldConstant", "changes nothing"]
    page.click_action("explore-preview", MERGE)
    assert bench.state["preview"] == MERGE
    assert bench.titles[1] == f"after {MERGE} (preview)"
    assert bench.explore_tab[-1]["marked"] == [0]
    page.click_action("explore-add", MERGE)
    assert bench.state["preview"] is None
    assert bench.explore_tab[-1]["marked"] == []
    assert names(bench)[:2] == [MERGE, MERGE]


def test_the_place_is_that_of_the_step_shown_until_another_is_chosen(bench, page):
    def place():
        return next(block["value"] for block in bench.explore_tab if block.get("name") == "explore-place")

    bench.open_tab("explore")
    assert place() == "-1"
    page.send("step", index=1)
    assert place() == "1"
    page.set("explore-place", "0")
    assert place() == "0"
    for wrong in ("99", "-2", "x"):
        page.set("explore-place", wrong)
        assert place() == "0"
    page.send("step", index=2)
    assert place() == "2"
    page.send("mode", value="context")
    assert place() == "-1"


def test_a_preview_of_what_was_not_found_to_change_anything_is_refused(bench, page):
    page.click_action("explore-preview", MERGE)
    assert "explore first" in bench.state["error"]["text"]


def test_exploring_can_be_given_up_and_goes_on_where_it_stopped(bench, page):
    page.send("step", index=0)
    page.press("explore-try")
    page.post({"type": "cancel"})
    assert bench.wait()
    stopped = bench.exploration
    assert len(stopped.rows) < stopped.total
    page.press("explore-try")
    assert bench.exploration is stopped
    page.send("cancel")


def test_after_a_python_function_nothing_can_be_explored_and_that_is_said(bench, page):
    bench.pipeline = wb.Pipeline([lambda module: module])
    page.send("step", index=0)
    page.click_action("explore-try")
    assert "function" in bench.state["error"]["text"]


def test_checking_marks_the_steps_that_changed_something(bench, page):
    page.send("check")
    changed = {str(i) for i, status in enumerate(statuses(bench)) if status == "changed"}
    assert set(bench.checks) == changed
    assert {check["status"] for check in bench.checks.values()} == {"same"}
    assert bench.state["busy"] is None
    bench.toggle(MERGE)
    assert bench.checks == {}
    assert bench.wait()


PROGRAM = {
    "relay": """#[version = "0.0.5"]
def @main(%x: Tensor[(4, 4), float32]) {{ add({op}(%x), %x) }}""",
    "relax": """# from tvm.script import ir as I
# from tvm.script import relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 4), dtype="float32")) -> R.Tensor((4, 4), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((4, 4), dtype="float32") = R.{op}(x)
            gv: R.Tensor((4, 4), dtype="float32") = R.add(lv, x)
            R.output(gv)
        return gv
""",
}


def test_a_step_that_changed_the_answer_says_so_and_its_first_node_is_selected(dialect, monkeypatch):
    other = wb.load(PROGRAM[dialect].format(op="tanh"))

    def wrong(module):
        return other.module

    bench = wb.Workbench(wb.load(PROGRAM[dialect].format(op="exp")), [wrong], auto_measure=False)
    assert bench.wait()
    Page(bench).send("check")
    check = bench.checks["0"]
    assert check["status"] == "different", check
    assert "differ" in check["text"]
    sent: list[set[str]] = []
    monkeypatch.setattr(bench, "send_state", lambda key=None: sent.append(set(key or ())))
    Page(bench).send("step", index=0)
    assert bench.selection == {"before": [check["first"][0]], "after": [check["first"][1]]}
    together = [names for names in sent if "selection" in names]
    assert len(together) == 1
    assert {"seq", "titles"} <= together[0], "a selection is of the picture that it comes with"
    bench.close()
