"""The memory after each pass of a trace, and its plot."""

from __future__ import annotations

import sys
from dataclasses import replace

import matplotlib as mpl

mpl.use("agg")

import pytest
from matplotlib.figure import Figure

import workbench as wb
from workbench.dialects.registry import dialect as door
from workbench.errors import MeasureError
from workbench.experiments import switches
from workbench.plots import peak_by_pass


@pytest.fixture
def passes(dialect, facts):
    return f"FoldConstant,{door(dialect).passes.fusing()}{facts.after_fusion}"


@pytest.fixture
def trace(passes):
    return wb.trace(wb.samples.load("parallel_cast"), passes)


@pytest.fixture
def drawn(monkeypatch):
    """The rows that peak_by_pass gives to the plot."""
    rows = []
    module = sys.modules[peak_by_pass.__module__]
    plot = module.waterfall
    monkeypatch.setattr(module, "waterfall", lambda data, *given, **how: rows.append(data) or plot(data, *given, **how))
    return rows


def test_last_row_is_the_plan_of_the_whole_pipeline(trace, passes, drawn):
    peak_by_pass(trace, Figure().subplots())
    (rows,) = drawn
    assert list(rows["pass"]) == ["input", *passes.split(",")]
    assert rows["peak_bytes"].iloc[-1] == wb.memory(trace.workload, "llvm", passes).peak_bytes
    assert set(rows["status"]) == {"counted"}


@pytest.mark.one_dialect
def test_pass_that_changes_nothing_is_not_counted_again(trace, monkeypatch):
    asked = []
    count = switches.count_config
    monkeypatch.setattr(switches, "count_config", lambda *given, **how: asked.append(given) or count(*given, **how))
    peak_by_pass(trace, Figure().subplots())
    assert len(asked) == 1 + sum(step.changed for step in trace.steps) < 1 + len(trace.steps)


@pytest.mark.one_dialect
def test_passes_that_are_off_have_no_row(passes, drawn):
    first, *others = wb.Pipeline.parse(passes)
    off = wb.Pipeline([replace(first, enabled=False), *others])
    peak_by_pass(wb.trace(wb.samples.load("parallel_cast"), off), Figure().subplots())
    assert list(drawn[0]["pass"]) == ["input", *(step.text for step in others)]


@pytest.mark.one_dialect
def test_state_without_a_count_is_a_note(trace, monkeypatch):
    count = switches.count_config
    last = [step.name for step in trace.steps if step.changed][-1]

    def fails_at_last(workload, config, target, **how):
        if config.name == f"... {last}":
            raise MeasureError("control flow cannot be planned")
        return count(workload, config, target, **how)

    monkeypatch.setattr(switches, "count_config", fails_at_last)
    ax = peak_by_pass(trace, Figure().subplots())
    assert "1 failed" in ax.get_title(loc="left")
    assert any(f"! {last}: failed: control flow cannot be planned" in text.get_text() for text in ax.texts)


@pytest.mark.one_dialect
def test_plot_has_the_peaks(trace):
    ax = Figure().subplots()
    assert peak_by_pass(trace, ax, quiet=True) is ax
    assert ax.get_xlabel() == "bytes held at the peak"
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels[0] == "input"
    assert labels[-1] == "result"


@pytest.mark.one_dialect
def test_trace_of_a_file_is_refused(trace, tmp_path):
    opened = wb.Trace.open(trace.save(tmp_path / "t.wbtrace"))
    with pytest.raises(MeasureError, match="made in this session"):
        peak_by_pass(opened)
