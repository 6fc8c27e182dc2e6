"""Strategies that choose the next candidate: all of a small space, or Optuna's suggestions."""

from __future__ import annotations

import heapq
import importlib.util
import random
import threading
from collections.abc import Iterator
from functools import cache, cached_property
from types import ModuleType
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError
from workbench.experiments.tuning.space import Assignment, Space

if TYPE_CHECKING:
    from optuna import Study, Trial
    from optuna.distributions import BaseDistribution, CategoricalDistribution


def load_in_background() -> None:
    """Begin to import Optuna in a thread, since that takes long and the first candidates do not need it."""
    if importlib.util.find_spec("optuna") is None:
        raise WorkbenchError(
            "a guided search needs Optuna: pip install 'tvm-workbench[tune]', or give method='exhaustive' or a smaller space"
        )
    threading.Thread(target=optuna, name="loading Optuna", daemon=True).start()


def optuna() -> ModuleType:
    """Return the module `optuna`."""
    import optuna

    return optuna


def choice_of(count: int) -> CategoricalDistribution:
    """Return a categorical choice of `count` indexes; it is its own copy, since Optuna copies it with every trial."""
    return _kind()(tuple(range(count)))


@cache
def _kind() -> type:
    class Choice(optuna().distributions.CategoricalDistribution):
        def __deepcopy__(self, memo: dict[int, object]) -> Choice:
            return self

        def __eq__(self, other: object) -> bool:
            return self is other or super().__eq__(other)

        def __hash__(self) -> int:
            return super().__hash__()

    return Choice


SMALL = 64
"size of the largest space that is tried completely"
STUDY_TRIALS = 96
"""Most trials in the estimator, since the time of a suggestion is proportional to them: with more, it continues with the best quarter and
the newest quarter."""
NEIGHBOURS = 4
"neighbours of the best that are tried after the estimator repeats a suggestion, since it would repeat it again"
Costs = tuple[float, ...]
Point = tuple[int, ...]
"index of the choice for each knob"


def search(space: Space, objectives: int, seed: int, method: str = "auto") -> Search:
    """Return the strategy for a space, of which so many values are minimised.

    `auto` tries all of a space of up to SMALL candidates, and guides the search of a larger one, which needs Optuna.
    """
    if method not in ("auto", "exhaustive", "guided"):
        raise WorkbenchError(f"there is no search method {method!r}; give 'auto', 'exhaustive' or 'guided'")
    if method == "exhaustive" or (method == "auto" and space.size <= SMALL):
        return Exhaustive(space)
    return Guided(space, objectives, seed)


class Search:
    """A strategy that chooses candidates, given as points; `ask` may be called several times before the first result."""

    def __init__(self, space: Space) -> None:
        self.knobs = space.knobs
        self.default: Point = tuple(0 for _ in self.knobs)

    def ask(self) -> Assignment | None:
        """Return the next candidate that was neither returned nor recorded before; None when there is none."""
        point = self._next()
        if point is None:
            return None
        return {knob.name: knob.choices[place] for knob, place in zip(self.knobs, point, strict=True)}

    def tell(self, chosen: Assignment, costs: Costs | None) -> None:
        """Record the result of a candidate, from `ask` or not: the values to minimise, or None where it may not win."""
        # a choice that is not in this space has no point
        if set(chosen) == {knob.name for knob in self.knobs} and all(
            chosen[knob.name] in knob.choices for knob in self.knobs
        ):
            self._learn(tuple(knob.choices.index(chosen[knob.name]) for knob in self.knobs), costs)

    def _next(self) -> Point | None:
        raise NotImplementedError

    def _learn(self, point: Point, costs: Costs | None) -> None:
        raise NotImplementedError

    def _neighbours(self, point: Point) -> Iterator[Point]:
        for place, knob in enumerate(self.knobs):
            for choice in range(len(knob.choices)):
                if choice != point[place]:
                    yield (*point[:place], choice, *point[place + 1 :])


class Exhaustive(Search):
    """The strategy that tries every candidate, those with the fewest changes first."""

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self._told: set[Point] = set()
        self._waiting = self._ordered()

    def _ordered(self) -> Iterator[Point]:
        """Iterate over all points from the default outwards, with a heap of neighbours instead of a sorted list."""
        seen, heap = {self.default}, [(0, self.default)]
        while heap:
            _, point = heapq.heappop(heap)
            yield point
            for other in self._neighbours(point):
                if other not in seen:
                    seen.add(other)
                    heapq.heappush(heap, (sum(map(bool, other)), other))

    def _next(self) -> Point | None:
        return next((point for point in self._waiting if point not in self._told), None)

    def _learn(self, point: Point, costs: Costs | None) -> None:  # noqa: ARG002  results do not change the order
        self._told.add(point)


class Guided(Search):
    """Optuna's tree-structured Parzen estimator, started at the default and each single change of it.

    If it repeats a suggestion, new neighbours of the best are tried instead, so the search does not stop
    before the space is empty.
    """

    def __init__(self, space: Space, objectives: int, seed: int, *, begin: bool = True) -> None:
        super().__init__(space)
        self._size, self._objectives = space.size, objectives
        self._random = random.Random(seed)
        load_in_background()
        self._near = 0
        "number of next candidates that are neighbours of the best"
        self._known = 0
        "number of trials in the study"
        self._told: dict[Point, Costs | None] = {}
        self._given: set[Point] = set()
        "points returned by `ask` without a result yet"
        self._untaught: list[Point] = []
        "points with a result that is not in the study yet"
        self._asked: dict[Point, Trial] = {}
        single = list(self._neighbours(self.default))
        self._random.shuffle(single)
        self._first = [self.default, *single] if begin else []

    @cached_property
    def _optuna(self) -> ModuleType:
        return optuna()

    @cached_property
    def _choices(self) -> dict[str, BaseDistribution]:
        return {knob.name: choice_of(len(knob.choices)) for knob in self.knobs}

    @cached_property
    def _study(self) -> Study:
        return self._create_study()

    def _create_study(self) -> Study:
        # each study draws different numbers, the same ones if the search is repeated
        seed = self._random.randrange(1 << 32)
        sampler = self._optuna.samplers.TPESampler(seed=seed, multivariate=True)
        # Optuna logs each new study; the run reports its own progress
        logging, before = self._optuna.logging, self._optuna.logging.get_verbosity()
        logging.set_verbosity(logging.WARNING)
        try:
            return self._optuna.create_study(sampler=sampler, directions=["minimize"] * self._objectives)
        finally:
            logging.set_verbosity(before)

    def _next(self) -> Point | None:
        if len(self._told) + len(self._given) >= self._size:
            return None
        point = None
        while self._first and point is None:
            first = self._first.pop(0)
            point = first if self._is_new(first) else None
        if point is None:
            point = None if self._near else self._suggest()
            self._near = max(0, self._near - 1)
        if point is None:
            point = self._unseen()
        self._given.add(point)
        return point

    def _is_new(self, point: Point) -> bool:
        return point not in self._told and point not in self._given

    def _suggest(self) -> Point | None:
        self._teach_new()
        trial = self._study.ask(self._choices)
        point = tuple(trial.params[knob.name] for knob in self.knobs)
        if not self._is_new(point):
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
            self._near = NEIGHBOURS
            return None
        self._asked[point] = trial
        return point

    def _good(self) -> list[Point]:
        good = [(costs, point) for point, costs in self._told.items() if costs is not None]
        return [point for _, point in sorted(good, key=lambda each: each[0])]

    def _unseen(self) -> Point:
        here = next(iter(self._good()), self.default)
        seen, ring = {here}, [here]
        while ring:
            ring = list({new: None for point in ring for new in self._neighbours(point) if new not in seen})
            fresh = [point for point in ring if self._is_new(point)]
            if fresh:
                return self._random.choice(fresh)
            seen.update(ring)
        raise AssertionError("a point without a recorded result is reachable by single changes")

    def _learn(self, point: Point, costs: Costs | None) -> None:
        if point not in self._told:
            self._told[point] = costs
            self._given.discard(point)
            self._untaught.append(point)

    def _teach_new(self) -> None:
        """Add new trials to the study. This takes time, so it is done only before the study is asked."""
        untaught, self._untaught = self._untaught, []
        if self._known + len(untaught) > STUDY_TRIALS:
            quarter = STUDY_TRIALS // 4
            untaught = list(dict.fromkeys((*self._good()[:quarter], *list(self._told)[-quarter:])))
            self._study, self._asked, self._known = self._create_study(), {}, 0
        self._known += len(untaught)
        for point in untaught:
            costs, trial = self._told[point], self._asked.pop(point, None)
            states = self._optuna.trial.TrialState
            # pruned trials show the estimator what to avoid; with several objectives Optuna supports only failed ones
            out = states.PRUNED if self._objectives == 1 else states.FAIL
            state = out if costs is None else states.COMPLETE
            if trial is not None:
                self._study.tell(trial, costs, state=state)
                continue
            params = {knob.name: place for knob, place in zip(self.knobs, point, strict=True)}
            kinds = self._choices
            self._study.add_trial(
                self._optuna.trial.create_trial(params=params, distributions=kinds, values=costs, state=state)
            )
