"""The candidates of one target, several of them under way at once: none is lost, and none is tried twice.

All decisions are taken in one thread, the run's; other threads only try what they are given. A candidate is in one place at a
time: waiting to be begun, under way, waiting for another one that is the same, or kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from workbench.errors import NoServer
from workbench.measure.remote.tracker import SERVERS
from workbench.measure.status import FAILED
from workbench.pipeline.config import Config
from workbench.tune.budget import Pace
from workbench.tune.evaluate import Evaluator, InFlight
from workbench.tune.runners import Answer, Lanes
from workbench.tune.search import Search
from workbench.tune.space import Assignment, Space
from workbench.tune.trial import Trial, key_of
from workbench.tune.trial_log import Book


@dataclass
class Candidate:
    """One that has a number and no trial yet."""

    number: int
    chosen: Assignment
    config: Config
    lost: int = 0
    "how often it was begun and no device finished it"
    also: list[Assignment] = field(default_factory=list)
    "choices that stand for the same configuration"


class Flight:
    """One target's search.

    Parameters
    ----------
    says
        Is told what is under way before another one begins, and after each that was kept.
    """

    def __init__(
        self,
        target: str,
        space: Space,
        search: Search,
        evaluator: Evaluator,
        lanes: Lanes,
        book: Book,
        pace: Pace,
        says: Callable[[Sequence[Candidate]], None],
    ) -> None:
        self._target, self._space, self._search, self._evaluator = target, space, search, evaluator
        self._lanes, self._book, self._pace, self._says = lanes, book, pace, says
        self._waiting: deque[Candidate] = deque()
        "to be begun, before any new one"
        self._underway: dict[int, Candidate] = {}
        self._twins: dict[int, list[tuple[Candidate, Trial]]] = {}
        "number of one under way -> those that turned out to be the same, with what is known of them"
        self._exhausted = False
        self._known = len(book.of(target))
        "trials of the target"

    def fly(self) -> None:
        """Try candidates until the space, the limits or the user's patience end.

        Raises
        ------
        WorkerLost
            It was stopped while candidates were under way; they are given up.
        NoDevice
            Nothing can be timed for the target.
        """
        if not self._book.known(self._target, Config()):
            # the compiler's own default, whatever the space: the best is compared with it
            self._waiting.append(Candidate(self._book.number(), {}, Config()))
        while True:
            self._begin()
            if self._underway:
                answer = self._lanes.answer()
                if answer is not None:
                    self._ended(self._underway.pop(answer.number), answer)
            elif self._over():
                return
            else:
                self._say()
                if not self._pace.rested():
                    return

    def _over(self) -> bool:
        if self._waiting:
            return not self._pace.time(self._target)
        return self._exhausted or not self._pace.room(self._target, self._known)

    def _begin(self) -> None:
        """Fill the lanes."""
        while self._pace.going() and len(self._underway) < self._lanes.width():
            candidate = self._waiting.popleft() if self._waiting else self._new()
            if candidate is None:
                return
            self._underway[candidate.number] = candidate
            self._say()
            self._lanes.begin(candidate.number, self._task(candidate))

    def _task(self, candidate: Candidate) -> Callable[[], Trial]:
        def tried() -> Trial:
            return self._evaluator.trial(candidate.number, self._target, candidate.chosen, candidate.config)

        return tried

    def _new(self) -> Candidate | None:
        """What the search chooses next and nobody has tried; None where there is nothing, or no room for it."""
        begun = self._known + len(self._underway) + sum(map(len, self._twins.values()))
        while self._pace.room(self._target, begun):
            chosen = self._search.ask()
            if chosen is None:
                self._exhausted = True
                return None
            config = self._space.config_for(chosen)
            known, same = self._book.known(self._target, config), self._same(config)
            if known is not None:
                self._search.tell(chosen, known.costs(self._evaluator.objectives))
            elif same is not None:
                same.also.append(chosen)
            else:
                return Candidate(self._book.number(), chosen, config)
        return None

    def _same(self, config: Config) -> Candidate | None:
        """One that is begun and has the same configuration."""
        key = key_of(self._target, config)
        begun = [*self._underway.values(), *(twin for twins in self._twins.values() for twin, _ in twins)]
        return next((each for each in begun if key_of(self._target, each.config) == key), None)

    def _ended(self, candidate: Candidate, answer: Answer) -> None:
        if answer.trial is not None:
            self._keep(candidate, answer.trial)
        elif isinstance(answer.error, InFlight):
            self._park(candidate, answer.error)
        elif isinstance(answer.error, NoServer):
            self._lose(candidate, answer.error)
        elif answer.error is not None:
            raise answer.error

    def _keep(self, candidate: Candidate, trial: Trial) -> None:
        self._book.keep(trial)
        self._known = len(self._book.of(self._target))
        self._say()
        for chosen in (candidate.chosen, *candidate.also):
            self._search.tell(chosen, trial.costs(self._evaluator.objectives))
        for twin, looked in self._twins.pop(candidate.number, []):
            self._settle(twin, looked)

    def _settle(self, twin: Candidate, looked: Trial) -> None:
        """One that waited for another that was the same."""
        known = self._evaluator.memory.like(looked)
        if known is None:
            self._waiting.append(twin)
        else:
            self._keep(twin, known)

    def _park(self, candidate: Candidate, found: InFlight) -> None:
        if found.other in self._underway:
            self._twins.setdefault(found.other, []).append((candidate, found.trial))
        else:
            self._settle(candidate, found.trial)

    def _lose(self, candidate: Candidate, error: NoServer) -> None:
        """No device finished it: another one may, or the same when it is back."""
        self._evaluator.memory.release(candidate.number)
        self._lanes.lost()
        candidate.lost += 1
        if candidate.lost < SERVERS:
            self._waiting.appendleft(candidate)
        else:
            reason = f"devices went away {candidate.lost} times: {error}"
            begun = Trial(candidate.number, self._target, candidate.config, dict(candidate.chosen))
            self._keep(candidate, replace(begun, status=FAILED, reason=reason))
        for twin, looked in self._twins.pop(candidate.number, []):
            self._settle(twin, looked)

    def _say(self) -> None:
        self._says(list(self._underway.values()))
