"""Several candidates under way at once, whatever ends first and whatever is lost: a made-up world in the place of devices, no TVM."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.dialects.base import Workload
from workbench.errors import NoDevice, NoServer, WorkerLost
from workbench.experiments.engine import Budget, Control
from workbench.experiments.tuning import evaluate, scheduler
from workbench.experiments.tuning.evaluate import Evaluator, TuneOptions
from workbench.experiments.tuning.scheduler import Lanes, Scheduler
from workbench.experiments.tuning.search import Exhaustive, Guided
from workbench.experiments.tuning.space import Space
from workbench.experiments.tuning.trial import key_of
from workbench.experiments.tuning.trial_log import Trials
from workbench.measurement.count import Final
from workbench.measurement.row import Row
from workbench.pipeline.config import Config

SPACE = Space(toggles=("A", "B", "C"), opt_levels=(3, 2))
TARGET = "llvm"


class World:
    """What candidates turn out to be. A and the opt level change the program; B and C do not. `loses` says which build is lost."""

    def __init__(self, loses=lambda: False):
        self.loses, self.lock = loses, threading.Lock()
        self.built, self.finished, self.building = Counter(), Counter(), set()

    def look(self, workload, config, target, **how):
        counts = SimpleNamespace(calls=3, handover_bytes={}, traffic_bytes=1, peak_bytes=1)
        return Final(counts, self.program(config))

    @staticmethod
    def program(config):
        return f"{config.opt_level} {'A' in config.disabled}"

    def measure(self, workload, asked, how, store):
        program = self.program(asked[0][0])
        with self.lock:
            assert program not in self.building, "two candidates build the same program at once"
            self.building.add(program)
            self.built[program] += 1
            lost = self.loses()
        with self.lock:
            self.building.discard(program)
            if lost:
                raise NoServer("the server is gone")
            self.finished[program] += 1
        times = {"median_us": 1.0, "build_seconds": 1.0, "q1_us": 1.0, "q3_us": 1.0}
        yield 0, Row("", TARGET, TARGET, "", status="ok", check="ok", **times)


class Shuffled:
    """Lanes whose jobs run here and now, in an order and number that the test chooses."""

    def __init__(self, draw_width, draw_place):
        self.waited, self.capacity = 0.0, 0
        self.draw_width, self.draw_place, self.begun, self.ready = draw_width, draw_place, [], []

    def find_capacity(self):
        self.capacity = self.draw_width()
        return self.capacity

    def submit(self, task):
        self.begun.append((Future(), task))
        return self.begun[-1][0]

    def next_result(self, underway):
        # which job runs and which result is read are two decisions: a result may wait while others end
        while self.begun and (not self.ready or self.draw_place(2)):
            result, task = self.begun.pop(self.draw_place(len(self.begun)))
            try:
                result.set_result(task())
            except Exception as error:  # noqa: BLE001  as in the lanes
                result.set_exception(error)
            self.ready.append(result)
        return self.ready.pop(self.draw_place(len(self.ready)))

    def count_again(self):
        pass


def search_all(world, over, search=None, trials=None, **how):
    """The trials after a search."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluate, "look", world.look)
        patch.setattr(evaluate, "measured_rows", world.measure)
        patch.setattr(evaluate, "legal", lambda workload, config: None)
        control = Control()
        workload = Workload(None, {}, "made up", "relay")
        evaluator = Evaluator(workload, ("time",), TuneOptions(prune=None), control.stopped)
        book, budget = Trials(evaluator), Budget(60, trials, [TARGET], control)
        budget.rest = lambda: True
        budget.begin()
        chooser = search or Exhaustive(SPACE)
        Scheduler(TARGET, SPACE, chooser, evaluator, over, book, budget, lambda underway: None).run()
        return book


@given(st.data(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_no_candidate_is_lost_or_measured_twice_whatever_ends_first(data, guided):
    losses = iter(data.draw(st.lists(st.booleans(), max_size=6)))
    world = World(lambda: next(losses, False))
    wide = data.draw(st.lists(st.integers(0, 5), max_size=30))
    widths = iter(wide)
    over = Shuffled(lambda: next(widths, 3), lambda most: data.draw(st.integers(0, most - 1)))
    book = search_all(world, over, Guided(SPACE, 1, 0) if guided else None)
    configs = [trial.config for trial in book.all]
    wanted = {key_of(TARGET, SPACE.config_for(chosen)) for chosen in SPACE.assignments()}
    assert {key_of(TARGET, config) for config in configs} == wanted
    assert len(configs) == len(wanted)
    assert [trial.number for trial in book.all] == list(range(len(wanted)))
    lost_for_good = sum(trial.status == "failed" for trial in book.all)
    assert all(count == 1 for count in world.finished.values()), "a program is measured once"
    assert lost_for_good <= 2, "each takes three losses, of at most six"
    for trial in book.all:
        if trial.like is not None:
            twin = book.all[trial.like]
            assert (twin.fingerprint, twin.values) == (trial.fingerprint, trial.values)
            assert twin.like is None


@given(st.integers(1, 9), st.integers(1, 5), st.data())
@settings(max_examples=30, deadline=None)
def test_a_limit_of_trials_counts_those_under_way(trials, wide, data):
    over = Shuffled(lambda: wide, lambda most: data.draw(st.integers(0, most - 1)))
    assert len(search_all(World(), over, trials=trials).all) == trials


@pytest.mark.parametrize("error", [NoDevice("none"), ZeroDivisionError()])
def test_what_no_other_device_can_mend_ends_the_search(error):
    world = World()
    world.loses = lambda: (_ for _ in ()).throw(error)
    with pytest.raises(type(error)):
        search_all(world, Shuffled(lambda: 2, lambda most: 0))


def test_a_candidate_that_takes_its_devices_with_it_is_out_after_three():
    world = World()
    world.loses = lambda: "3 True" in world.building
    book = search_all(world, Shuffled(lambda: 2, lambda most: 0))
    out = [trial for trial in book.all if not trial.ok]
    assert {World.program(trial.config) for trial in out} == {"3 True"}
    assert world.built["3 True"] == 3 * len(out)
    assert all("3 times" in trial.reason for trial in out)


class Servers:
    """A tracker that tells how many servers there are."""

    def __init__(self, count):
        self.count = count

    def servers(self):
        if self.count is None:
            raise NoServer("the tracker is away")
        return ["one"] * self.count


def test_capacity_is_the_number_of_servers_now(monkeypatch):
    monkeypatch.setattr(scheduler, "LOOK_SECONDS", 0.0)
    tracker = Servers(2)
    over = Lanes(tracker)
    assert over.find_capacity() == 2
    tracker.count = 3
    assert over.find_capacity() == 3
    tracker.count = None
    assert over.find_capacity() == 0
    tracker.count = 100
    assert over.find_capacity() == scheduler.MOST_DEVICES


def test_devices_work_at_the_same_time_and_closing_waits_for_them():
    over, together, go = Lanes(Servers(2)), threading.Barrier(2, timeout=10), threading.Event()

    def task():
        together.wait()
        go.wait(10)
        raise WorkerLost("cancelled", "cancelled")

    results = [over.submit(task) for _ in range(2)]
    assert over.find_capacity() == 2
    assert not any(result.done() for result in results)
    go.set()
    assert over.next_result(results) in results
    assert {type(result.exception(10)) for result in results} == {WorkerLost}


def test_the_default_is_tried_first_and_once():
    begun = []
    over = Shuffled(lambda: 3, lambda most: 0)
    usual = over.submit
    over.submit = lambda task: (begun.append(task.args[0]), usual(task))[1]
    book = search_all(World(), over)
    assert begun[0] == 0
    assert book.all[0].config == Config()
    assert sum(trial.config == Config() for trial in book.all) == 1


def test_pause_does_not_count_as_time(monkeypatch):
    now = iter(range(1, 100))
    monkeypatch.setattr("time.perf_counter", lambda: float(next(now)))
    control = Control()
    budget = Budget(60, None, [TARGET], control)
    budget.begin()
    control.pause()
    spent = budget.elapsed
    assert budget.elapsed == budget.elapsed == spent
    control.resume()
    assert spent < budget.elapsed < spent + 3
    control.pause()
    control.stop()
    budget.end()
    assert budget.elapsed == budget.elapsed
