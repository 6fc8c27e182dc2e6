"""TunePanel: what its buttons do, what it says, and that a panel made again goes on from the log."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from page_driver import Page

import workbench as wb
from workbench.errors import WorkbenchError
from workbench.experiments.tuning.evaluate import Evaluator
from workbench.experiments.tuning.run import Run
from workbench.widgets.tuning import blocks as tune_blocks
from workbench.widgets.tuning.blocks import choice, ordered, remark


def named(panel, name):
    return next(block for block in panel.blocks if block.get("name") == name)


def until(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.02)


def buttons(panel):
    return {block["act"]: block["label"] for block in panel.blocks if block["t"] == "act"}


@pytest.fixture
def workload():
    return wb.samples.load("parallel_cast")


@pytest.fixture
def space(workload):
    """Eight candidates, with one among them that has fewer kernels than another."""
    return wb.Space(toggles=wb.Space.switches(workload).toggles[:3])


@pytest.fixture
def counted(monkeypatch):
    """The configurations that were tried, and a gate before each after the first two."""
    tried, gate = [], threading.Event()
    gate.set()
    usual = Evaluator.trial

    def trial(self, number, target, chosen, config):
        assert len(tried) < 2 or gate.wait(60)
        tried.append(config)
        return usual(self, number, target, chosen, config)

    monkeypatch.setattr(Evaluator, "trial", trial)
    return tried, gate


def panel_of(workload, space, log, **how):
    return wb.TunePanel(workload, space, objective="kernels", log=log, **{"check": False, "store": False, **how})


def test_start_pause_stop_and_a_panel_made_again(workload, space, counted, tmp_path):
    tried, gate = counted
    panel = panel_of(workload, space, tmp_path / "log")
    assert panel.wait(60)
    assert buttons(panel) == {"tune-start": "Start"}
    assert tried == []
    gate.clear()
    Page(panel).press("tune-start")
    while len(panel.run.trials) < 2:
        panel.run.wait(0.02)
    Page(panel).press("tune-pause")
    gate.set()
    while panel.run.doing and len(panel.run.trials) < 3:
        panel.run.wait(0.02)
    until(lambda: named(panel, "tune-state")["text"] == "Paused")
    assert buttons(panel)["tune-start"] == "Resume"
    Page(panel).press("tune-stop")
    assert panel.run.wait(60)
    assert panel.wait(60)
    assert buttons(panel)["tune-start"] == "Go on"
    before = len(tried)
    assert 2 <= before < space.size

    again = panel_of(workload, space, tmp_path / "log")
    assert again.wait(60)
    assert buttons(again)["tune-start"] == "Resume from the log"
    assert len(named(again, "tune-table")["rows"]) == before + 1
    Page(again).press("tune-start")
    assert again.wait(60)
    assert again.run.status == "done"
    assert len(tried) == len(set(map(repr, tried))) == len(again.run.trials)
    assert f"{before} of them from the log" in named(again, "tune-counts")["text"]


def test_the_winner_is_told_applied_and_compared(dialect, tmp_path):
    workload = wb.samples.load("parallel_cast")
    panel = panel_of(workload, wb.Space.switches(workload), None, trials=6)
    panel.start()
    assert panel.wait(60)
    best = panel.result.best
    assert f"kernels {best.values['kernels']}" in named(panel, "tune-best")["text"]
    Page(panel).press("tune-apply")
    assert panel.wait(60)
    assert panel.applied is not None
    assert panel.applied.graph.kernel_count == best.values["kernels"]
    assert "panel.applied has" in named(panel, "tune-applied")["text"]
    assert panel.compare().titles == ["as given", "the winner's"]
    Page(panel).press("tune-code")
    assert panel.wait(60)
    names: dict[str, Any] = {}
    exec(named(panel, "tune-python")["text"], names)
    built = wb.load((names["optimized"](workload.module, workload.params), workload.params))
    assert built.graph.kernel_count == best.values["kernels"]
    assert eval(named(panel, "tune-config")["text"]) == best.config
    panel.save(tmp_path / "panel.html")
    assert "tune-best" in (tmp_path / "panel.html").read_text()
    with pytest.raises(WorkbenchError, match="a TunePanel is saved as"):
        panel.save(tmp_path / "panel.png")


def test_a_row_that_is_picked_tells_its_configuration_and_the_table_is_sorted(workload, space):
    panel = panel_of(workload, space, None)
    panel.start()
    assert panel.wait(60)
    kernels = [int(line[2]) for line in named(panel, "tune-table")["rows"][1:]]
    assert kernels == sorted(kernels)
    Page(panel).press("tune-sort", "0")
    assert [line[0] for line in named(panel, "tune-table")["rows"][1:4]] == ["0", "1", "2"]
    Page(panel).press("tune-sort", "0")
    last = panel.run.trials[-1]
    Page(panel).press("tune-pick", named(panel, "tune-table")["args"][0])
    assert eval(named(panel, "tune-config")["text"]) == last.config
    assert any(block.get("text", "").startswith(f"Candidate {last.number}:") for block in panel.blocks)
    # the row's own candidate, though the order has changed between the look and the click
    stale = named(panel, "tune-table")["args"]
    Page(panel).press("tune-sort", "0")
    assert named(panel, "tune-table")["args"] != stale
    Page(panel).press("tune-pick", stale[0])
    assert eval(named(panel, "tune-config")["text"]) == last.config


def test_what_the_page_sets_is_used_and_what_is_wrong_is_told(workload, space):
    panel = panel_of(workload, space, None)
    page = Page(panel)
    page.set("tune-objective", "bytes")
    assert panel.run.objectives == ("bytes",)
    page.set("tune-budget", "-3")
    assert "budget" in named(panel, "tune-trouble")["text"]
    page.set("tune-budget", "20")
    assert panel.run is not None
    page.send("set", name="tune-budget", value=3)
    assert "takes a str" in named(panel, "tune-trouble")["text"]


def test_budget_from_the_page_is_a_finite_number(workload, space):
    panel = panel_of(workload, space, None)
    assert panel.wait(60)
    for seconds in ("nan", "inf", "1e400", "ten"):
        Page(panel).set("tune-budget", seconds)
        assert named(panel, "tune-trouble")["text"] == f"{seconds!r} is not a number of seconds"
        assert named(panel, "tune-budget")["value"] == "60"


def test_stale_click_changes_nothing(workload, space):
    panel = panel_of(workload, space, None, trials=2)
    panel.start()
    assert panel.wait(60)
    before = panel.blocks
    for act in ("tune-pick", "tune-sort"):
        for arg in ("", "x", "-1", "\u00b2", "9" * 5000):
            Page(panel).click_action(act, arg)
            assert panel.blocks == before, (act, arg)


def test_code_is_of_the_candidate_and_not_of_an_earlier_search(workload, space):
    panel = panel_of(workload, space, None, trials=2)
    panel.start()
    assert panel.wait(60)
    page, codes = Page(panel), []
    page.click_action("tune-code")
    for trial in panel.run.trials:
        page.click_action("tune-pick", str(trial.number))
        codes.append(named(panel, "tune-python")["text"])
    assert codes[0] != codes[1]
    page.click_action("tune-code")
    assert all(block.get("name") != "tune-python" for block in panel.blocks)


def test_failure_of_the_follower_is_shown(workload, space, monkeypatch):
    panel = panel_of(workload, space, None, trials=2)
    assert panel.wait(60)
    usual, failures = Run.wait, ["the follower failed"]

    def wait(run, timeout=None):
        if failures and timeout is not None:
            raise RuntimeError(failures.pop())
        return usual(run, timeout)

    monkeypatch.setattr(Run, "wait", wait)
    panel.start()
    assert panel.wait(60)
    assert "the follower failed" in named(panel, "tune-trouble")["text"]


def test_a_log_of_something_else_is_told_in_words(workload, space, tmp_path):
    (tmp_path / "log").write_text("no log\n")
    panel = panel_of(workload, space, tmp_path / "log")
    assert panel.wait(60)
    assert "not a trial log" in named(panel, "tune-trouble")["text"]
    with pytest.raises(WorkbenchError, match="not a trial log"):
        _ = panel.result


def test_what_stays_on_a_page_that_runs_nothing_is_a_sentence_and_the_rows(workload, space, monkeypatch):
    panel = panel_of(workload, space, None)
    assert panel.wait(60)
    assert "not started" in Page(panel).still()
    panel.start()
    assert panel.wait(60)
    kept = Page(panel).still()
    assert kept.count("<tr>") == 1 + len(panel.run.trials)
    assert "The best is" in kept
    monkeypatch.setattr(tune_blocks, "MOST_ROWS", 1)
    kept = Page(panel).still()
    assert kept.count("<tr>") == 2
    assert f"And {len(panel.run.trials) - 1} more." in kept


def test_rows_say_what_is_like_another_and_why_one_may_not_win(workload, space):
    trial = wb.tune(workload, space, objective="kernels", trials=1, check=False, store=False).trials[0]
    like = replace(trial, number=1, like=0, chosen={space.toggles[0]: False})
    lost = replace(trial, number=2, status="failed", reason="it <b>broke</b>\nat length", chosen=space.default)
    assert remark(like).startswith("= 0, the same module")
    assert remark(lost) == "failed: it <b>broke</b>"
    assert [choice(each, space) for each in (trial, like, lost)] == [
        "the compiler's default", f"-{space.toggles[0]}", "nothing changed",
    ]  # fmt: skip
    assert [each.number for each in ordered([lost, like, trial], ["kernels"], 2, True, space)][-1] == 2


def test_a_keyword_that_a_panel_does_not_take_is_refused_when_it_is_made(workload):
    with pytest.raises(TypeError, match="keyword of TunePanel named 'budgett'; did you mean budget"):
        wb.TunePanel(workload, budgett=1)
    assert wb.TunePanel(workload, log=None, height=300).height == 300
