"""The race of two builds in processes of their own, on the same inputs and threads, in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from workbench.dialects.base import Workload
from workbench.errors import MeasureError
from workbench.measurement.race import Race, judged
from workbench.measurement.repeats import Run, interleave, turns
from workbench.pipeline.config import Config
from workbench.pipeline.elsewhere import Environment
from workbench.worker.parent import JobOptions, silent

AGAIN = "builds again"
"the role of the third process"
METHOD = "in turn, in two processes and the first build in a third one too, loaded anew for each part of the budget"


@dataclass(frozen=True)
class Runner:
    """A build in the child process of its environment."""

    title: str
    environment: Environment
    workload: Workload
    folder: Path
    "for the outputs"
    target: str
    config: Config
    seed: int
    limits: JobOptions

    def beside(self, role: str) -> Runner:
        """Return the same build in another process."""
        environment = replace(self.environment, role=role)
        environment.worker().adopt(self.workload, self.folder)
        return replace(self, environment=environment)

    def prepare(self, places: Sequence[int] = (), outputs: str = "") -> dict[str, Any]:
        """Load the build for places in a round, write the outputs of a run to a file, and return the conditions."""
        asked = {"target": self.target, "config": self.config.to_data(), "seed": self.seed}
        more = {"places": list(places), "outputs": outputs}
        return self.run("prepare", self.workload, {**asked, **more})

    def turn(self, place: int, number: int) -> float:
        """Run it so many times and return the mean seconds of one run."""
        return self.run("turn", None, {"place": place, "number": number})

    def run(self, job: str, workload: Workload | None, arguments: Mapping[str, object]) -> Any:
        """Run a job in the child process; an error has the side's title."""
        try:
            return self.environment.worker().run(job, workload, arguments, **self.limits)
        except MeasureError as error:
            raise MeasureError(f"{self.title}: {error}") from error


def race_in_turn(runners: tuple[Runner, Runner], checks: Sequence[Mapping[str, object]], budget: float) -> Race:
    """Race two builds; the first one has two turns in each round, as in `wb.race`, in two processes.

    Two processes with one build differ by up to some percent, as by the addresses of its code and its tensors. The A/A of the race
    has that difference too.

    Parameters
    ----------
    checks
        For each whether its outputs are right, as `same`.

    Raises
    ------
    MeasureError
        One of them ended or failed, or their TVMs use other numbers of threads.
    """
    first, second = runners
    report = first.limits.get("progress", silent)
    report("Racing", 0.0)
    again = first.beside(AGAIN)
    running = [replace(each, limits={**each.limits, "progress": silent}) for each in (first, second, again)]
    conditions: list[dict[str, Any]] = [{} for _ in running]

    def load(heat: int) -> list[Run]:
        for place in turns(heat):
            conditions[place] = running[place].prepare([place])
        return [partial(runner.turn, place) for place, runner in enumerate(running)]

    try:
        times = interleave(load, budget, lambda fraction: report("Racing", fraction))
    finally:
        again.environment.worker().stop()
    threads = [each["threads"] for each in conditions]
    if threads[0] != threads[1]:
        raise MeasureError(
            f"the two TVMs run {threads[0]} and {threads[1]} threads; set TVM_NUM_THREADS and start again"
        )
    method = f"{METHOD}; {'; '.join(dict.fromkeys(each['method'] for each in conditions))}; {threads[0]} threads"
    return judged(
        first.title,
        second.title,
        {
            **times,
            "checks": checks,
            "target": " and ".join(dict.fromkeys((first.target, second.target))),
            "method": method,
        },
    )
