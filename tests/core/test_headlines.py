"""Every headline, title, table and sentence about one pair of configurations agrees with the others about it.

One result (times, a race, an A/A, a failure) goes through all plots and panels; what each of them says is compared with the
rule in workbench/measurement/verdict.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl

mpl.use("agg")

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from workbench.colours import LIGHT
from workbench.dialects.base import Workload
from workbench.experiments.schedules.result import TunedSchedules
from workbench.experiments.tuning.result import Result, Verdict
from workbench.experiments.tuning.space import Space
from workbench.experiments.tuning.trial import Trial
from workbench.measurement.race import Race
from workbench.measurement.row import BROKEN, WRONG
from workbench.measurement.verdict import NOISE, RACED, Ratio
from workbench.pipeline.config import Config
from workbench.plots import ablation, cpu_gpu, kernel_count, runtime, tuning_progress, waterfall
from workbench.plots.configurations import headline
from workbench.plots.report import _summary
from workbench.plots.style import to_svg
from workbench.widgets.background import Work
from workbench.widgets.fusion.program import Measured
from workbench.widgets.fusion.tabs import _measured
from workbench.widgets.tuning.blocks import best
from workbench.widgets.workbench.passes_panels import AblationPanel, WaterfallPanel

A, B = "opt 0", "opt 3"
MESSAGE = (
    "the kernel ended its process by SIGSEGV, and what it wrote before that is in the log of the child process; " * 3
)
FACTOR = re.compile(r"ratio (\d|.* = \d)|\d (times|x) (as |faster|slower)")
DIFFERENCE = re.compile(r"(is|was|are|runs) (faster|fastest|slower)|times (faster|slower|as long|as fast)")
WORKLOAD = Workload(None, {}, "made up", "relay")


@dataclass(frozen=True)
class Pair:
    """The two configurations of a pair."""

    times: tuple[float, float] = (50.0, 20.0)
    "microseconds"
    race: Ratio | None = None
    noise: Ratio | None = None
    status: str = "ok"
    "of the second"

    @property
    def rows(self) -> list[dict[str, Any]]:
        """As `wb.measure` gives them."""
        first = _row(A, self.times[0], "ok", "")
        return [first, _row(B, self.times[1], self.status, MESSAGE if self.status != "ok" else "")]

    @property
    def raced(self) -> Race | None:
        """As `wb.race` gives it."""
        if self.race is None:
            return None
        wrong = (B,) if self.status != "ok" else ()
        race, note = self.race, MESSAGE if wrong else ""
        samples, noise = (1.0,) * 20, () if self.noise is None else (self.noise,)
        return Race(A, B, "llvm", race.ratio, race.low, race.high, samples, samples, "", note, wrong, noise)

    @property
    def ablated(self) -> list[dict[str, Any]]:
        """As `wb.ablate` gives it: without the pass it is configuration A, with all of them B."""
        control = {"pass": "nothing", "direction": "control", "kernels": 3, "traffic_bytes": 300, "status": "counted"}
        without = {**control, "pass": "FuseOps", "direction": "without", "kernels": 8}
        if self.noise is not None:
            control |= {"status": "ok", "ratio": self.noise.ratio, "low": self.noise.low, "high": self.noise.high}
        if self.status != "ok":
            without |= {"status": self.status, "message": MESSAGE}
        elif self.race is not None:
            without |= {"status": "ok", "ratio": self.race.ratio, "low": self.race.low, "high": self.race.high}
        return [control, without]

    @property
    def stages(self) -> list[dict[str, Any]]:
        """As `wb.waterfall` gives them."""
        first, last = self.rows
        return [first | {"pass": "input"}, last | {"pass": "FuseOps"}]

    @property
    def found(self) -> Result:
        """As `wb.tune` gives it."""
        first, last = self.rows
        trials = (
            Trial(0, "llvm", Config(), {}, values=first),
            Trial(1, "llvm", Config(name=B), {"P": True}, self.status, str(last["message"]), last),
        )
        verdicts = {} if self.raced is None else {"llvm": Verdict(((1, self.raced),), 1)}
        return Result(WORKLOAD, ("llvm",), ("time",), trials, verdicts=verdicts)


def _row(config: str, microseconds: float, status: str, message: str) -> dict[str, Any]:
    known = status in ("ok", "wrong")
    times: dict[str, float] = dict(
        zip(("q1_us", "median_us", "q3_us"), (f * microseconds for f in (0.9, 1, 1.1)), strict=True)
    )
    row = {"config": config, "asked_target": "llvm", "target": "llvm", "status": status, "message": message}
    counts = {"kernels": 8, "traffic_bytes": 900, "measured_at": "today", "device": "cpu"}
    values = times if known else {}
    return {**row, **counts, **values, "samples": [microseconds * 1e-6] * 3 if known else None}


def _drawn(plot: Any, data: Any, **options: Any) -> str:
    """All words of a plot: its title, what is in it and beneath it."""
    ax = plot(pd.DataFrame(data), ax=Figure().subplots(), **options)
    return "\n".join([ax.get_title(loc="left"), *(text.get_text() for text in ax.texts)]).replace("\n", " ")


def _shown(blocks: list[dict[str, Any]]) -> str:
    cells = [cell for block in blocks for row in block.get("rows", ()) for cell in row]
    return " ".join([*(str(block.get("text", "")) for block in blocks), *cells])


def _new(kind: Any) -> Any:
    """Return a panel of which only `blocks` is asked."""
    page = SimpleNamespace(work=Work(print))
    measurements = SimpleNamespace(listeners=[])
    return kind(SimpleNamespace(page=page, drawing=SimpleNamespace(current=None), measurements=measurements))


def _panel(kind: Any, rows: list[dict[str, Any]], **traits: Any) -> str:
    panel = _new(kind)
    panel.rows = rows
    for name, value in traits.items():
        setattr(panel, name, value)
    return _shown(panel.blocks())


def unraced(pair: Pair) -> Iterator[tuple[str, str]]:
    """Headlines of pairs that were not raced, by name."""
    yield "runtime", _drawn(runtime, pair.rows)
    yield "waterfall of times", _drawn(waterfall, pair.stages, what="median_us")
    yield "waterfall panel", _panel(WaterfallPanel, pair.stages, what="median_us")
    yield "fusion inspector", _shown(_measured(Measured(tuple(pair.rows))))
    yield "report", " ".join(_summary(WORKLOAD, pd.DataFrame(pair.rows)))


def raced(pair: Pair) -> Iterator[tuple[str, str]]:
    """Headlines that use a race, by name."""
    races = [] if pair.raced is None else [pair.raced]
    yield "runtime, raced", _drawn(runtime, pair.rows, races=races)
    yield "ablation", _drawn(ablation, pair.ablated)
    yield "ablation panel", _panel(AblationPanel, pair.ablated)
    yield "tune", str(pair.found)
    yield "tune panel", best(pair.found, "llvm", Space(toggles=("P",)))
    if pair.raced is not None:
        yield "race", str(pair.raced)
        schedules = TunedSchedules(WORKLOAD, Config(name=A), "llvm", Path("there"), (), (), {}, race=pair.raced)
        yield "schedules", str(schedules)


@settings(max_examples=4)  # each draws seven plots
@given(times=st.tuples(st.floats(0.01, 1e6), st.floats(0.01, 1e6)))
def test_without_race_no_headline_has_a_factor_or_a_difference(times: tuple[float, float]) -> None:
    pair = Pair(times)
    for name, said in (*unraced(pair), *raced(pair)):
        assert not FACTOR.search(said), name
        assert not DIFFERENCE.search(said), name


def test_without_race_the_reason_is_given() -> None:
    pair = Pair()
    for name, said in unraced(pair):
        assert "not raced, so no difference is claimed" in said, name


CALM = Ratio(1.0, 0.99, 1.01)
LOUD = Ratio(0.5617, 0.4605, 0.9806)
LOUD_FIGURES = "A/A gave 0.56 (0.46 to 0.98)"


@pytest.mark.parametrize(("race", "said"), [(Ratio(2.5, 2.4, 2.6), "faster"), (Ratio(1.0, 0.97, 1.04), "")])
def test_a_race_gives_one_answer_everywhere(race: Ratio, said: str) -> None:
    pair = Pair(race=race, noise=CALM)
    for name, words in raced(pair):
        assert bool(DIFFERENCE.search(words)) == bool(said), name
        assert ("2.5 times" in words) == bool(said), name


@pytest.mark.parametrize("race", [Ratio(2.5, 2.4, 2.6), Ratio(0.37, 0.35, 0.39)])
def test_noisy_machine_is_named_everywhere_and_no_difference(race: Ratio) -> None:
    pair = Pair(race=race, noise=LOUD)
    assert pair.raced is not None
    assert pair.raced.outcome.reason == NOISE
    for name, said in raced(pair):
        assert "too noisy just now: A/A gave 0.56 (0.46 to 0.98)" in said, name
        assert not FACTOR.search(said), name
        assert not DIFFERENCE.search(said), name
        assert f"{race.ratio:.3g}" not in said.replace(LOUD_FIGURES, ""), name


def test_noisy_machine_comes_with_a_way_to_try_again() -> None:
    pair = Pair(race=Ratio(2.5, 2.4, 2.6), noise=LOUD)
    assert "race them again" in str(pair.raced)
    assert "race again" in _drawn(ablation, pair.ablated)
    panel = _new(AblationPanel)
    panel.rows = pair.ablated
    assert panel.blocks()[0]["label"] == "Race again"


@pytest.mark.parametrize("status", BROKEN)
@pytest.mark.parametrize("race", [None, Ratio(2.5, 2.4, 2.6)])
def test_failed_row_is_named_with_its_whole_sentence(status: str, race: Ratio | None) -> None:
    pair = Pair(race=race, status=status)
    whole = [*unraced(pair), ("counts", _drawn(kernel_count, pair.rows)), ("ablation", _drawn(ablation, pair.ablated))]
    whole += [("ablation panel", _panel(AblationPanel, pair.ablated))]
    # a pair of which one does not run has no race; one with wrong outputs has
    whole += [("race", str(pair.raced))] if pair.raced and status == WRONG else []
    for name, said in whole:
        assert status in said, name
        assert MESSAGE.strip() in " ".join(said.split()), name
        assert not DIFFERENCE.search(said), name
        assert not FACTOR.search(said), name


@pytest.mark.parametrize("status", BROKEN)
def test_failed_row_is_in_the_title(status: str) -> None:
    pair = Pair(status=status)
    titles = {
        "runtime": runtime(pd.DataFrame(pair.rows), ax=Figure().subplots()),
        "counts": kernel_count(pd.DataFrame(pair.rows), ax=Figure().subplots()),
        "waterfall": waterfall(pd.DataFrame(pair.stages), ax=Figure().subplots(), what="median_us"),
        "ablation": ablation(pd.DataFrame(pair.ablated), ax=Figure().subplots()),
    }
    for name, ax in titles.items():
        assert f"1 {status}" in ax.get_title(loc="left"), name


def test_words_beneath_a_plot_are_inside_the_figure() -> None:
    """A sentence makes its figure taller and does not cover the plot."""
    short = to_svg(runtime, pd.DataFrame(Pair().rows), LIGHT, 2)
    long = to_svg(runtime, pd.DataFrame(Pair(status="crashed").rows), LIGHT, 2)
    heights = [float(re.search(r'height="([\d.]+)pt"', svg)[1]) for svg in (short, long)]  # pyright: ignore[reportOptionalSubscript]
    assert heights[1] > heights[0]


@pytest.mark.parametrize("status", ["pending", "running"])
def test_no_title_before_its_data_is_complete(status: str) -> None:
    pair = Pair(status=status)
    assert headline(pair.rows) == f"{B}: not finished"
    counted = [row | {"status": "counted"} for row in Pair().ablated]
    some = [Pair(race=Ratio(2.5, 2.4, 2.6), noise=CALM).ablated[0], counted[1]]
    assert _title(ablation, some) == "1 of 2 raced so far"
    assert _title(ablation, counted, finished=False) == "2 counted so far"
    assert _title(waterfall, Pair().stages, finished=False) == "2 stages counted so far"


def test_race_on_one_device_is_not_spoken_of_for_another() -> None:
    pair = Pair(race=Ratio(2.5, 2.4, 2.6), noise=CALM)
    assert pair.raced is not None
    there = [row | {"target": "cuda", "asked_target": "cuda", "device": "cuda"} for row in pair.rows]
    here, elsewhere = headline([*pair.rows, *there], [pair.raced]).split("; CUDA: ")
    assert DIFFERENCE.search(here)
    assert not DIFFERENCE.search(elsewhere)
    assert "not raced" in elsewhere
    bare = [{**row, "target": None, "asked_target": None} for row in there]
    assert "not raced" in headline(bare, [pair.raced])


def test_row_that_cannot_be_counted_begins_no_race() -> None:
    counted = [row | {"status": "counted"} for row in Pair().ablated]
    assert "raced so far" not in _title(ablation, [counted[0], counted[1] | {"status": "failed"}, counted[1]])


def _title(plot: Any, rows: list[dict[str, Any]], **options: Any) -> str:
    return plot(pd.DataFrame(rows), ax=Figure().subplots(), **options).get_title(loc="left")


def test_no_factor_between_devices_or_candidates() -> None:
    kernels = [{"name": "fused_add", "op": "add", "median_us": 30.0}]
    faster = [{**kernels[0], "median_us": 3.0}]
    rows = [
        {"config": B, "device": "cpu", "per_kernel": kernels},
        {"config": B, "device": "cuda", "per_kernel": faster},
    ]
    tried = [{"number": n, "status": "ok", "median_us": time} for n, time in enumerate((40.0, 20.0))]
    for said in (_drawn(cpu_gpu, rows), _drawn(tuning_progress, tried)):
        assert not FACTOR.search(said)
        assert not DIFFERENCE.search(said)
        assert "not raced" in said


def test_the_reason_of_a_raced_pair_is_raced() -> None:
    race = Pair(race=Ratio(2.5, 2.4, 2.6), noise=CALM).raced
    assert race is not None
    assert race.outcome.reason == RACED
