"""A run from another thread, and the log that it goes on from. What a trial is made of is stood in for: no TVM."""

from __future__ import annotations

import json
import threading
import time

import pytest

from workbench.dialects.base import Workload
from workbench.errors import NoDevice, StoreError, WorkbenchError, WorkerLost
from workbench.experiments.tuning import trial_log as logs
from workbench.experiments.tuning.evaluate import Clock, Evaluator
from workbench.experiments.tuning.run import Run, TuneOptions
from workbench.experiments.tuning.space import Space
from workbench.experiments.tuning.trial import Trial

SPACE = Space(toggles=("A", "B", "C", "D"))
HEAD = {"format": 1, "workload_hash": "0", "dialect": "relay", "tvm": "0.17", "machine": "m"}


class Evaluated:
    """Counts what is tried. A pass that is left out costs one kernel; without D a trial fails."""

    def __init__(self):
        self.configs = []
        self.at = lambda number: None

    def __call__(self, evaluator, number, target, chosen, config):
        self.at(number)
        if evaluator.cancelled():
            raise WorkerLost("cancelled", "cancelled")
        self.configs.append(config)
        clock = Clock()
        with clock:
            time.sleep(0.001)
        values = {"kernels": 3 + len(config.disabled), "median_us": 10.0 - len(config.disabled), "traffic_bytes": 1}
        broken = {"status": "failed", "reason": "D is needed"} if "D" in config.disabled else {"checked": True}
        return clock.stamp(
            Trial(number, target, config, dict(chosen), values=values, fingerprint=str(number), **broken)
        )


@pytest.fixture
def evaluated(monkeypatch):
    counting = Evaluated()
    monkeypatch.setattr(
        Evaluator, "trial", lambda self, number, target, chosen, config: counting(self, number, target, chosen, config)
    )
    monkeypatch.setattr(logs, "header", lambda workload: HEAD)
    return counting


def made(log=None, objectives=("time",), space=SPACE, targets=("llvm",), **limit):
    workload = Workload(None, {}, "stand-in", "relay")
    return Run(workload, space, targets, TuneOptions(race=0, objective=objectives, **limit), log)


def test_a_run_tries_all_of_a_small_space_and_knows_why_what_failed(evaluated):
    run = made()
    result = run.run()
    assert run.status == "done"
    assert len(result.trials) == SPACE.size == len(evaluated.configs)
    assert result.best.config.disabled == ("A", "B", "C")
    assert result.default is not None
    assert result.default.number == 0
    assert run.failures == {"failed: D is needed": 8}
    series = run.best_so_far
    assert [point.value for point in series] == sorted((point.value for point in series), reverse=True)
    assert series[-1].value == 7.0
    assert run.left == 0.0
    assert list(result.table["status"]).count("failed") == 8
    with pytest.raises(WorkbenchError, match="begun before"):
        run.run()


def test_each_target_has_its_own_search(evaluated):
    result = made(targets=("llvm", "cuda")).run()
    assert len(result.trials) == 2 * SPACE.size
    assert {trial.target for trial in result.trials} == {"llvm", "cuda"}
    assert result.best_for("cuda").target == "cuda"


def test_a_limit_of_trials_counts_those_of_the_log(evaluated, tmp_path):
    assert len(made(tmp_path / "log", trials=5).run().trials) == 5
    assert len(made(tmp_path / "log", trials=7).run().trials) == 7
    assert len(evaluated.configs) == 7


def test_what_is_in_the_log_is_not_tried_again(evaluated, tmp_path):
    first = made(tmp_path / "log").run()
    run = made(tmp_path / "log")
    again = run.run()
    assert len(evaluated.configs) == SPACE.size
    assert again.trials == first.trials
    assert run.resumed == SPACE.size
    wider = Space(toggles=(*SPACE.toggles, "E"))
    assert len(made(tmp_path / "log", space=wider).run().trials) == wider.size
    assert len(evaluated.configs) == wider.size


def test_a_killed_run_loses_the_trial_in_flight_and_no_other(evaluated, tmp_path):
    path = tmp_path / "log"
    made(path, trials=6).run()
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    run = made(path)
    assert run.resumed == 5
    assert len(run.run().trials) == SPACE.size
    assert len(evaluated.configs) == 6 + SPACE.size - 5
    assert [json.loads(line).get("number") for line in path.read_text().splitlines()] == [None, *range(SPACE.size)]


def test_every_trial_is_in_the_log_when_the_next_one_begins(evaluated, tmp_path):
    path, seen = tmp_path / "log", []
    evaluated.at = lambda number: seen.append(len(path.read_text().splitlines()) - 1 - number)
    made(path).run()
    assert seen == [0] * SPACE.size


@pytest.mark.parametrize("field", ["workload_hash", "dialect", "tvm", "machine"])
def test_a_log_of_something_else_is_refused(evaluated, tmp_path, monkeypatch, field):
    made(tmp_path / "log", trials=1).run()
    monkeypatch.setattr(logs, "header", lambda workload: {**HEAD, field: "other"})
    with pytest.raises(StoreError, match=r"is the trial log of .*give another log="):
        made(tmp_path / "log")


@pytest.mark.parametrize("cut", [1, 5, 20, -1])
def test_cut_log_header_is_rewritten(evaluated, tmp_path, cut):
    path = tmp_path / "log"
    made(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])
    made(path, trials=2).run()
    assert path.read_bytes().startswith(whole)
    assert made(path).resumed == 2


TRIAL = '{"number": 0, "target": "llvm", "config": {}, "chosen": {}, %s}'


@pytest.mark.parametrize(
    "line",
    [
        TRIAL % '"seconds": 1e400',
        TRIAL % '"seconds": "1"',
        TRIAL % '"status": "well"',
        TRIAL % '"unknown": 1',
        TRIAL % '"values": {"median_us": []}',
        TRIAL % '"like": "0"',
        TRIAL % '"config": {"opt_level": "3"}',
        TRIAL % ('"reason": ' + "[" * 100_000),
        "[" * 100_000,
        '"' + "x" * 100_000,
        "3",
        "\0",
    ],
    ids=range(12),
)
def test_damaged_trial_is_refused_and_left_as_it_is(evaluated, tmp_path, line):
    path = tmp_path / "log"
    made(path)
    text = path.read_text() + line + "\n"
    path.write_text(text)
    with pytest.raises(StoreError, match="another log=") as caught:
        made(path)
    assert len(str(caught.value)) < 300
    assert path.read_text() == text


@pytest.mark.parametrize("text", ["no json\n", "no line", "{}\n", "[]\n", '{"format": 2}\n', "[" * 100_000 + "\n"])
def test_what_is_no_log_is_refused_and_left_as_it_is(evaluated, tmp_path, text):
    path = tmp_path / "log"
    path.write_text(text)
    with pytest.raises(StoreError, match="another log="):
        made(path)
    assert path.read_text() == text


def test_a_run_that_is_starting_can_be_waited_for(evaluated, monkeypatch):
    run, start, ended = made(), threading.Thread.start, []

    def start_beside_a_waiting_thread(thread):
        if thread.name == type(run).__name__:
            waiting = threading.Thread(target=lambda: ended.append(run.wait(10)), name="waiting")
            start(waiting)
            waiting.join(0.05)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_beside_a_waiting_thread)
    run.start()
    assert run.wait(10)
    for thread in threading.enumerate():
        if thread.name == "waiting":
            thread.join(10)
    assert ended == [True]


def test_it_can_be_paused_resumed_and_stopped_from_another_thread(evaluated):
    run, reached, go = made(), threading.Event(), threading.Event()

    def at(number):
        if number == 3:
            reached.set()
            go.wait(10)

    evaluated.at = at
    seen = []
    run.listen(lambda run: seen.append(run.status))
    run.start()
    assert reached.wait(10)
    assert run.left is not None
    run.pause()
    go.set()
    deadline = time.monotonic() + 10
    while len(run.trials) < 4 and time.monotonic() < deadline:
        time.sleep(0.005)
    assert run.status == "paused"
    assert not run.wait(0.05)
    assert len(run.trials) == 4
    run.resume()
    while len(run.trials) < 6 and time.monotonic() < deadline:
        time.sleep(0.001)
    run.stop()
    assert run.wait(10)
    assert run.status in ("stopped", "done")
    assert {"running", "paused"} <= set(seen)
    assert run.result().best.ok


def test_a_stopped_run_does_not_keep_the_trial_in_flight(evaluated, tmp_path):
    run = made(tmp_path / "log")
    evaluated.at = lambda number: run.stop() if number == 2 else None
    run.run()
    assert run.status == "stopped"
    assert len(run.trials) == 2
    evaluated.at = lambda number: None
    assert len(made(tmp_path / "log").run().trials) == SPACE.size


def test_a_run_that_cannot_measure_fails_with_the_reason(evaluated):
    run = made()

    def at(number):
        raise NoDevice("no GPU here")

    evaluated.at = at
    run.start()
    assert run.wait(10)
    assert (run.status, run.error) == ("failed", "no GPU here")
    with pytest.raises(NoDevice):
        run.result()


def test_a_listener_that_fails_ends_nothing(evaluated, caplog):
    run = made()
    run.listen(lambda run: 1 / 0)
    assert len(run.run().trials) == SPACE.size
    assert "a listener of a run failed" in caplog.text


def test_500_logged_trials_reopen_while_somebody_waits(evaluated, tmp_path, tell):
    space = Space(toggles=tuple(f"P{i}" for i in range(10)))
    trials = [
        Trial(number, "llvm", space.config_for(chosen), chosen, values={"median_us": float(number)}, checked=True)
        for number, chosen in zip(range(500), space.assignments(), strict=False)
    ]
    lines = [HEAD, *(trial.to_data() for trial in trials)]
    (tmp_path / "log").write_text("".join(json.dumps(line) + "\n" for line in lines))
    begun = time.process_time()
    run = made(tmp_path / "log", space=space, trials=500)
    opened = time.process_time() - begun
    assert run.resumed == 500
    assert len(run.run().trials) == 500
    assert evaluated.configs == []
    tell(
        f"500 logged trials: opened in {opened:.3f} s of processor, told to the search in {time.process_time() - begun - opened:.3f} s"
    )
