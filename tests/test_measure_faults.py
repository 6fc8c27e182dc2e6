"""What can befall a measurement is a row with its reason, and the next measurement works; on every dialect."""

from __future__ import annotations

import html
import re
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

import workbench as wb
from workbench.cli import main
from workbench.dialects.registry import dialect as door
from workbench.worker.parent import Progress, worker

pytestmark = pytest.mark.one_dialect

MIB = 1 << 20


def part(name: str) -> ModuleType:
    """A module of workbench.measurement: `wb.measure` itself is the function."""
    return import_module(f"workbench.measurement.{name}")


def small() -> wb.Workload:
    return wb.samples.load("mlp", layers=1, width=4)


@pytest.fixture
def faulty(dialect: str, jobs: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The child does what the names of configurations say, `crash in the build`."""
    usual = worker().run

    def run(job: str, *given: Any, **how: Any) -> Any:
        return usual(f"timing_jobs_that_fail:{job}" if job in ("build", "run") else job, *given, **how)

    monkeypatch.setattr(worker(), "run", run)
    worker().stop()
    yield
    worker().stop()


def test_each_fault_is_a_row_and_the_next_one_is_measured(faulty: None) -> None:
    names = ("crash in the build", "fine", "hang in the run", "gulp in the build", "eat in the run", "fine again")
    rows = wb.measure(
        small(),
        [{"name": name, "opt_level": 0} for name in names],
        budget=0.02,
        timeout=4.0,
        memory=700 * MIB,
        check=False,
    )
    assert dict(zip(rows.config, rows.status, strict=True)) == {
        "crash in the build": "crashed",
        "fine": "ok",
        "hang in the run": "timeout",
        "gulp in the build": "out of memory",
        "eat in the run": "out of memory",
        "fine again": "ok",
    }
    said = dict(zip(rows.config, rows.message, strict=True))
    assert "SIGSEGV" in said["crash in the build"]
    assert "no result within 4 s" in said["hang in the run"]
    assert "memory" in said["eat in the run"]
    # what was found out before a row ended is kept
    counts = dict(zip(rows.config, rows.kernels, strict=True))
    assert counts["hang in the run"] == counts["fine"] > 0
    assert counts["crash in the build"] is pd.NA


def test_a_cancel_ends_what_runs_and_what_waits(faulty: None) -> None:
    told: list[str] = []
    rows = wb.measure(
        small(),
        [{"name": "hang in the build"}, {"name": "never begun"}],
        progress=lambda what, fraction: told.append(what),
        cancelled=lambda: any("hanging" in what for what in told),
        check=False,
    )
    assert list(rows.status) == ["cancelled", "cancelled"]
    assert list(wb.measure(small(), [0], budget=0.02, check=False).status) == ["ok"]


def test_a_pass_that_changes_the_answer_is_wrong_and_has_times(dialect: str) -> None:
    workload = small()
    other = wb.load(small().module, {name: -value.numpy() - 1 for name, value in workload.params.items()})
    bound = door(dialect).frontend.bind(other.module, other.params)

    def lie(module):
        return bound

    rows = wb.measure(workload, [wb.Pipeline([lie]), 0], budget=0.02)
    assert list(rows.status) == ["wrong", "ok"]
    assert list(rows.check) == ["wrong", "ok"]
    assert rows.median_us.notna().all()
    assert rows.max_rel_error[0] > 0.01
    assert "values differ" in rows.message[0]


def test_a_workload_without_a_reference_is_not_checked_and_says_why(
    dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> str:
        return "the reference could not be computed: it does not compile"

    monkeypatch.setattr(part("build_and_time"), "_write_reference", refuse)
    row = wb.measure(small(), [0], budget=0.02).iloc[0]
    assert row.status == "ok"
    assert row.check == "not checked: the reference could not be computed: it does not compile"


def test_the_reference_is_computed_once(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: list[str] = []
    run = worker().run

    def listed(job: str, *given: object, **how: object) -> object:
        jobs.append(job)
        return run(job, *given, **how)

    monkeypatch.setattr(worker(), "run", listed)
    workload = small()
    wb.measure(workload, [0, 3], budget=0.02)
    wb.measure(workload, [1], budget=0.02)
    assert jobs.count("reference") == 1
    wb.measure(workload, [1], budget=0.02, seed=7)
    assert jobs.count("reference") == 2


def test_kernels_are_timed_one_by_one(dialect: str) -> None:
    workload = wb.samples.load("parallel_cast")
    row = wb.measure(workload, [3], budget=0.05, per_kernel=True).iloc[0]
    calls = wb.kernels(workload).table
    assert [kernel["function"] for kernel in row.per_kernel] == list(calls[~calls.noop].function)
    assert [kernel["index"] for kernel in row.per_kernel] == list(calls[~calls.noop].index)
    assert sum(kernel["share"] for kernel in row.per_kernel) == pytest.approx(1.0)
    assert row.kernels_sum_us == pytest.approx(sum(kernel["median_us"] for kernel in row.per_kernel))
    assert row.overhead_us == pytest.approx(row.median_us - row.kernels_sum_us)
    assert "time_evaluator" in row.kernel_method


def test_a_race_answers_and_shows_how_it_came_to_that(dialect: str) -> None:
    workload = wb.samples.load("parallel_cast")
    same = wb.race(workload, 3, {"name": "the same", "opt_level": 3}, budget=0.3)
    assert same.rounds == len(same.samples_b) >= 10
    assert same.low <= same.ratio <= same.high
    assert same.target.startswith("llvm -mcpu=")
    # whichever of them this machine allows just now
    ratio = f"= {same.ratio:.3f}, "
    answers = (f"{ratio}95 % interval", f"{ratio}too few rounds for an interval", "too noisy just now: A/A gave")
    assert any(said in str(same) for said in answers), str(same)
    assert len(same.noise) == 1
    assert html.escape(str(same)[:20]) in same._repr_html_()


def test_cuda_is_counted_and_says_exactly_why_it_is_not_measured(dialect: str) -> None:
    import tvm

    if tvm.cuda(0).exist:
        pytest.skip("there is a GPU here")
    row = wb.measure(small(), [3], ["cuda -arch=sm_80"], budget=0.02).iloc[0]
    assert row.status == "not measured"
    assert row.message in (
        "this TVM was built without CUDA; install one that has it to time CUDA code",
        "no CUDA device: no NVIDIA driver is installed here (libcuda.so.1 was not found)",
    )
    assert row.device == "cuda"
    assert row.kernels > 0
    assert row.median_us is None


def test_a_row_has_every_column_and_is_kept(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.measurement.row import COLUMNS

    kept: list[Any] = []
    monkeypatch.setattr(part("measure"), "append", kept.append)
    rows = wb.measure(small(), [0, {"disabled": "Nosuch"}], budget=0.02)
    assert isinstance(rows.to_dict("records")[0]["kernels"], int)
    assert list(rows.columns) == list(COLUMNS)
    assert [row.status for row in kept] == ["ok", "failed"]
    assert rows.run.nunique() == 1
    assert rows.workload_hash.nunique() == 1
    assert wb.measure(small(), [0], budget=0.02, store=False).shape[0] == 1
    assert len(kept) == 2


def ctrl_c(during: str) -> Progress:
    """A progress that sends this process Ctrl-C when a step begins."""

    def progress(what: str, _fraction: float | None) -> None:
        if during in what:
            signal.raise_signal(signal.SIGINT)

    return progress


def test_interrupted_measure_gives_its_rows(dialect: str) -> None:
    rows = wb.measure(small(), [0, 1, 3], budget=0.02, progress=ctrl_c("(2 of 3)"))
    assert list(rows["status"]) == ["ok", "interrupted", "interrupted"]
    assert list(rows["config"]) == ["opt 0", "opt 1", "opt 3"]
    assert list(rows["median_us"].notna()) == [True, False, False]
    assert "call wb.measure again" in rows["message"][1]
    assert worker()._child is None, "the child is at work"
    assert len(wb.history(small()).query("run == @rows.run[0]")) == 1, "only what was measured is kept"
    assert list(wb.measure(small(), [1], budget=0.02)["status"]) == ["ok"]


def test_interrupted_command_prints_its_rows(
    dialect: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usual, rows = part("measure").measured, []

    def second_is_interrupted(*given: Any) -> dict[str, Any]:
        if rows:
            signal.raise_signal(signal.SIGINT)
        rows.append(usual(*given))
        return rows[-1]

    monkeypatch.setattr(part("measure"), "measured", second_is_interrupted)
    assert main(["measure", "sample:mlp", "-c", "0", "-c", "3", "--budget", "0.02"]) == 130
    out, err = capsys.readouterr()
    assert re.findall(r" (ok|interrupted) ", out)[:2] == ["ok", "interrupted"]
    assert "interrupted" in err


def test_interrupted_measure_on_an_executor_gives_a_row_each(dialect: str) -> None:
    with ProcessPoolExecutor(1, get_context("spawn")) as executor:
        rows = wb.measure(small(), [0, 3], budget=0.02, executor=executor, progress=ctrl_c("Loading"))
    assert list(rows["status"]) == ["interrupted", "interrupted"]


@pytest.mark.long
def test_interrupted_report_and_waterfall_write_nothing(dialect: str, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        wb.report(small(), [0, 3], path=tmp_path / "r.html", budget=0.02, progress=ctrl_c("(2 of 2)"))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KeyboardInterrupt):
        wb.waterfall(small(), budget=0.02, progress=ctrl_c("Timing after"))


def test_interrupt_of_a_trial_ends_the_search(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    usual, begun = part("measure").measured_rows, []

    def measure(workload: wb.Workload, asked: list[Any], how: Any, **store: Any) -> Any:
        begun.append(asked)
        return usual(workload, asked, replace(how, progress=ctrl_c("Loading")), **store)

    monkeypatch.setattr(import_module("workbench.experiments.tuning.evaluate"), "measured_rows", measure)
    found = wb.tune(small(), budget=60, trials=4, race=0, each=0.02)
    assert (len(begun), list(found.trials)) == (1, [])


def test_interrupted_exploration_goes_on(dialect: str) -> None:
    found = wb.explore(small(), sorted(info.name for info in wb.passes(dialect) if not info.reason)[:3])

    def stop(so_far: object) -> None:
        if len(found.rows) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        found.run(stop)
    assert len(found.run().rows) == 3


@pytest.mark.parametrize("given", ["EliminateCommonSubexpr", wb.Config(opt_level=0)])
def test_a_single_configuration_needs_no_list(dialect: str, given: Any) -> None:
    rows = wb.measure(small(), given, budget=0.02, store=False)
    assert list(rows["status"]) == ["ok"]
    assert list(rows["config"]) == [wb.Config.of(given).label]


@pytest.mark.parametrize(
    "call",
    [
        wb.measure,
        lambda w, **how: wb.race(w, 0, 3, **how),
        wb.waterfall,
        wb.ablate,
        wb.tune,
        lambda w, **how: wb.bisect(w, "crash", **how),
        wb.reduce,
        lambda w, **how: wb.Workbench(w, **how),
        lambda w, budget: wb.count(w, timeout=budget),
        lambda w, budget: wb.memory(w, timeout=budget),
    ],
)
def test_impossible_seconds_are_refused(dialect: str, call: Any) -> None:
    for given, reason in (("1s", "is a number of seconds, not str '1s'"), (-1, "=-1 is not a time")):
        with pytest.raises(wb.WorkbenchError, match=reason):
            call(small(), budget=given)


@pytest.mark.parametrize("level", [-1, 7, 2.5])
@pytest.mark.parametrize(
    "call",
    [
        lambda w, level: wb.measure(w, [{"opt_level": level}]),
        lambda w, level: wb.count(w, opt_level=level),
        lambda w, level: wb.trace(w, "FuseOps", opt_level=level),
        lambda w, level: wb.trace_build(w, opt_level=level),
        lambda w, level: wb.explore(w, opt_level=level),
        lambda w, level: wb.ablate(w, opt_level=level),
        lambda w, level: wb.Workbench(w, opt_level=level),
    ],
)
def test_impossible_opt_levels_are_refused(dialect: str, call: Any, level: Any) -> None:
    with pytest.raises(wb.WorkbenchError, match=r"opt.level"):
        call(small(), level)
