"""The first number is the build's: parameters bound as the build has them, its count and its passes beside the pipeline's."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest
from page_driver import Page
from workbench_widget.driving import MERGE, buttons, headline, rows

import workbench as wb
from workbench.errors import WorkbenchError
from workbench.widgets.background import Background
from workbench.widgets.workbench import compiler_build
from workbench.widgets.workbench.compiler_build import CompilerBuild

pytestmark = pytest.mark.one_dialect


@pytest.fixture
def conv(dialect):
    return wb.samples.load("conv_bias_batch_norm")


@pytest.fixture
def opened(conv):
    bench = wb.Workbench(conv, auto_measure=False)
    assert bench.wait()
    yield bench
    bench.cancel()
    bench.close()


def test_parameters_are_as_the_build_has_them(opened, conv, dialect):
    """Relay's build makes constants of them, Relax's takes them as inputs."""
    assert conv.params
    names = [step.name for step in opened.pipeline]
    assert ("BindParams" in names) == any("BindParams" in preset.pipeline for preset in opened.session.catalog.presets)
    assert abs(opened.kernels - wb.count(conv).calls) <= 2
    unbound = wb.trace(conv, str(opened.session.catalog.presets[0].pipeline)).end.graph.kernel_count
    assert opened.kernels <= unbound


def test_the_input_is_shown_while_constants_are_folded(opened, conv, dialect):
    """The number beside it is none before the passes have run."""
    seen = []
    bench = wb.Workbench(conv, "FoldConstant", auto_measure=False)
    bench.observe(lambda change: seen.append(change["new"]["counts"].get("after_kernels")), "state")
    assert bench.wait()
    bench.session.drawing.picture = None
    pictures = bench.seq
    bench.pipeline = "BindParams,FoldConstant"
    assert bench.wait()
    assert bench.seq == pictures + 2
    assert None in seen
    assert seen[-1] == bench.kernels
    bench.close()


def test_input_says_when_the_passes_were_not_run(opened, monkeypatch):
    def failing(*_):
        raise WorkbenchError("there is no such pass")

    opened.session.drawing.picture = None
    with monkeypatch.context() as patch:
        patch.setattr(opened.session.drawing, "_trace", failing)
        opened.pipeline = "BindParams,FoldConstant"
        assert opened.wait()
    assert list(opened.titles) == ["before", "not run"]
    opened.toggle("FoldConstant")
    assert opened.wait()
    assert list(opened.titles) == ["before", "after"]


def test_without_parameters_the_first_preset_is_shown(cast, dialect):
    bench = wb.Workbench(cast, auto_measure=False)
    assert bench.wait()
    assert str(bench.pipeline) == str(wb.Pipeline.parse(bench.session.catalog.presets[0].pipeline))
    assert [step.name for step in wb.trace(cast).steps] == [str(wb.Pipeline([step])) for step in bench.pipeline]
    bench.close()


def test_the_builds_count_is_beside_the_pipelines(opened, conv):
    assert opened.state["build"] == {"kernels": wb.count(conv).calls, "opt_level": 3}
    Page(opened).send("mode", value="context")
    assert opened.state["build"] == {}
    Page(opened).send("mode", value="pipeline")
    assert opened.state["build"]["kernels"] == wb.count(conv).calls


def test_a_build_that_fails_has_its_sentence(conv, dialect, facts):
    bench = wb.Workbench(conv, auto_measure=False, target="llvm -mtriple=foo-bar")
    assert bench.wait()
    assert set(bench.state["build"]) in ({"failed", "opt_level"}, {"kernels", "opt_level"})
    bench.close()


def test_a_count_that_fails_has_its_reason(conv, dialect, monkeypatch):
    failed = SimpleNamespace(status="failed", reason="no build of it runs", calls=0)
    monkeypatch.setattr(compiler_build, "count_config", lambda *_, **__: failed)
    seen = []
    lane = Background("test", seen.append, seen.append)
    build = CompilerBuild(conv, "llvm", seen.append, lane)
    build.count(3)
    assert lane.wait(60)
    assert seen == [{"failed": "no build of it runs", "opt_level": 3}]


def test_a_known_level_cancels_the_count_of_another(conv, dialect, monkeypatch):
    """Level 3, 2 and 3 again shows the number of level 3."""
    gate, seen = threading.Event(), []

    def count(_workload, config, *_, **__):
        assert config.opt_level == 3 or gate.wait(60)
        return SimpleNamespace(status="ok", reason="", calls=config.opt_level)

    monkeypatch.setattr(compiler_build, "count_config", count)
    lane = Background("test", seen.append, seen.append)
    build = CompilerBuild(conv, "llvm", seen.append, lane)
    build.count(3)
    assert lane.wait(60)
    build.count(2)
    build.count(3)
    gate.set()
    assert lane.wait(60)
    assert [found["kernels"] for found in seen] == [3, 3]


def test_a_cancelled_list_is_not_awaited(conv, dialect, monkeypatch):
    gate, seen = threading.Event(), []
    monkeypatch.setattr(CompilerBuild, "_traced", lambda *_: gate.wait(60) and ())
    lane = Background("test", seen.append)
    build = CompilerBuild(conv, "llvm", seen.append, lane)
    build.explain(wb.Pipeline(), 3)
    assert seen[0]["listing"]
    build.cancel()
    gate.set()
    assert lane.wait(60)
    assert not any("listing" in found or "why" in found for found in seen[1:])
    assert len(seen) > 1


def test_passes_of_the_build_that_are_not_here_are_listed(opened, conv, dialect):
    Page(opened).send("build")
    why = opened.state["build"]["why"]
    changed = {step.name for step in wb.trace_build(conv, whole=False).steps if step.changed and step.depth == 0}
    shown = {step.name for step in opened.pipeline if step.enabled}
    runs = {line.split()[3].rstrip(":") for line in why if line.startswith("The build runs ")}
    assert runs <= changed - shown
    Page(opened).send("build")
    assert "why" not in opened.state["build"]
    opened.pipeline = "FoldConstant"
    assert opened.wait()
    # of another pipeline it is another list
    assert "why" not in opened.state["build"]
    opened.explain_build()
    assert opened.wait()
    fusing = "FuseOps"
    assert any(line.startswith(f"The build runs {fusing}:") for line in opened.state["build"]["why"])


def test_unbound_parameters_are_named(conv, dialect):
    bench = wb.Workbench(conv, "FoldConstant", auto_measure=False)
    bench.explain_build()
    assert bench.wait()
    says_so = any("parameters as constants" in line for line in bench.state["build"]["why"])
    assert says_so == any("BindParams" in preset.pipeline for preset in bench.session.catalog.presets)
    bench.close()


def test_a_race_of_two_rows_is_the_headline_and_the_plots_title(bench, page):
    page.click_action("measure-run")
    assert "measure-race" not in buttons(bench.measure_tab)
    assert "faster" not in headline(bench)
    bench.toggle(MERGE)
    page.click_action("measure-run")
    assert buttons(bench.measure_tab)["measure-race"].startswith(f"Race against {rows(bench)[0].config[:50]}")
    assert headline(bench).endswith("not raced, so no difference is claimed")
    page.click_action("measure-race")
    assert bench.state["error"] is None
    assert buttons(bench.measure_tab)["measure-race"] == "Race again"
    found = headline(bench)
    assert found == bench.session.measurements.races[-1].outcome.sentence
    title = next(plot for plot in bench.plots if plot["name"] == "plot-runtime")["text"]
    # a plot breaks lines within long names
    assert "".join(title.split()) == "".join(found.split())


def test_a_race_needs_two_rows_that_ran(bench, page):
    page.click_action("measure-race")
    assert "two configurations" in bench.state["error"]["text"]


def test_a_failed_row_has_its_sentence_in_row_headline_and_plots(cast, dialect, facts):
    bench = wb.Workbench(cast, MERGE, auto_measure=False, target="llvm -mtriple=foo-bar")
    Page(bench).click_action("measure-run")
    (row,) = rows(bench)
    table = next(block for block in bench.measure_tab if block["t"] == "table")
    assert table["rows"][2] == [f"! {facts.bad_triple}: {row.message}"]
    assert bench.state["failed_row"] == {"config": row.config, "status": facts.bad_triple, "message": row.message}
    assert facts.bad_triple in headline(bench)
    for plot in bench.plots:
        assert facts.bad_triple in plot["text"], plot["name"]
    bench.close()


@pytest.mark.long
def test_a_pass_that_is_twice_in_the_pipeline_has_two_ratios(bench, page):
    bench.pipeline = "ToMixedPrecision,ToMixedPrecision"
    assert bench.wait()
    page.open_tab("ablation")
    page.click_action("ablation-time")
    raced = bench.panels["ablation"].rows
    assert len(raced) > 1
    assert all("ratio" in row for row in raced), [row["message"] for row in raced]


@pytest.mark.long
def test_one_pair_has_one_answer_in_measure_and_ablation(bench, page):
    """The newest race of a pair is the one that both tabs speak of."""
    bench.pipeline = MERGE  # the ablation races each pass
    assert bench.wait()
    page.click_action("measure-run")
    bench.toggle(MERGE)
    page.click_action("measure-run")
    bench.toggle(MERGE)
    page.open_tab("ablation")
    page.send("act", what="ablation-time", arg="")
    row = next(row for row in bench.panels["ablation"].rows if row["pass"] == MERGE)
    names = [row.config for row in rows(bench)]
    (found,) = bench.session.measurements.races
    assert {found.a, found.b} == set(names)
    assert headline(bench) == found.outcome.sentence
    assert found.ratio == row["ratio"]
    told = {"yes": "slower", "no": "not slower"}.get(found.answer, "can't tell")
    assert row["verdict"] == told
    page.click_action("measure-race")
    assert bench.state["error"] is None
    row = next(row for row in bench.panels["ablation"].rows if row["pass"] == MERGE)
    assert "ratio" not in row
    table = next(each for each in bench.ablation_tab if each.get("name") == "ablation-table")
    assert any("raced again in the Measure tab" in line for line in table["rows"])
    panel = bench.panels["ablation"]
    assert "ratio" not in panel.kept([{"ratio": 1.0}] * len(panel.rows))[panel.rows.index(row)]
    page.open_tab("ablation")
    assert "so far" in next(each for each in bench.ablation_tab if each.get("name") == "ablation-headline")["text"]
