"""Work in a background thread: the newest request wins, and an error ends no other request."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from workbench.widgets import background
from workbench.widgets.background import Background, Work

PATIENCE = 10.0


@pytest.fixture
def errors():
    return []


@pytest.fixture
def work(errors):
    made = Background("test", errors.append)
    yield made
    made.cancel()
    assert made.wait(PATIENCE)


class Gate:
    """Work that waits until it is let through, and says when it has started."""

    def __init__(self) -> None:
        self.started, self.open = threading.Event(), threading.Event()
        self.task = None

    def __call__(self, task) -> None:
        self.task = task
        self.started.set()
        assert self.open.wait(PATIENCE)


def running(work) -> Gate:
    gate = Gate()
    work.submit(gate)
    assert gate.started.wait(PATIENCE)
    return gate


def test_work_is_done_in_another_thread(work):
    seen = []
    work.submit(lambda task: seen.append(threading.current_thread().name))
    assert work.wait(PATIENCE)
    assert seen == ["test"]


def test_thread_ends_when_nothing_is_left_and_starts_again(work):
    done = []
    for number in range(3):
        work.submit(lambda task, n=number: done.append((n, threading.current_thread())))
        assert work.wait(PATIENCE)
        done[-1][1].join(PATIENCE)
        assert not done[-1][1].is_alive()
    assert [n for n, _ in done] == [0, 1, 2]


def test_of_the_requests_that_wait_only_the_newest_is_done(work):
    gate, done = running(work), []
    for number in range(5):
        work.submit(lambda task, n=number: done.append(n))
    gate.open.set()
    assert work.wait(PATIENCE)
    assert done == [4]


def test_what_runs_is_no_longer_wanted_when_something_newer_comes(work):
    gate = running(work)
    assert gate.task.wanted
    work.submit(lambda task: None)
    assert not gate.task.wanted
    assert not gate.task.cancelled(), "it may go on for its time of grace"
    gate.open.set()


def test_what_runs_is_given_up_when_its_grace_is_over(work, monkeypatch):
    monkeypatch.setattr(background, "GRACE_SECONDS", 0.0)
    gate = running(work)
    work.submit(lambda task: None)
    assert gate.task.cancelled()
    gate.open.set()


def test_cancel_gives_up_what_runs_and_what_waits(work):
    gate, done = running(work), []
    work.submit(lambda task: done.append("waited"))
    work.cancel()
    assert gate.task.cancelled()
    gate.open.set()
    assert work.wait(PATIENCE)
    assert done == []


def test_an_exception_is_told_and_the_next_request_is_done(work, errors):
    done = []
    work.submit(lambda task: 1 / 0)
    assert work.wait(PATIENCE)
    work.submit(lambda task: done.append("next"))
    assert work.wait(PATIENCE)
    assert [type(error) for error in errors] == [ZeroDivisionError]
    assert done == ["next"]


def test_a_failing_failure_handler_does_not_end_the_thread():
    def failing(error):
        raise RuntimeError("the widget is closed")

    work, done = Background("test", failing), []
    work.submit(lambda task: 1 / 0)
    assert work.wait(PATIENCE)
    work.submit(lambda task: done.append("next"))
    assert work.wait(PATIENCE)
    assert done == ["next"]


def test_waiting_for_nothing_returns_at_once():
    assert Background("test", print).wait(0.0)


def test_wait_says_when_its_time_is_over(work):
    gate = running(work)
    assert not work.wait(0.01)
    gate.open.set()


def test_failure_that_cannot_be_shown_is_in_the_log_and_later_requests_are_run(caplog):
    def failed(name, error):
        raise RuntimeError("the notebook is gone")

    work, done = Background("test", print), []
    for name, request in (("bad", lambda task: 1 / 0), ("good", lambda task: done.append("good"))):
        work.submit_first({name: request}, failed)
        assert work.wait(PATIENCE)
    assert done == ["good"]
    assert "the notebook is gone" in caplog.text


def test_newest_request_goes_first_and_none_is_forgotten(work):
    gate, done = running(work), []

    def ask(*names):
        work.submit_first({name: lambda task, n=name: done.append(n) for name in names}, print)

    ask("old")
    ask("new", "old")
    ask("newest")
    assert gate.task.wanted, "what runs stays wanted"
    gate.open.set()
    assert work.wait(PATIENCE)
    assert done == ["newest", "new", "old"]


def test_failure_of_a_named_request_is_shown_with_its_name(work):
    failures = []
    work.submit_first({"a": lambda task: 1 / 0}, lambda name, error: failures.append((name, type(error))))
    assert work.wait(PATIENCE)
    assert failures == [("a", ZeroDivisionError)]


def test_progress_is_shown_and_taken_away_at_the_end(errors):
    shown = []
    work = Background("test", errors.append, shown.append)

    def report(task):
        task.report("too soon to be seen")
        task.report("begun", 0.5, at_once=True)
        raise ValueError

    work.submit(report)
    assert work.wait(PATIENCE)
    assert [each and (each["what"], each["fraction"]) for each in shown] == [("begun", 0.5), None]
    assert len(errors) == 1


def test_request_without_progress_shows_none(errors):
    shown = []
    work = Background("test", errors.append, shown.append)
    work.submit(lambda task: None)
    assert work.wait(PATIENCE)
    assert shown == []


def test_requests_of_a_page_are_done_in_order_and_a_field_once(work):
    gate, done = running(work), []
    for name, value in (("set", 1), ("set", 2), ("click", 3), ("set", 4)):
        work.submit_last(lambda task, v=value: done.append(v), name)
    gate.open.set()
    assert work.wait(PATIENCE)
    assert done == [2, 3, 4]


def test_a_widget_waits_for_what_its_work_starts_in_another_lane(errors):
    shown, done = [], []
    work = Work(errors.append, lambda lane, busy: shown.append((lane, busy and busy["what"])))
    work.lane("second").submit(lambda task: done.append("first"))
    work.lane("first").submit(lambda task: work.lane("second").submit(lambda task: done.append("second"), "Going on"))
    assert work.wait(PATIENCE)
    assert done[-1] == "second"
    assert shown[-1] == ("second", None)
    assert work.lane("first") is work.lane("first")


UNFINISHED = """
import threading, time
from workbench.widgets.background import Background

started = threading.Event()

def work(task):
    started.set()
    while not task.cancelled():
        time.sleep(0.01)
    print("cancelled")

Background("test", print).submit(work)
started.wait()
"""


def test_work_is_cancelled_when_python_ends():
    done = subprocess.run([sys.executable, "-c", UNFINISHED], capture_output=True, text=True, check=True)
    assert done.stdout == "cancelled\n", done.stderr


def test_cancelled_request_reports_nothing_more(errors):
    shown = []
    work = Background("test", errors.append, lambda busy: shown.append(busy and busy["what"]))
    gate = running(work)
    gate.task.report("begun", at_once=True)
    work.cancel()
    gate.task.report("late", at_once=True)
    assert shown == ["begun"], "it is at work until its end"
    gate.open.set()
    assert work.wait(PATIENCE)
    assert shown == ["begun", None]


def test_lane_begins_while_another_thread_waits_for_all_lanes(monkeypatch):
    work, begun = Work(print), []

    def is_idle(lane):
        if not begun:
            begun.append(threading.Thread(target=work.lane, args=("second",)))
            begun[0].start()
            begun[0].join(0.2)
        return True

    work.lane("first")
    monkeypatch.setattr(Background, "idle", property(is_idle))
    assert work.wait(PATIENCE)
    begun[0].join(PATIENCE)
    assert not begun[0].is_alive()
