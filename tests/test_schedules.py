"""`wb.tune_schedules` on every dialect. Few trials of tiny kernels: what is shown is that it works, not that it is fast."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import workbench as wb
from workbench.debugging.lints.schedules import UNUSED
from workbench.dialects.registry import dialect_of
from workbench.dialects.scheduling import RECORDS, best_cost_model
from workbench.errors import MeasureError, StoreError, UnknownName, WorkbenchError
from workbench.experiments.schedules.result import TunedSchedules
from workbench.experiments.schedules.run import PAUSED, ROLE, ScheduleRun
from workbench.worker.parent import worker

TRIALS = 3
SEEN: list[tuple[str, int]] = []


def workload() -> wb.Workload:
    return wb.samples.load("mlp")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ScheduleRun:
    run = wb.prepared_schedules(
        workload(), kernels=[1], trials=TRIALS, cost_model="random", budget=0.2, folder=tmp_path_factory.mktemp("tuned")
    )
    run.listen(lambda run: SEEN.append((run.status, len(run.trials))))
    run.run()
    return run


@pytest.fixture
def tuned(run: ScheduleRun) -> TunedSchedules:
    return run.result()


def test_a_kernel_is_tuned_and_the_model_raced(
    dialect: str, tuned: TunedSchedules, tell: Callable[[object], None]
) -> None:
    task = next(task for task in tuned.tasks if 1 in task.calls)
    assert (task.status, task.trials) == ("tuned", TRIALS)
    assert sum(task.failures.values()) < TRIALS
    assert task.best_us is not None
    assert task.best_us > 0
    assert task.before_us is not None
    assert task.after_us is not None
    assert sum(each.share or 0 for each in tuned.tasks) == pytest.approx(1, abs=0.01)
    assert [each.status for each in tuned.tasks if each is not task] == ["not selected"] * (len(tuned.tasks) - 1)
    assert tuned.race is not None
    assert tuned.race.low <= tuned.race.ratio <= tuned.race.high
    assert tuned.before["status"] == tuned.after["status"] == "ok", "outputs are checked"
    assert "candidates are drawn at random" in str(tuned) or "xgboost" in str(tuned)
    tell(f"schedules, {dialect}: {TRIALS} candidates of one kernel, best {task.best_us:.3g} us; {tuned.race}")


def test_tasks_are_kernels_of_the_graph(dialect: str, tuned: TunedSchedules) -> None:
    rows = {row["index"]: row for row in tuned.rows}
    for task in tuned.tasks:
        assert {rows[call]["function"] for call in task.calls} == {task.function}
        assert task.op in {tuned.graph.nodes[node].op for node in task.nodes}
    assert len(tuned.table) == len(tuned.tasks)


@pytest.mark.one_dialect
def test_what_was_tuned_is_not_tuned_again(dialect: str, tuned: TunedSchedules) -> None:
    again = wb.tune_schedules(workload(), kernels=[1], trials=TRIALS, budget=0.1, folder=tuned.folder)
    assert again.trials == 0
    assert {task.status for task in again.tasks} <= {"known", "not selected"}
    assert {task.function: task.best_us for task in again.tasks} == pytest.approx(
        {task.function: task.best_us for task in tuned.tasks}
    )


@pytest.mark.one_dialect
def test_other_builds_take_the_schedules(dialect: str, tuned: TunedSchedules) -> None:
    row = wb.measure(workload(), [tuned.config], budget=0.05).iloc[0]
    assert row.status == "ok", row.message
    assert row.config.endswith("+ tuned schedules")
    assert tuned.apply(2).opt_level == 2
    gone = wb.measure(workload(), [{"schedules": str(tuned.folder / "nosuch")}], budget=0.05).iloc[0]
    assert "wb.tune_schedules makes them" in gone.message


@pytest.mark.one_dialect
def test_a_pipelines_own_kernels_are_tuned(dialect: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = wb.Config(pipeline="BindParams,FoldConstant")
    # the child process has another working directory
    monkeypatch.chdir(tmp_path)
    tuned = wb.tune_schedules(workload(), kernels=[0], trials=1, config=config, budget=0.1, folder="kept")
    assert tuned.folder == tmp_path / "kept"
    called = {row["function"] for row in tuned.before["per_kernel"]}
    assert {task.function for task in tuned.tasks} <= called
    assert all(task.share is not None for task in tuned.tasks)


@pytest.fixture
def faster(tuned: TunedSchedules, tmp_path: Path) -> TunedSchedules:
    """The result with a database in which candidates with a schedule took 1 ns, and the kernel without one 1 us."""
    folder = shutil.copytree(tuned.folder, tmp_path / "faster")
    rows = [json.loads(line) for line in (folder / RECORDS).read_text().splitlines()]
    for _, row in rows:
        row[1] = [1e-6 if len(row[0][0]) == 1 else 1e-9]
    (folder / RECORDS).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return replace(tuned, folder=folder)


@pytest.mark.one_dialect
def test_records_that_a_build_does_not_look_up_are_a_lint(dialect: str, faster: TunedSchedules) -> None:
    unfused = replace(faster.config, options={f"{dialect}.FuseOps.max_depth": 1})
    (found,) = [each for each in wb.lint(workload(), config=unfused) if each.name == UNUSED]
    task = next(task for task in faster.tasks if 1 in task.calls)
    assert task.function in found.message
    assert found.nodes == task.nodes
    assert found.seconds == pytest.approx(len(task.calls) * (1e-6 - 1e-9))
    assert found.fix == f"wb.measure(w, [wb.Config(schedules={str(faster.folder)!r})])"
    assert UNUSED not in {each.name for each in wb.lint(workload(), config=found.config)}
    row = eval(found.fix, {"wb": wb, "w": workload()}).iloc[0]
    assert row.status == "ok", row.message


@pytest.mark.one_dialect
def test_a_database_without_a_record_for_a_program_is_a_lint(dialect: str, faster: TunedSchedules) -> None:
    other = wb.samples.load("mlp", width=16)
    lints = wb.lint(other, config=faster.config)
    (found,) = [each for each in lints if each.name == UNUSED]
    assert (found.config, found.fix) == (wb.Config(), "wb.measure(w, [wb.Config()])")
    measured = lints.measure([found], budget=0.1)
    assert [each.race is not None for each in measured] == [each.name == UNUSED for each in measured]


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_kernels_and_counts_are_those_of_the_tuned_build(dialect: str, tuned: TunedSchedules) -> None:
    found = wb.kernels(workload(), config=tuned.config)
    assert [row["function"] for row in found.rows] == [row["function"] for row in tuned.rows]
    assert wb.count(workload(), config=tuned.config).calls == found.calls
    with pytest.raises(MeasureError, match="has a pipeline"):
        wb.kernels(workload(), config=wb.Config(pipeline="FuseOps"))


@pytest.mark.long
def test_a_run_is_paused_and_a_killed_one_has_lost_the_candidate_in_flight(
    dialect: str, tuned: TunedSchedules, tmp_path: Path
) -> None:
    folder = shutil.copytree(tuned.folder, tmp_path / "copy")
    records = folder / RECORDS
    before = records.read_text().splitlines()
    assert len(before) == TRIALS
    with records.open("a") as file:
        file.write('[0, [[["half a')
    run = wb.prepared_schedules(
        workload(), kernels=[1], trials=TRIALS + 8, cost_model="random", budget=0.1, folder=folder
    ).start()
    assert run.left is None
    until(lambda: len(run.trials) >= 2)
    run.pause()
    assert run.status == "paused"
    until(lambda: run.doing == PAUSED)
    tried = len(run.trials)
    time.sleep(0.3)
    assert len(run.trials) == tried
    assert run.left is not None
    assert 0 < run.spent < 1
    run.resume()
    until(lambda: len(run.trials) > tried)
    child = worker(ROLE)._child
    assert child is not None
    os.kill(child.pid, signal.SIGKILL)
    assert run.wait(60)
    assert run.status == "done"
    assert "SIGKILL" in next(task.message for task in run.tasks if task.status == "crashed")
    whole = [line for line in records.read_text().splitlines() if line.endswith("]")]
    assert len(run.trials) <= len(whole) - TRIALS <= len(run.trials) + 1
    assert len({json.dumps(json.loads(line)[1][0]) for line in whole}) == len(whole), "none is tried twice"
    again = wb.prepared_schedules(
        workload(), kernels=[1], trials=TRIALS + 8, cost_model="random", budget=0.1, folder=folder
    )
    again.listen(lambda run: run.stop() if run.trials else None)
    stopped = again.run()
    assert (again.status, stopped.status, stopped.race) == ("stopped", "cancelled", None)
    assert max(task.known for task in stopped.tasks) == len(whole)


@pytest.mark.one_dialect
def test_a_run_tells_how_it_goes(dialect: str, run: ScheduleRun, tuned: TunedSchedules) -> None:
    function = next(task.function for task in tuned.tasks if 1 in task.calls)
    assert (run.status, run.left, run.spent) == ("done", 0.0, 1.0)
    assert [trial.plain for trial in run.trials_of(function)] == [True] + [False] * (TRIALS - 1)
    assert run.trials_per_task[function] == TRIALS
    assert {("running", made) for made in range(1, TRIALS + 1)} <= set(SEEN)
    times = [trial.us for trial in run.trials if trial.us is not None]
    assert run.best_of(function)[-1].value == min(times)
    assert list(run.table["median_us"].dropna()) == times
    assert sum(run.failures.values()) == TRIALS - len(times)
    assert "candidates tried" in str(run)
    with pytest.raises(WorkbenchError, match="begun before"):
        run.run()


@pytest.mark.one_dialect
def test_its_code_rebuilds_the_model_without_the_workbench(dialect: str, tuned: TunedSchedules, tmp_path: Path) -> None:
    import numpy as np

    w = tuned.workload
    dialect_of(w).frontend.dump(w, tmp_path)
    params = {name: value.numpy() for name, value in w.params.items()}
    data = expected = np.linspace(-1, 1, 32, dtype="float32").reshape(1, 32)
    for layer in range(3):
        expected = np.maximum(expected @ params[f"fc{layer}_weight"].T + params[f"fc{layer}_bias"], 0)
    np.savez(tmp_path / "params.npz", **params)
    np.savez(tmp_path / "inputs.npz", data=data)
    (tmp_path / "tuned.py").write_text(tuned.code())
    command = [sys.executable, str(Path(__file__).with_name("run_built.py"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    np.testing.assert_allclose(np.load(tmp_path / "found.npy"), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.one_dialect
def test_what_cannot_be_done_is_said(dialect: str, tuned: TunedSchedules, tmp_path: Path) -> None:
    with pytest.raises(WorkbenchError, match="1 or more"):
        wb.tune_schedules(workload(), trials=0)
    with pytest.raises(WorkbenchError, match="cost model"):
        wb.tune_schedules(workload(), cost_model="oracle")
    with pytest.raises(UnknownName, match="can be tuned"):
        wb.tune_schedules(workload(), kernels="nosuch", folder=tuned.folder, budget=0.1)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="give another"):
        wb.tune_schedules(workload(), folder=tmp_path / "file", budget=0.1)


@pytest.mark.long
def test_a_model_that_learns_chooses_candidates(dialect: str, tmp_path: Path) -> None:
    if best_cost_model(dialect) != "xgb":
        pytest.skip("no xgboost here that this TVM can use; tvm-workbench[schedules] has one for today's")
    how = {"kernels": [1], "trials": 20, "cost_model": "xgb", "budget": 0.1}
    found = wb.tune_schedules(workload(), **how, folder=tmp_path)
    task = next(task for task in found.tasks if 1 in task.calls)
    assert (task.status, task.trials) == ("tuned", 20)
    assert "xgboost" in str(found)


@pytest.mark.long
def test_a_convolution_with_and_without(dialect: str, tmp_path: Path, tell: Callable[[object], None]) -> None:
    w = wb.samples.load("conv_bias_batch_norm")
    found = wb.tune_schedules(w, trials=12, cost_model="random", folder=tmp_path, budget=0.5)
    conv = next(task for task in found.tasks if "conv2d" in task.op)
    assert conv.status == "tuned", conv.message
    assert (found.before["check"], found.after["check"]) == ("ok", "ok")
    assert found.best == (found.config if found.faster else found.base)
    tell(f"{dialect}, {conv.function}: {conv.before_us:.4g} us before, {conv.after_us:.4g} us after; {found}")


@pytest.mark.long
def test_all_kernels_are_tuned_and_a_second_model_has_them_too(dialect: str, tmp_path: Path) -> None:
    first = wb.tune_schedules(workload(), trials=8, folder=tmp_path / "all", budget=0.5)
    assert {task.status for task in first.tasks} == {"tuned"}
    second = wb.tune_schedules(workload(), trials=8, folder=tmp_path / "all", budget=0.5)
    assert second.trials == 0
