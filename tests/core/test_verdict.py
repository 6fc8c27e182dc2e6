"""The rule for headlines: laws that hold for any figures, and one pair that every headline speaks of alike."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.measurement.race import Race, judged
from workbench.measurement.row import ALL, OK
from workbench.measurement.verdict import (  # fmt: skip
    FAILED,
    NEUTRAL,
    NOISE,
    NOT_RACED,
    RACED,
    UNKNOWN,
    Ratio,
    Side,
    compared,
    is_noisy,
    judge,
)

A, B = Side("opt 2"), Side("opt 3")
FACTOR = "ratio"
CLAIM = re.compile(r"[\d.,]+ times (faster|slower)")
CALM = Ratio(1.0, 0.995, 1.005)


@st.composite
def ratios(draw: st.DrawFn) -> Ratio:
    low, middle, high = sorted(draw(st.floats(0.01, 100)) for _ in range(3))
    return Ratio(middle, low, high)


def samples(seed: int, rounds: int = 40, spread: float = 0.05) -> list[float]:
    return np.exp(np.random.default_rng(seed).normal(0, spread, rounds)).tolist()


@given(seed=st.integers(0, 10_000), spread=st.floats(0, 1))
def test_program_against_itself_gives_no_difference(seed: int, spread: float) -> None:
    """Both races are of one program, so whatever interval comes out, they overlap or the machine is noisy."""
    times = samples(seed, spread=spread)
    same = compared(times, times)
    assert judge(A, A, same, [same]).answer == UNKNOWN


@given(control=ratios())
def test_pair_inside_its_own_noise_gives_no_difference(control: Ratio) -> None:
    assert judge(A, A, control, [control]).answer == UNKNOWN


@given(race=ratios(), control=ratios())
def test_noise_gives_the_noise_sentence_and_no_factor(race: Ratio, control: Ratio) -> None:
    found = judge(A, B, race, [CALM, control], again="run it again")
    if is_noisy(control):
        assert (found.answer, found.reason) == (UNKNOWN, NOISE)
        assert found.sentence.startswith(f"this machine is too noisy just now: A/A gave {control.ratio:.2f}")
        assert found.sentence.endswith("run it again")
        assert FACTOR not in found.sentence
    else:
        assert found.reason == RACED
        assert f"{race.ratio:.3f}" in found.sentence


@given(race=st.none() | ratios(), control=st.none() | ratios(), status=st.sampled_from(ALL))
def test_factor_in_words_if_and_only_if_the_answer_is_a_raced_difference(
    race: Ratio | None, control: Ratio | None, status: str
) -> None:
    found = judge(A, Side("opt 3", status), race, [control])
    claims = found.reason == RACED and found.answer != UNKNOWN
    assert bool(CLAIM.search(found.sentence)) == claims


@pytest.mark.parametrize(
    ("race", "sentence"),
    [
        (
            Ratio(1.23, 1.2, 1.26),
            "opt 3 is 1.23 times faster than opt 2 (time ratio opt 2 / opt 3 = 1.230, 95 % interval",
        ),
        (
            Ratio(0.248, 0.24, 0.26),
            "opt 3 is 4.0 times slower than opt 2 (time ratio opt 2 / opt 3 = 0.248, 95 % interval",
        ),
        (
            Ratio(1.01, 0.9, 1.1),
            "no difference shown between opt 2 and opt 3 (time ratio opt 2 / opt 3 = 1.010, 95 % int",
        ),
        (
            Ratio(0.98, 0.975, 0.988),
            "no difference above 2 % shown between opt 2 and opt 3 (time ratio opt 2 / opt 3 = 0.980, 95 % int",
        ),
        (
            Ratio(25.0, 24.0, 26.0),
            "opt 3 is 25 times faster than opt 2 (time ratio opt 2 / opt 3 = 25.000, 95 % interval",
        ),
    ],
)
def test_the_sentence_of_a_race(race: Ratio, sentence: str) -> None:
    assert judge(A, B, race, facts="24 rounds, llvm").sentence.startswith(sentence)


def test_a_control_that_overlaps_the_race_is_in_the_sentence() -> None:
    found = judge(A, B, Ratio(1.184, 1.092, 1.654), [Ratio(1.02, 0.95, 1.1)], facts="10 rounds")
    assert found.answer == UNKNOWN
    assert found.sentence == (
        "no difference shown between opt 2 and opt 3 (time ratio opt 2 / opt 3 = 1.184, 95 % interval 1.092 to 1.654, "
        "which overlaps 0.950 to 1.100 of a program against itself, 10 rounds)"
    )


def test_long_names_are_written_once() -> None:
    name = "FuseOps, " * 20
    sentence = judge(A, Side(name), Ratio(2.0, 1.9, 2.1)).sentence
    assert sentence == f"{name} is 2.0 times faster than opt 2 (time ratio 2.000, 95 % interval 1.900 to 2.100)"


@given(control=ratios())
def test_control_that_excludes_one_beyond_the_neutral_band_is_noisy(control: Ratio) -> None:
    inside = control.low >= 1 / (1 + NEUTRAL) and control.high <= 1 + NEUTRAL
    assert is_noisy(control) == ((control.low > 1 or control.high < 1) and not inside)


def test_the_noise_sentence_of_the_issue() -> None:
    sentence = judge(A, B, Ratio(1.3, 1.2, 1.4), [Ratio(0.5617, 0.4605, 0.9806)]).sentence
    assert sentence == "this machine is too noisy just now: A/A gave 0.56 (0.46 to 0.98)"


@given(control=st.none() | ratios())
def test_missing_race_gives_no_factor(control: Ratio | None) -> None:
    found = judge(A, B, None, [control])
    assert (found.answer, found.reason) == (UNKNOWN, NOT_RACED)
    assert FACTOR not in found.sentence
    assert "not raced" in found.sentence


@given(first=st.sampled_from(ALL), second=st.sampled_from(ALL), race=st.none() | ratios(), control=st.none() | ratios())
def test_failed_side_is_named_with_its_sentence(
    first: str, second: str, race: Ratio | None, control: Ratio | None
) -> None:
    a, b = Side("opt 2", first, "there is no such target"), Side("opt 3", second, "it took too long")
    found = judge(a, b, race, [control])
    failed = [side for side in (a, b) if side.status != OK]
    assert (found.reason == FAILED) == bool(failed)
    for side in failed:
        assert f"{side.name}: {side.status}: {side.message}" in found.sentence
        assert FACTOR not in found.sentence


@given(race=ratios(), control=ratios())
def test_swapped_pair_gives_the_opposite_answer(race: Ratio, control: Ratio) -> None:
    def turned(each: Ratio) -> Ratio:
        return Ratio(1 / each.ratio, 1 / each.high, 1 / each.low)

    there, back = judge(A, B, race, [control]), judge(B, A, turned(race), [turned(control)])
    assert back.answer == {"yes": "no", "no": "yes"}.get(there.answer, UNKNOWN)


@pytest.mark.parametrize("status", ["pending", "running"])
def test_unfinished_side_gives_no_answer(status: str) -> None:
    found = judge(A, Side("opt 3", status), Ratio(2.0, 1.9, 2.1))
    assert found.sentence == "opt 3: not finished"


def test_race_carries_its_own_control() -> None:
    calm, loud = samples(1, 200, 0.01), [2 * time for time in samples(2, 200, 0.01)]
    found = {"samples_a": calm, "samples_b": [time / 2 for time in calm], "target": "llvm", "method": ""}
    quiet = judged("a", "b", {**found, "checks": [{}, {}], "samples_again": samples(3, 200, 0.01)})
    assert quiet.answer == "yes"
    assert str(quiet).startswith("yes: b is 2.0 times faster than a (time ratio a / b = 2.000")
    noisy = judged("a", "b", {**found, "checks": [{}, {}], "samples_again": loud})
    assert noisy.answer == UNKNOWN
    assert str(noisy).startswith("can't tell: this machine is too noisy just now: A/A gave 0.5")
    assert "race them again" in str(noisy)
    assert "2.000" not in str(noisy)


def test_race_with_wrong_outputs_has_no_factor() -> None:
    race = Race("a", "b", "llvm", 2.0, 1.9, 2.1, (1.0,), (0.5,), note="the outputs of b differ", wrong=("b",))
    assert race.answer == "no"
    assert str(race) == "no: b: wrong: the outputs of b differ"
    found = {"samples_a": [2.0] * 20, "samples_b": [1.0] * 20, "target": "llvm", "method": "in turn"}
    lost = judged("right", "wrong", {**found, "checks": [{"same": True}, {"same": False}]})
    assert (lost.answer, lost.ratio) == ("no", 2.0)
    assert "cannot win" in str(lost)
    both = judged("a", "b", {**found, "checks": [{"same": False}] * 2})
    assert both.answer == UNKNOWN
    unchecked = judged("a", "b", {**found, "checks": [{}, {}]}, "the outputs were not checked: why")
    assert str(unchecked).endswith("the outputs were not checked: why")


def test_an_interval_within_the_neutral_two_percent_excludes_slower():
    assert Ratio(1.0, 0.985, 1.2).excludes_slower
    assert not Ratio(1.0, 0.975, 1.2).excludes_slower
    assert not Ratio(1.0, 0.0, float("inf")).excludes_slower
