"""What the races of a search decide, and what its result says of it. The races are made up."""

from __future__ import annotations

import pytest

from workbench.dialects.base import Workload
from workbench.errors import MeasureError, WorkerLost
from workbench.experiments.tuning.result import RACED, Result, Verdict, decide
from workbench.experiments.tuning.trial import Trial
from workbench.measurement.race import Race
from workbench.pipeline.config import Config

TARGET = "llvm"


def trial(number, median, kernels=1, **fields):
    config = Config() if number == 0 else Config(disabled=(f"P{number}",))
    values = {"median_us": median, "kernels": kernels}
    return Trial(number, TARGET, config, {}, values=values, fingerprint=fields.pop("program", str(number)), **fields)


TRIALS = [trial(0, 10.0), trial(1, 7.0), trial(2, 8.0), trial(3, 9.0), trial(4, 9.5), trial(5, 11.0)]


def racing(*answers):
    """Races that end like this, one after the other, and the numbers of the trials that ran."""
    left, ran = list(answers), []

    def run(challenger):
        ran.append(challenger.number)
        answer = left.pop(0)
        ratio = {"yes": 1.5, "no": 0.5, "can't tell": 1.0}[answer]
        label = challenger.config.label
        return Race("opt 3", label, TARGET, ratio, ratio - 0.01, ratio + 0.01, (1.0,) * 10, (1.0,) * 10)

    return run, ran


def result(verdict, trials=TRIALS, objectives=("time",)):
    verdicts = {} if verdict is None else {TARGET: verdict}
    return Result(Workload(None, {}, "made up", "relay"), (TARGET,), objectives, tuple(trials), verdicts=verdicts)


@pytest.mark.parametrize(
    ("answers", "ran", "best"),
    [
        (["yes"], [1], 1),
        (["can't tell"], [1], 1),
        (["no", "yes"], [1, 2], 2),
        (["no", "can't tell"], [1, 2], 2),
        (["no", "no", "yes"], [1, 2, 3], 3),
        (["no", "no", "no"], [1, 2, 3], 0),
    ],
)
def test_who_loses_against_the_default_is_not_the_best(answers, ran, best):
    run, who = racing(*answers)
    verdict = decide(TRIALS, TARGET, ("time",), run)
    assert who == ran
    found = result(verdict)
    assert found.best.number == best
    assert [each.number for each in found.pareto] == [best]
    assert found.race.answer == answers[-1]
    said = str(found)
    for number, answer in zip(ran, answers, strict=True):
        sentence = {
            "yes": "{} is 1.50 times faster than opt 3",
            "no": "{} is 2.0 times slower than opt 3",
            "can't tell": "no difference shown between opt 3 and {}",
        }
        assert sentence[answer].format(f"opt 3 -P{number}") in said
    assert ("so the default stays" in said) == (best == 0)
    assert len(ran) <= RACED


def test_without_a_race_the_median_says_who_is_best():
    assert result(None).best.number == 1
    assert result(None).race is None


def test_where_the_default_measured_best_there_is_no_race():
    run, who = racing()
    assert decide([trial(0, 5.0), trial(1, 6.0)], TARGET, ("time",), run) is None
    assert decide(TRIALS, TARGET, ("kernels",), run) is None
    assert decide([], TARGET, ("time",), run) is None
    assert who == []


def test_equal_programs_are_raced_once_and_the_defaults_own_never():
    run, who = racing("no", "no")
    same = [trial(0, 10.0, program="d"), trial(1, 7.0, program="a"), trial(2, 7.5, program="a", like=1)]
    more = [trial(3, 8.0, program="d"), trial(4, 9.0, program="b"), trial(5, 6.0, status="wrong", program="c")]
    verdict = decide([*same, *more], TARGET, ("time",), run)
    assert who == [1, 4]
    assert verdict.winner == 0


def test_a_race_decides_nothing_where_another_objective_comes_first():
    trials = [trial(0, 10.0, kernels=5), trial(1, 9.0, kernels=3), trial(2, 8.0, kernels=4)]
    run, who = racing("no")
    verdict = decide(trials, TARGET, ("kernels", "time"), run)
    assert who == [1]
    found = result(verdict, trials, ("kernels", "time"))
    assert found.best.number == 1
    assert [each.number for each in found.pareto] == [1, 2]
    assert "is 2.0 times slower than" in str(found)


def test_of_several_objectives_the_winner_stands_first_and_losers_are_out():
    trials = [trial(0, 10.0, kernels=5), trial(1, 7.0, kernels=4), trial(2, 8.0, kernels=3), trial(3, 9.0, kernels=2)]
    run, _ = racing("no", "yes")
    found = result(decide(trials, TARGET, ("time", "kernels"), run), trials, ("time", "kernels"))
    assert [each.number for each in found.pareto] == [2, 3]


def test_a_default_that_may_not_win_is_not_raced_and_it_is_said():
    run, who = racing()
    verdict = decide([trial(0, None, status="failed", reason="it fails"), trial(1, 7.0)], TARGET, ("time",), run)
    assert who == []
    assert "the default itself may not win (it fails)" in verdict.note
    found = result(verdict, [trial(0, None, status="failed"), trial(1, 7.0)])
    assert found.best.number == 1
    assert "no race" in str(found)


def test_a_race_that_cannot_be_run_is_a_note_and_a_cancel_is_a_cancel():
    def fails(error):
        def run(challenger):
            raise error

        return run

    verdict = decide(TRIALS, TARGET, ("time",), fails(MeasureError("no server")))
    assert verdict == Verdict(note="no race: no server")
    assert result(verdict).best.number == 1
    assert "no race: no server" in str(result(verdict))

    lost, _ = racing("no")
    ran = []

    def fails_then(challenger):
        ran.append(challenger)
        return lost(challenger) if len(ran) == 1 else fails(MeasureError("no server"))(challenger)

    partly = decide(TRIALS, TARGET, ("time",), fails_then)
    assert result(partly).best.number == 0
    assert "no other race: no server" in str(result(partly))
    with pytest.raises(WorkerLost):
        decide(TRIALS, TARGET, ("time",), fails(WorkerLost("cancelled", "cancelled")))
