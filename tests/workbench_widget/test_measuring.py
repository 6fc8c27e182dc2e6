"""Rows and plots of what was tried, and the tabs that Python fills."""

from __future__ import annotations

import time

import pytest
from page_driver import Page
from workbench_widget.driving import MERGE, PIPELINE, rows

import workbench as wb
from workbench.errors import UnknownName
from workbench.measurement.row import Row
from workbench.pipeline import run
from workbench.pipeline.config import Config
from workbench.widgets import blocks
from workbench.widgets.background import Work
from workbench.widgets.workbench import passes_panels
from workbench.widgets.workbench.session import Measurements
from workbench.worker.parent import UNASKED, worker

pytestmark = pytest.mark.one_dialect


def test_each_configuration_tried_is_a_row_once_and_the_plots_fill(cast, dialect):
    bench = wb.Workbench(cast, PIPELINE[dialect], budget=0.02)
    assert bench.wait()
    bench.toggle(MERGE)
    assert bench.wait()
    bench.toggle(MERGE)
    assert bench.wait()
    assert [row.status for row in rows(bench)] == ["ok", "ok"], rows(bench)
    table = next(block for block in bench.measure_tab if block["t"] == "table")
    assert table["marked"] == [0], "the present configuration"
    assert [line[1] for line in table["rows"][1:]] == [str(count) for count in bench.rows["kernels"]]
    assert bench.rows["kernels"][0] < bench.rows["kernels"][1]
    assert [plot["name"] for plot in bench.plots] == ["plot-kernels", "plot-runtime"]
    assert all(svg.startswith("<?xml") for plot in bench.plots for svg in plot["svg"])
    assert ["samples after warm-up" in tip for tip in table["tips"]] == [True, True], "also without a click"
    assert "samples" in bench.rows
    Page(bench).click_action("measure-clear")
    assert rows(bench) == []
    bench.close()


def test_measuring_again_keeps_one_row(bench, page):
    page.click_action("measure-run")
    page.click_action("measure-run")
    assert [row.status for row in rows(bench)] == ["ok"]


def test_a_measurement_asked_for_at_once_after_a_toggle_measures_what_is_chosen(bench, page):
    page.click_action("measure-run")
    bench.toggle(MERGE)
    bench.measure()
    assert bench.wait()
    found = {row.config: row for row in rows(bench)}
    assert [row.status for row in found.values()] == ["ok", "ok"]
    assert found[bench.session.config.label].kernels == bench.kernels


def test_a_configuration_whose_turn_never_came_is_measured_when_it_is_chosen_again(cast, dialect):
    bench = wb.Workbench(cast, PIPELINE[dialect], budget=0.02)
    for _ in range(4):
        bench.toggle(MERGE)
        bench.session.drawing.wait(60)
    assert bench.wait()
    assert {row.status for row in rows(bench)} <= {"ok", "cancelled"}
    bench.toggle(MERGE)
    assert bench.wait()
    bench.toggle(MERGE)
    assert bench.wait()
    assert [row.status for row in rows(bench)] == ["ok", "ok"]
    bench.close()


def test_cancel_leaves_nothing_pending(bench, page):
    page.press("measure-run")
    page.post({"type": "cancel"})
    assert bench.wait()
    assert bench.state["busy"] is None
    assert not {row.status for row in rows(bench)} & {"pending", "running"}
    assert bench.state["error"] is None


def test_a_build_that_fails_or_ends_its_process_is_a_row_that_says_so(cast, dialect, facts):
    bench = wb.Workbench(cast, PIPELINE[dialect], auto_measure=False, target="llvm -mtriple=foo-bar")
    Page(bench).click_action("measure-run")
    (row,) = rows(bench)
    assert row.status == facts.bad_triple
    assert row.message
    bench.close()


def test_measured_rows_are_sorted_and_opened(bench, page):
    page.click_action("measure-run")
    bench.toggle(MERGE)
    page.click_action("measure-run")

    def lines():
        return next(block for block in bench.measure_tab if block["t"] == "table")["rows"][1:]

    kernels = [line[1] for line in lines()]
    assert kernels == sorted(kernels)
    orders = []
    for _ in range(3):
        page.click_action("measure-sort", "1")
        orders.append([line[1] for line in lines()])
    assert orders == [kernels, kernels[::-1], kernels]
    page.click_action("measure-row", "1")
    assert len(lines()) == 3
    assert "after warm-up" in lines()[2][0]
    assert block(bench, "measure", "rows")["opened"] == ["1"]
    for what in ("measure-row", "measure-sort"):
        for arg in ("", "99999", "-1", "x"):
            page.click_action(what, arg)
    assert len(lines()) == 3
    page.click_action("measure-row", "1")
    assert len(lines()) == 2


def test_rows_of_several_targets_are_sorted_by_target(bench, page):
    for config, target in (("first", "llvm"), ("Second", "cuda"), ("third", "opencl")):
        bench.session.measurements._set(Config(name=config), Row(config, target, target, "", status="not measured"))

    def column(place):
        return [line[place] for line in block(bench, "measure", "rows")["rows"][1:] if len(line) > 1]

    page.click_action("measure-sort", "5")
    assert block(bench, "measure", "rows")["sorted"] == 5
    assert column(5) == ["cuda", "llvm", "opencl"]
    page.click_action("measure-sort", "0")
    assert column(0) == ["first", "Second", "third"], "as a reader sorts words"


def test_rows_that_are_measured_after_a_clear_are_closed(bench, page):
    for _ in range(2):
        page.click_action("measure-run")
        assert len(block(bench, "measure", "rows")["rows"]) == 2
        page.click_action("measure-row", "0")
        assert len(block(bench, "measure", "rows")["rows"]) == 3
        page.click_action("measure-clear")


def test_a_second_click_does_not_begin_the_measurement_again(bench, page):
    with worker()._free:  # another job is running
        page.press("measure-run")
        deadline = time.monotonic() + 60
        while [row.status for row in rows(bench)] != ["running"]:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        page.press("measure-run")
        assert [row.status for row in rows(bench)] == ["running"]
    assert bench.wait()
    assert [row.status for row in rows(bench)] == ["ok"]


def block(bench, tab, name):
    """The block of that name."""
    return next(found for found in getattr(bench, f"{tab}_tab") if found.get("name") == name)


def opened(bench, tab):
    Page(bench).open_tab(tab)
    return bench


def test_a_tab_is_made_when_somebody_looks(bench):
    assert bench.kernels_tab == []
    opened(bench, "kernels")
    rows = block(bench, "kernels", "kernels-table")["rows"]
    assert len(rows) == 1 + bench.kernels
    assert bench.waterfall_tab == []
    bench.toggle(MERGE)
    assert bench.wait()
    assert len(block(bench, "kernels", "kernels-table")["rows"]) == 1 + bench.kernels > len(rows)
    assert bench.state["busy"] is None
    with pytest.raises(UnknownName, match="waterfal"):
        bench.open_tab("waterfal")
    bench.open_tab("memory")
    # the page shows what the trait names
    assert bench.tab == "memory"


@pytest.mark.parametrize("name", ["kernels", "memory", "waterfall", "ablation"])
def test_opened_tab_names_its_work_at_once_and_offers_it_again_after_cancel(bench, page, name):
    trait, work = f"{name}_tab", bench.panels[name].doing
    with worker()._free, worker(UNASKED)._free:  # jobs are running in both children that count
        page.change(tab=name)
        assert getattr(bench, trait)[0]["text"] == f"{work} \u2026"
        assert bench.state["busy"]["what"].startswith(work)
        page.send("cancel")
    assert bench.state["busy"] is None
    assert [block.get("text") or block["act"] for block in getattr(bench, trait)] == [
        f"{work} was cancelled.",
        f"{name}-again",
    ]
    page.click_action(f"{name}-again")
    assert len(getattr(bench, trait)) > 2


def test_a_line_of_the_kernels_selects_its_nodes_and_selected_nodes_mark_their_line(bench, page):
    opened(bench, "kernels")
    kernel = block(bench, "kernels", "kernels-table")["args"][1]
    page.send("act", what="kernels-row", arg=kernel)
    chosen = bench.selection["after"]
    assert chosen
    assert block(bench, "kernels", "kernels-table")["marked"] == [1]
    page.send("act", what="kernels-sort", arg="0")
    page.send("act", what="kernels-row", arg=kernel)
    assert bench.selection["after"] == chosen


def test_an_argument_that_is_not_in_the_table_changes_nothing(bench, page):
    opened(bench, "kernels")
    before = bench.kernels_tab
    for what in ("kernels-row", "kernels-sort"):
        for arg in ("", "99999", "-1", "x"):
            page.send("act", what=what, arg=arg)
            assert (bench.kernels_tab, bench.selection["after"], bench.state["error"]) == (before, [], None), (
                what,
                arg,
            )


def test_kernels_are_sorted_and_found_by_what_is_typed(bench, page):
    opened(bench, "kernels")
    everything = block(bench, "kernels", "kernels-table")["rows"][1:]
    page.send("act", what="kernels-sort", arg="0")
    assert block(bench, "kernels", "kernels-table")["rows"][1:] == everything[::-1]
    page.send("set", name="kernels-filter", value="RELU")
    found = block(bench, "kernels", "kernels-table")["rows"][1:]
    assert found
    assert len(found) < len(everything)
    assert all("relu" in " ".join(row) for row in found)


def test_bytes_lie_on_the_graph_and_go_with_another_choice(bench, page):
    opened(bench, "kernels")
    page.send("set", name="kernels-overlay", value="bytes")
    after = bench.overlay_state["after"]
    assert len(after.get("groups", {})) + len(after["values"]) == bench.kernels
    page.send("set", name="kernels-overlay", value="us")
    assert bench.overlay_state == {}
    assert "when the kernels were timed" in block(bench, "kernels", "kernels-summary")["text"]


def test_timed_kernels_have_a_time_and_a_share_in_table_plot_and_graph(bench, page):
    opened(bench, "kernels")
    page.send("set", name="kernels-overlay", value="us")
    page.send("act", what="kernels-time", arg="")
    rows = block(bench, "kernels", "kernels-table")["rows"][1:]
    assert all(row[-2].endswith("s") and row[-1].endswith("%") for row in rows)
    assert "of the kernels' time" in block(bench, "kernels", "plot-kernels-tab")["text"]
    assert bench.overlay_state["unit"] == "µs"
    for plot in ("kernel", "handovers", "overhead", "roofline"):
        page.send("set", name="kernels-plot", value=plot)
        assert block(bench, "kernels", "plot-kernels-tab")["svg"]


def test_the_waterfall_is_counted_at_once_and_follows_what_is_chosen(bench, cast):
    opened(bench, "waterfall")
    rows = block(bench, "waterfall", "waterfall-table")["rows"][1:]
    assert [row[0] for row in rows] == ["input", *(step.name for step in bench.pipeline)]
    assert int(rows[-1][1]) == bench.kernels < int(rows[0][1])
    bench.toggle(MERGE)
    assert bench.wait()
    rows = block(bench, "waterfall", "waterfall-table")["rows"][1:]
    assert MERGE not in [row[0] for row in rows]
    assert int(rows[-1][1]) == bench.kernels


def test_the_ablation_counts_without_each_pass_that_changes_something(bench, page):
    whole = bench.kernels
    opened(bench, "ablation")
    rows = {row[0]: row for row in block(bench, "ablation", "ablation-table")["rows"][1:]}
    assert int(rows["all passes, against themselves"][1]) == whole
    assert int(rows[f"without {MERGE}"][1]) > whole
    page.send("mode", value="context")
    compilers = {row[0] for row in block(bench, "ablation", "ablation-table")["rows"]}
    assert "all passes, against themselves" in compilers != set(rows)


def test_tabs_use_the_passes_that_the_picture_ran(bench, monkeypatch):
    ran = []
    monkeypatch.setattr(run, "applied", lambda *given, usual=run.applied, **how: ran.append(1) or usual(*given, **how))
    opened(bench, "waterfall")
    assert ran == []
    opened(bench, "ablation")
    changing = [place for place, state in enumerate(bench.state["passes"]) if state["status"] == "changed"]
    # without a pass, those after it
    assert 0 < len(ran) <= sum(len(bench.pipeline) - 1 - place for place in changing)


@pytest.mark.parametrize("seconds", [float("inf"), -1.0])
def test_plot_of_rows_that_come_is_drawn_once_in_some_seconds(bench, monkeypatch, seconds):
    made = []
    monkeypatch.setattr(passes_panels, "OFTEN", seconds)
    monkeypatch.setattr(
        passes_panels, "picture", lambda *given, **how: made.append(how["finished"]) or blocks.picture(*given, **how)
    )
    opened(bench, "waterfall")
    rows = len(block(bench, "waterfall", "waterfall-table")["rows"]) - 1
    assert made == [False] * (rows if seconds < 0 else 0) + [True]
    assert block(bench, "waterfall", "plot-waterfall")["svg"]


def test_what_a_tab_cannot_do_is_said_in_it(cast, dialect):
    bench = wb.Workbench(cast, PIPELINE[dialect], auto_measure=False, target="llvm -mtriple=foo-bar")
    assert bench.wait()
    opened(bench, "kernels")
    assert block(bench, "kernels", "kernels-trouble")["text"]
    assert bench.state["error"] is None
    bench.close()


def test_rival_is_another_build(bench, monkeypatch):
    """A race of equal builds gives no answer."""
    one, same, other = Config(name="a", pipeline="A"), Config(name="b", pipeline="A,-B"), Config(name="c", pipeline="B")
    measures = Measurements(bench.workload, "llvm", 0.1, Work(print))
    measured = {config: Row("", "", "", "", "ok") for config in (one, same)}
    monkeypatch.setattr(measures, "all", lambda: measured)
    assert measures.rival(same) is None
    measured[other] = Row("", "", "", "", "ok")
    assert measures.rival(same) == other
