"""The pipeline of a Workbench: toggled, moved, undone, stepped through."""

from __future__ import annotations

import shutil
import time

import pytest
from widgets.saved import saved_values
from workbench_widget.driving import MERGE, PIPELINE, run_code, statuses

import workbench as wb
from workbench.errors import UnknownName, WorkbenchError
from workbench.pipeline.run import Runner

pytestmark = pytest.mark.one_dialect


def test_it_opens_with_the_whole_pipeline_before_and_after(bench, cast):
    assert bench.state["error"] is None
    assert bench.state["busy"] is None
    assert bench.state["passes"][0]["merged"] >= 1
    assert bench.state["counts"]["before_nodes"] == len(cast.graph.nodes)
    assert bench.seq == 1
    assert [row["name"] for row in bench.state["passes"]] == [step.name for step in bench.pipeline]


def test_save_right_after_construction_writes_the_picture(cast, dialect, tmp_path):
    bench = wb.Workbench(cast, PIPELINE[dialect], auto_measure=False)
    values = saved_values(bench.save(tmp_path / "x.html"))
    assert values["after"]["node"]["kind"]
    assert bench.wait(60)


def test_save_right_after_a_toggle_writes_the_picture_of_the_new_choice(bench, tmp_path):
    before = bench.kernels
    bench.toggle(MERGE)
    saved = saved_values(bench.save(tmp_path / "x.html"))
    assert saved["state"]["counts"]["after_kernels"] > before


def test_toggling_from_python_and_from_the_page_do_the_same(bench, page):
    merged = bench.kernels
    bench.toggle(MERGE)
    assert bench.kernels > merged
    assert bench.state["passes"][0]["status"] == "off"
    page.send("toggle", index=0, enabled=True)
    assert bench.kernels == merged
    assert bench.seq == 3


def test_undo_and_redo_go_through_what_was_chosen(bench, page):
    first = str(bench.pipeline)
    page.send("toggle", index=0, enabled=False)
    second = str(bench.pipeline)
    page.send("undo")
    assert bench.state["pipeline_text"] == first
    page.send("redo")
    assert bench.state["pipeline_text"] == second
    page.send("redo")
    assert bench.state["pipeline_text"] == second


def test_a_step_shows_one_pass_and_minus_one_the_whole(bench, page):
    whole = bench.state["counts"]
    page.send("step", index=0)
    assert bench.titles == [f"before {MERGE}", f"after {MERGE}"]
    assert bench.state["step"] == 0
    page.send("step", index=-1)
    assert bench.state["counts"] == whole


def test_passes_are_moved_replaced_by_a_preset_and_assigned_as_text(bench, page):
    page.send("move", index=0, to=1)
    assert bench.pipeline[1].name == MERGE
    page.send("preset", name=bench.state["presets"][0]["name"])
    assert len(bench.pipeline) > 2
    assert bench.state["error"] is None
    bench.pipeline = MERGE
    assert bench.wait()
    assert statuses(bench) == ["changed"]


def test_a_step_chosen_while_passes_run_does_not_lose_the_choice(bench, page):
    def slow(module):
        time.sleep(0.3)
        return module

    bench.pipeline = wb.Pipeline([slow, MERGE])
    page.send("step", index=1)
    assert statuses(bench) == ["same", "changed"]
    assert bench.titles == [f"before {MERGE}", f"after {MERGE}"]


def test_code_gives_what_is_shown(bench, page):
    names = run_code(bench)
    assert wb.diff(names["t"].end.graph, bench.trace.end.graph).empty
    assert list(names["df"]["kernels"]) == [bench.kernels]
    page.send("mode", value="context")
    names = run_code(bench)
    # the code's trace is that of a whole build, which goes on after the graph that is shown
    last = bench.trace.steps[-1].name
    shown = next(step for step in reversed(names["t"].steps) if step.name == last)
    assert wb.diff(shown.after, bench.trace.end.graph).empty
    assert names["k"].calls == bench.kernels


def test_a_pass_that_fails_is_shown_in_its_place_and_the_rest_stands(bench):
    def fails(module):
        raise RuntimeError("not today")

    bench.pipeline = wb.Pipeline([MERGE, fails])
    assert bench.wait()
    assert statuses(bench) == ["changed", "error"]
    assert "not today" in bench.state["error"]["text"]
    assert bench.state["counts"]["merged"] >= 1


def test_a_pipeline_that_cannot_run_keeps_the_last_picture_and_says_why(bench, page):
    before, counts = bench.after, bench.state["counts"]
    bench.pipeline = "NoSuchPass"
    assert bench.wait()
    assert "NoSuchPass" in bench.state["error"]["text"]
    assert bench.after == before
    assert bench.state["counts"] == counts
    with pytest.raises(WorkbenchError, match="NoSuchPass"):
        bench.trace  # noqa: B018
    page.send("undo")
    assert bench.state["error"] is None


def test_error_that_no_pass_gave_is_that_of_the_trace(cast, monkeypatch):
    def fails(*_args, **_options):
        raise RuntimeError("the runner broke")

    monkeypatch.setattr(Runner, "run", fails)
    bench = wb.Workbench(cast, MERGE, auto_measure=False)
    assert bench.wait()
    assert "the runner broke" in bench.state["error"]["text"]
    with pytest.raises(WorkbenchError, match="the runner broke"):
        bench.trace  # noqa: B018


def test_title_of_one_side_alone_is_refused(bench):
    with pytest.raises(WorkbenchError, match="titles"):
        bench.titles = ["before"]


def test_another_function_of_the_same_name_is_another_choice(bench):
    def passes(first):
        return wb.Pipeline([lambda module: module]) if first else wb.Pipeline([lambda module: 1 / 0])

    bench.pipeline = passes(True)
    assert bench.wait()
    bench.pipeline = passes(False)
    assert bench.wait()
    assert statuses(bench) == ["error"]


def test_an_unknown_pass_to_toggle_offers_what_is_there(bench):
    with pytest.raises(UnknownName, match="FuseOps"):
        bench.toggle("FuseOp")


def test_of_many_toggles_the_newest_is_shown(bench):
    for _ in range(7):
        bench.toggle(MERGE)
    assert bench.wait()
    assert bench.state["passes"][0]["status"] == "off"
    assert bench.state["pipeline_text"].startswith(f"-{MERGE}")
    assert bench.state["busy"] is None


@pytest.mark.skipif(not shutil.which("dot"), reason="needs Graphviz")
def test_still_has_a_picture_though_no_page_draws_one(bench, monkeypatch, page):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda data, **how: shown.append(data["text/html"]))
    bench._ipython_display_()
    was = shown[-1]
    bench.toggle(MERGE)
    assert bench.wait()
    assert "<img src=" in shown[-1]
    assert shown[-1] != was
    count = len(shown)
    page.post({"type": "still", "picture": "data:image/png;base64,AAAA"})
    bench.toggle(MERGE)
    assert bench.wait()
    assert [markup.count("data:image/png;base64,AAAA") for markup in shown[count:]] == [1], "the page draws its own"
