"""Runs a Pipeline over a Workload and keeps what each pass made.

A `Runner` remembers what each pass made of each state it met; so switching one pass of a long pipeline runs only the
passes from there on, and switching a pass that changed nothing runs none.
"""

from __future__ import annotations

import time
import weakref
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from workbench.dialects.base import SAFE_DEPTH, Workload, dialect_of
from workbench.errors import PipelineError, TooDeep, WorkbenchError, sentence
from workbench.graph.walk import depth
from workbench.pipeline.spec import PassStep, Pipeline
from workbench.pipeline.trace import State, Step, Trace

BIND = "BindParams"
"without options, the one pass that takes what the module does not hold: the workload's parameters"


def trace(workload: Workload, pipeline: Pipeline | str | list[Any], opt_level: int = 3) -> Trace:
    """Run a pipeline, one pass at a time.

    A pass that raises becomes a step with its error, and the passes after it run on the last good module. A pass whose
    own opt_level is above `opt_level` is skipped, as TVM's Sequential skips it.

    Parameters
    ----------
    pipeline
        A Pipeline, its text form, or a list of names, TVM Pass objects and callables.

    Raises
    ------
    UnknownName
        A pass name that the dialect does not have; nothing is run.
    TooDeep
        TVM's passes would end the process on a graph this deep.
    """
    return Runner(workload).run(_pipeline(pipeline), opt_level)


def _pipeline(given: Pipeline | str | list[Any]) -> Pipeline:
    if isinstance(given, Pipeline):
        return given
    return Pipeline([given]) if isinstance(given, str) else Pipeline(given)


@dataclass(frozen=True)
class _Outcome:
    state: State
    status: str
    seconds: float = 0.0
    error: str = ""
    detail: str = ""


class Runner:
    """Traces of one workload, with the prefixes they share run once."""

    MEMORY = 256
    "states kept; they share most of their nodes, so a state costs what its pass changed"

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.dialect = dialect_of(workload)
        self._outcomes: OrderedDict[tuple[Any, ...], _Outcome] = OrderedDict()
        self._workloads: weakref.WeakKeyDictionary[State, Workload] = weakref.WeakKeyDictionary()
        self.start = State(workload.module, workload.graph, workload.text)

    def run(
        self,
        pipeline: Pipeline,
        opt_level: int = 3,
        *,
        cancelled: Callable[[], bool] = lambda: False,
        progress: Callable[[int], None] = lambda _done: None,
    ) -> Trace:
        """The trace of a pipeline; `cancelled` is asked between passes, `progress` told how many are done."""
        found = depth(self.start.graph)
        if found > SAFE_DEPTH:
            raise TooDeep(
                f"{self.workload.name} chains {found} operators, and TVM's passes end the process beyond about {SAFE_DEPTH}; "
                "trace a part of it"
            )
        passes = [self._made(step) if step.enabled else None for step in pipeline]
        steps: list[Step] = []
        state = self.start
        for step, made in zip(pipeline, passes, strict=True):
            if cancelled():
                raise Cancelled
            if made is None:
                steps.append(Step(step.text, state, state, "off", run=step.run))
            else:
                key = (state, step.run or step.text, opt_level)
                outcome = self._remembered(key, lambda s=state, m=made: self._apply(m, s, opt_level))
                steps.append(
                    Step(
                        step.text,
                        state,
                        outcome.state,
                        outcome.status,
                        outcome.seconds,
                        outcome.error,
                        outcome.detail,
                        run=step.run,
                    )
                )
                state = outcome.state
            progress(len(steps))
        return Trace(
            self.workload.name, self.workload.dialect, tuple(steps), self.start, opt_level, workload=self.workload
        )

    def workload_of(self, state: State) -> Workload:
        """A state of a trace as a workload of its own, the same object each time."""
        if state is self.start:
            return self.workload
        found = self._workloads.get(state)
        if found is None:
            found = self._workloads[state] = Workload(
                state.module, self.workload.params, self.workload.name, self.workload.dialect
            )
        return found

    def _remembered(self, key: tuple[Any, ...], make: Callable[[], _Outcome]) -> _Outcome:
        if key not in self._outcomes:
            self._outcomes[key] = make()
            if len(self._outcomes) > self.MEMORY:
                self._outcomes.popitem(last=False)
        self._outcomes.move_to_end(key)
        return self._outcomes[key]

    def _made(self, step: PassStep) -> Any:
        if step.run is not None:
            return step.run
        if step.name.startswith("<"):
            raise PipelineError(
                f"{step.name} is a Python function of another notebook; give the function itself in its place"
            )
        if step.name == BIND and not step.options:
            return partial(self.dialect.bind, params=self.workload.params)
        return self.dialect.make(step.name, step.options)

    def _apply(self, made: Any, state: State, opt_level: int) -> _Outcome:
        is_pass = self.dialect.is_pass(made)
        if is_pass and self.dialect.runs_at(made) > opt_level:
            level = self.dialect.runs_at(made)
            return _Outcome(
                state, "skipped", error="", detail=f"TVM runs it from opt_level {level} on; this is {opt_level}"
            )
        started = time.perf_counter()
        try:
            module = self._applied(made, is_pass, state.module, opt_level)
        except WorkbenchError as error:
            return _Outcome(state, "error", time.perf_counter() - started, str(error), str(error))
        except Exception as error:  # noqa: BLE001  a pass is anybody's code; its failure is this step's result
            return _Outcome(state, "error", time.perf_counter() - started, sentence(error), str(error))
        seconds = time.perf_counter() - started
        if self.dialect.same(state.module, module):
            return _Outcome(state, "same", seconds)
        return _Outcome(self._state(module), "changed", seconds)

    def _applied(self, made: Any, is_pass: bool, module: Any, opt_level: int) -> Any:
        if is_pass:
            return self.dialect.apply(made, module, opt_level)
        result = made(module)
        if not self.dialect.is_module(result):
            raise PipelineError(f"it returned a {type(result).__name__}; a pass returns an IRModule")
        return self.dialect.typed(result)

    def _state(self, module: Any) -> State:
        return State(module, lambda: self.dialect.graph(module, self.workload.name), lambda: self.dialect.text(module))


class Cancelled(WorkbenchError):
    """The run was given up, by its user or for a newer one."""
