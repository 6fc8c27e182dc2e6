"""`wb.race`: run two configurations in turn and return which one is faster, or "can't tell"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from workbench.dialects.base import Workload, workload_of
from workbench.dialects.compiler.inputs import Inputs, with_inputs
from workbench.errors import NoDevice
from workbench.measurement.build_and_time import MeasureOptions, RaceRequest, no_device, reference
from workbench.measurement.remote.devices import own_role
from workbench.measurement.remote.tracker import Tracker, target_there
from workbench.measurement.row import OK, WRONG
from workbench.measurement.verdict import Outcome, Ratio, Side, compared, judge
from workbench.pipeline.config import Config
from workbench.pipeline.config import check_config as legal
from workbench.target_text import TargetLike, target_text
from workbench.terminal import html_table, visible
from workbench.wording import counted
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import JobOptions, Progress, never, worker
from workbench.worker.progress import showing_progress


@dataclass(frozen=True)
class Race:
    """The result of running two configurations in turn in one process."""

    a: str
    b: str
    "labels of the configurations"
    target: str
    ratio: float
    "time of a over time of b: above 1, b is faster"
    low: float
    high: float
    "the ratio's 95 % interval (measurement/verdict.py)"
    samples_a: tuple[float, ...] = field(repr=False)
    samples_b: tuple[float, ...] = field(repr=False)
    "seconds of one run; entries of the same index were measured right after each other"
    method: str = ""
    note: str = ""
    "another reason for the answer: wrong outputs, which never win; or the reason why outputs were not checked"
    wrong: tuple[str, ...] = ()
    "labels of those whose outputs differ from the reference"
    noise: tuple[Ratio, ...] = ()
    "races of a program against itself: a in the same rounds, and others under the same conditions"

    @property
    def times(self) -> Ratio:
        return Ratio(self.ratio, self.low, self.high)

    @property
    def answer(self) -> str:
        """Return whether b is faster: `yes`, `no` or `can't tell`."""
        return self.outcome.answer

    @property
    def outcome(self) -> Outcome:
        """The answer with its reason and its sentence, by the rule of all headlines."""
        a, b = (Side(name, WRONG if name in self.wrong else OK, self.note) for name in (self.a, self.b))
        facts = f"{counted(self.rounds, 'round')}, {self.target}"
        return judge(a, b, self.times, self.noise, facts=facts, again="race them again")

    @property
    def rounds(self) -> int:
        return len(self.samples_a)

    def __str__(self) -> str:
        """Return one line: the answer, the ratio with its interval, the number of rounds; or the reason for none."""
        found = self.outcome
        also = f"; {self.note}" if self.note and not self.wrong else ""
        return visible(f"{found.answer}: {found.sentence}{also}")

    def _repr_html_(self) -> str:
        return html_table(str(self))


def race(
    workload: Workload,
    a: Any,
    b: Any,
    target: TargetLike = "llvm",
    *,
    inputs: Inputs | None = None,
    budget: float = 4.0,
    timeout: float = TIMEOUT,
    memory: int | None = None,
    seed: int = 0,
    check: bool = True,
    remote: Tracker | None = None,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = never,
) -> Race:
    """Race two configurations to decide whether `b` is faster than `a`.

    Both are built in one child process and run in turn, so that a temporary slowdown of the machine affects both. `a` has
    two turns in each round: if it is not as fast as itself, the machine is too noisy and nothing is claimed of `b`.

    Parameters
    ----------
    a, b
        As `wb.measure` takes configurations; pipelines of named passes only.
    budget
        Seconds of runs after the warm-up; half of them if the race is decided by then.
    inputs, timeout, memory, seed, check
        As `wb.measure` takes them.
    remote
        Race on a device of this tracker: both on the same one, in one session.

    Raises
    ------
    MeasureError
        One of them does not build or run, or there is no device for the target.

    Examples
    --------
    >>> w = wb.samples.load("parallel_cast")
    >>> found = wb.race(w, 0, 3, budget=0.2)
    >>> found.a, found.b
    ('opt 0', 'opt 3')
    >>> found.low <= found.high
    True
    """
    workload = with_inputs(workload_of(workload, "race"), inputs)
    configs, target = [Config.of(each) for each in (a, b)], target_text(target)
    for config in configs:
        legal(workload, config)
    with showing_progress(progress, f"Racing {configs[1].label} against {configs[0].label}") as report:
        limits: JobOptions = {"timeout": timeout, "memory": memory, "progress": report, "cancelled": cancelled}
        how = MeasureOptions(budget=budget, seed=seed, check=check, **limits)
        if remote is not None:
            remote.check()
            target = target_there(target)
        elif missing := no_device(workload, target, how):
            raise NoDevice(missing)
        expected, unchecked = reference(workload, seed, **limits) if check else (None, "")
        request = RaceRequest(
            target=target,
            configs=[config.to_data() for config in configs],
            budget=budget,
            seed=seed,
            reference=None if expected is None else str(expected),
            tracker=None if remote is None else remote.for_job(timeout),
        )
        if remote is None:
            found = worker().run("race", workload, asdict(request), **limits)
        else:
            limits["timeout"] = remote.patience(timeout)
            with own_role() as role:
                found = worker(role).run("race_on_device", workload, asdict(request), **limits)
    return judged(configs[0].label, configs[1].label, found, unchecked and f"the outputs were not checked: {unchecked}")


def judged(a: str, b: str, found: dict[str, Any], note: str = "") -> Race:
    """Return the race of the job `race`, with its answer, and a note if nothing is wrong."""
    times = compared(found["samples_a"], found["samples_b"])
    again = found.get("samples_again")
    wrong = [name for name, each in zip((a, b), found["checks"], strict=True) if each.get("same") is False]
    verb = "differ from the reference, so it cannot win" if len(wrong) == 1 else "differ from the reference"
    note = f"the outputs of {' and of '.join(wrong)} {verb}" if wrong else note
    return Race(
        a,
        b,
        found["target"],
        times.ratio,
        times.low,
        times.high,
        tuple(found["samples_a"]),
        tuple(found["samples_b"]),
        found["method"],
        note,
        tuple(wrong),
        (compared(found["samples_a"], again),) if again else (),
    )
