"""The rows of the Workbench: what is chosen is measured, and what is no longer chosen is not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from workbench.measurement.build_and_time import MeasureOptions
from workbench.measurement.race import Race
from workbench.measurement.row import Row
from workbench.pipeline.config import Config
from workbench.widgets.background import Work
from workbench.widgets.workbench import session
from workbench.widgets.workbench.session import Measurements

PATIENCE = 10.0
A, B, C = (Config(name=name, opt_level=level) for level, name in enumerate("ABC"))


class Bench:
    """Measurements whose builds wait until they are let through."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun: list[str] = []
        self.started = {config: threading.Event() for config in (A, B, C)}
        self.go = threading.Event()
        monkeypatch.setattr(session, "measure_one", self._measure)
        monkeypatch.setattr(Measurements, "_counted", lambda _, row, *__: row)
        self.errors: list[Exception] = []
        self.work = Work(self.errors.append)
        self.workload: Any = "a workload, which only the replaced functions see"
        self.measures = Measurements(self.workload, "llvm", 0.1, self.work)

    def _measure(self, workload: object, config: Config, target: str, limits: MeasureOptions, **_: object) -> Row:
        self.begun.append(config.label)
        self.started[config].set()
        while not self.go.wait(0.01):
            if limits.cancelled():
                return Row(config.label, target, target, "", "cancelled")
        return Row(config.label, target, target, "", "ok")

    def ask(self, config: Config) -> None:
        self.measures.ask(config, lambda: self.workload, again=False)

    def finish(self) -> dict[str, str | None]:
        self.go.set()
        assert self.work.wait(PATIENCE)
        assert not self.errors
        return {config.label: row.status for config, row in self.measures.all().items()}


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    made = Bench(monkeypatch)
    yield made
    made.go.set()
    made.measures.cancel()
    assert made.work.wait(PATIENCE)


def test_a_configuration_chosen_again_while_it_is_measured_is_measured_to_its_end(bench: Bench) -> None:
    bench.ask(A)
    assert bench.started[A].wait(PATIENCE)
    bench.ask(B)
    bench.ask(A)
    assert bench.finish() == {A.label: "ok"}
    assert bench.begun == [A.label]


def test_a_configuration_chosen_again_after_it_was_ended_is_measured_anew(bench: Bench) -> None:
    bench.ask(A)
    assert bench.started[A].wait(PATIENCE)
    bench.measures.cancel()
    bench.ask(A)
    assert bench.finish() == {A.label: "ok"}


def test_a_waiting_configuration_is_withdrawn_when_a_measured_one_is_chosen(bench: Bench) -> None:
    bench.go.set()
    bench.ask(C)
    assert bench.work.wait(PATIENCE)
    bench.go.clear()
    bench.ask(A)
    assert bench.started[A].wait(PATIENCE)
    bench.ask(B)
    bench.ask(C)
    assert bench.finish() == {C.label: "ok", A.label: "ok"}
    assert B.label not in bench.begun


def test_newest_race_of_a_pair_is_kept_and_the_older_ones_are_dropped(bench: Bench) -> None:
    bench.go.set()
    for config in (A, B, C):
        bench.ask(config)
        assert bench.work.wait(PATIENCE)
    for ratio in (1.0, 1.1, 1.2):
        bench.measures.keep_race(A, B, Race(A.label, B.label, "llvm", ratio, ratio, ratio, (), ()))
    bench.measures.keep_race(B, A, Race(B.label, A.label, "llvm", 0.8, 0.8, 0.8, (), ()))
    assert [(race.a, race.ratio) for race in bench.measures.races] == [(B.label, 0.8)]
