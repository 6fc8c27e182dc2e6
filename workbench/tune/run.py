"""A Run: a search at work, which another thread may look at, pause, resume and stop."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from workbench.dialects.base import Workload
from workbench.errors import NoDevice, WorkbenchError, WorkerLost
from workbench.measure.timing.race import Race, race
from workbench.pipeline.config import Config
from workbench.tune.control import Control
from workbench.tune.evaluate import Clock, Effort, Evaluator
from workbench.tune.log import Log
from workbench.tune.result import Result
from workbench.tune.search import Search, search
from workbench.tune.space import Assignment, Space
from workbench.tune.trial import Trial, front, key_of

RECENT = 20
"trials whose mean says how long the next will take"


@dataclass(frozen=True)
class Limit:
    """When a run ends, if not by itself."""

    seconds: float = 60.0
    "for the whole run; a trial that is begun is finished"
    trials: int | None = None
    "for each target, those of the log counted"


@dataclass(frozen=True)
class Best:
    """The best so far after a trial."""

    seconds: float
    "that all trials up to it took"
    trial: int
    value: float
    "of the first objective"


class Run:
    """One search, in this thread (`run`) or beside it (`start`). Everything else may be asked from any thread.

    Parameters
    ----------
    log
        What was opened, with its trials; None to keep none.
    race
        Seconds of the final race of the best against the default; 0 for none.
    """

    def __init__(
        self,
        workload: Workload,
        space: Space,
        targets: Sequence[str],
        objectives: tuple[str, ...],
        limit: Limit,
        effort: Effort,
        *,
        method: str = "auto",
        log: tuple[Log, list[Trial]] | None = None,
        race: float = 4.0,
    ) -> None:
        self.workload, self.space, self.targets, self.objectives = workload, space, tuple(targets), objectives
        self._limit, self._effort, self._method, self._race_seconds = limit, effort, method, race
        self._log = None if log is None else log[0]
        self._lock = threading.Lock()
        self._trials: list[Trial] = [] if log is None else list(log[1])
        self._by_key = {trial.key: trial for trial in self._trials}
        self.resumed = len(self._trials)
        "trials that came from the log"
        self._control = Control()
        self._listeners: list[Callable[[Run], None]] = []
        self._thread: threading.Thread | None = None
        self._status, self._doing, self._error = "ready", "", ""
        self._failure: BaseException | None = None
        self._races: dict[str, Race] = {}
        self._begun, self._ended, self._working = 0.0, 0.0, 0.0
        self._evaluator = Evaluator(workload, objectives, effort, self._control.stopped)
        for trial in self._trials:
            self._evaluator.learn(trial)

    # -- what may be asked

    @property
    def status(self) -> str:
        """`ready`, `running`, `paused`, `stopped`, `done` or `failed`."""
        return "paused" if self._status == "running" and self._control.paused else self._status

    @property
    def doing(self) -> str:
        """What it is at, in words."""
        return self._doing

    @property
    def error(self) -> str:
        """Why it failed."""
        return self._error

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All so far, those of the log first."""
        with self._lock:
            return tuple(self._trials)

    @property
    def best_so_far(self) -> tuple[Best, ...]:
        """Each time that the first objective became better, for the first target."""
        return self.best_of(self.targets[0])

    def best_of(self, target: str) -> tuple[Best, ...]:
        """The same for any target."""
        found: list[Best] = []
        spent = 0.0
        for trial in self.trials:
            spent += trial.seconds
            costs = trial.costs(self.objectives[:1]) if trial.target == target else None
            if costs is not None and (not found or costs[0] < found[-1].value):
                found.append(Best(spent, trial.number, costs[0]))
        return tuple(found)

    @property
    def failures(self) -> dict[str, int]:
        """How many trials may not win, by status and reason, the most frequent first."""
        reasons = Counter(
            trial.status if trial.status == "pruned" else f"{trial.status}: {trial.reason}"
            for trial in self.trials
            if not trial.ok
        )
        return dict(reasons.most_common())

    @property
    def left(self) -> float | None:
        """Seconds that are probably left; None before the first trial of this run, 0 when it is over."""
        if self._status not in ("ready", "running"):
            return 0.0
        own = self.trials[self.resumed :]
        if not own or not self._begun:
            return None
        mean = sum(trial.seconds for trial in own[-RECENT:]) / len(own[-RECENT:])
        most = self.space.size + 1 if self._limit.trials is None else min(self._limit.trials, self.space.size + 1)
        waiting = max(0, most * len(self.targets) - len(self.trials))
        return min(waiting * mean, max(0.0, self._limit.seconds - self._elapsed()))

    @property
    def spent(self) -> float:
        """The part of the budget that is spent, from 0 to 1."""
        return min(1.0, self._elapsed() / self._limit.seconds)

    @property
    def overhead(self) -> float:
        """The part of the run so far that went neither into the child process nor into pauses: choosing and keeping."""
        elapsed = self._elapsed()
        return max(0.0, elapsed - self._working) / elapsed if elapsed else 0.0

    def _elapsed(self) -> float:
        return (self._ended or time.perf_counter()) - self._begun if self._begun else 0.0

    def result(self) -> Result:
        """What is known now; of a run that goes on too.

        Raises
        ------
        WorkbenchError
            The run failed.
        """
        if self._failure is not None:
            raise self._failure
        return Result(self.workload, self.targets, self.objectives, self.trials, self.overhead, dict(self._races))

    # -- what may be done

    def listen(self, listener: Callable[[Run], None]) -> None:
        """Have it called, in the run's thread, after each trial and each change of status."""
        self._listeners.append(listener)

    def pause(self) -> None:
        """Begin no new trial."""
        self._control.pause()
        self._tell()

    def resume(self) -> None:
        """Go on after a pause."""
        self._control.resume()
        self._tell()

    def stop(self) -> None:
        """End now. The trial in flight is not kept."""
        self._control.stop()

    def start(self) -> Run:
        """Run in a thread of its own."""
        self._thread = threading.Thread(target=self._quietly, name="tune", daemon=True)
        self._thread.start()
        return self

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the thread; whether it is over."""
        if self._thread is not None:
            self._thread.join(timeout)
        return self._thread is None or not self._thread.is_alive()

    def _quietly(self) -> None:
        try:
            self.run()
        except WorkbenchError:
            return  # it is kept, and said by `error` and `result`

    def run(self) -> Result:
        """Search, and give the result.

        Raises
        ------
        WorkbenchError
            Nothing can be measured here, or the log cannot be written.
        """
        if self._status != "ready":
            raise WorkbenchError("this run was begun before; wb.tune with the same log= goes on where it ended")
        self._status, self._begun = "running", time.perf_counter()
        try:
            finished = all(self._searched(target) for target in self.targets)
            self._status = "done" if finished else "stopped"
        except KeyboardInterrupt:
            self._control.stop()
            self._status = "stopped"
        except BaseException as error:
            self._status, self._error, self._failure = "failed", str(error), error
            raise
        finally:
            self._ended, self._doing = time.perf_counter(), ""
            self._tell()
        return self.result()

    def _searched(self, target: str) -> bool:
        """Whether the search for a target came to its end, and was not stopped."""
        try:
            self._baseline(target)
            self._search(target)
            self._confirm(target)
            self._race(target)
        except WorkerLost as lost:
            if not self._control.stopped():
                raise
            self._doing = str(lost)
        return not self._control.stopped()

    def _baseline(self, target: str) -> None:
        """The compiler's own default comes first, whatever the space: the best is compared with it."""
        if not self._known(target, Config()):
            self._try(target, {}, Config())

    def _search(self, target: str) -> None:
        chooser = search(self.space, len(self.objectives), self._effort.seed, self._method)
        for trial in self.trials:
            if trial.target == target and self._evaluator.enough(trial):
                self._teach(chooser, trial)
        while self._goes_on(target):
            chosen = chooser.ask()
            if chosen is None:
                return
            config = self.space.config_for(chosen)
            known = self._known(target, config)
            trial = known or self._try(target, chosen, config)
            chooser.tell(chosen, trial.costs(self.objectives))

    def _teach(self, chooser: Search, trial: Trial) -> None:
        chooser.tell(trial.chosen, trial.costs(self.objectives))

    def _goes_on(self, target: str) -> bool:
        if not self._waited():
            return False
        tried = sum(trial.target == target for trial in self.trials)
        enough = self._limit.trials is not None and tried >= self._limit.trials
        share = self._limit.seconds * (self.targets.index(target) + 1) / len(self.targets)
        return not enough and self._elapsed() < share

    def _waited(self) -> bool:
        """Wait while paused, which is no time of the run; whether to go on."""
        begun = time.perf_counter()
        going = self._control.wait()
        self._begun += time.perf_counter() - begun
        return going

    def _known(self, target: str, config: Config) -> Trial | None:
        found = self._by_key.get(key_of(target, config))
        return found if found is not None and self._evaluator.enough(found) else None

    def _try(self, target: str, chosen: Assignment, config: Config) -> Trial:
        trials = self.trials
        number = max((trial.number for trial in trials), default=-1) + 1
        self._doing = f"Trial {number}: {config.label}"
        self._tell()
        trial = self._evaluator.trial(number, target, chosen, config)
        self._keep(trial)
        return trial

    def _keep(self, trial: Trial) -> None:
        """On the disk first: what is not there did not happen."""
        if self._log is not None:
            self._log.append(trial)
        with self._lock:
            others = [other for other in self._trials if other.number != trial.number]
            self._trials = sorted([*others, trial], key=lambda each: each.number)
        self._by_key[trial.key] = trial
        self._working += trial.working
        self._evaluator.learn(trial)
        self._tell()

    def _confirm(self, target: str) -> None:
        """Build and check what would win by its counts alone, until what wins is right."""
        while self._effort.check and self._waited():
            winners = front([t for t in self.trials if t.target == target], self.objectives)
            doubtful = next((trial for trial in winners if not trial.checked), None)
            if doubtful is None:
                return
            self._doing = f"Checking trial {doubtful.number}: {doubtful.config.label}"
            self._tell()
            clock = Clock()
            try:
                checked = clock.stamped(self._evaluator.built(doubtful, clock))
            except NoDevice as missing:
                # its counts are what they are; whether it is right cannot be found out here
                self._keep(replace(doubtful, reason=f"not checked: {missing}"))
                return
            self._keep(replace(checked, seconds=doubtful.seconds + checked.seconds))

    def _race(self, target: str) -> None:
        best = next(iter(front([t for t in self.trials if t.target == target], self.objectives)), None)
        if not self._race_seconds or "time" not in self.objectives or best is None or not self._waited():
            return
        if best.key == key_of(target, Config()) or self._effort.remote is not None:
            return
        self._doing = "Racing the best against the default"
        self._tell()
        begun = time.perf_counter()
        how = {"timeout": self._effort.timeout, "memory": self._effort.memory, "seed": self._effort.seed}
        self._races[target] = race(
            self.workload,
            Config(),
            best.config,
            target,
            budget=self._race_seconds,
            check=self._effort.check,
            cancelled=self._control.stopped,
            **how,
        )
        self._working += time.perf_counter() - begun

    def _tell(self) -> None:
        for listener in list(self._listeners):
            try:
                listener(self)
            except Exception:
                # a panel whose notebook is gone cannot show anything; the search goes on
                logging.getLogger(__name__).exception("a listener of a tuning run failed")
