"""A program's passes, switched for waterfalls and ablations: on one by one, off one by one, or one alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect_of
from workbench.errors import UnknownName, WorkbenchError, check_seconds
from workbench.measurement.count import Counts, count_config, piped
from workbench.measurement.row import COUNTED, FAILED
from workbench.pipeline.build import trace_build
from workbench.pipeline.config import Config
from workbench.pipeline.run import Runner
from workbench.pipeline.spec import Pipeline
from workbench.worker.parent import Progress, never, silent

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Switches:
    """The passes of a pipeline of ours; without one, those of the compiler's own that a PassContext can switch."""

    names: tuple[str, ...]
    "in the order in which they run"
    pipeline: Pipeline | None
    base: Config
    "the settings that do not change"

    def with_only(self, on: tuple[int, ...], name: str) -> Config:
        """Return the configuration in which only the passes at these places run, of those that can be switched."""
        if self.pipeline is None:
            off = tuple(pass_ for place, pass_ in enumerate(self.names) if place not in on)
            return replace(self.base, name=name, disabled=(*self.base.disabled, *off))
        # all of them stay in the text, since a configuration without a pipeline uses the compiler's own
        steps = Pipeline(replace(step, enabled=place in on) for place, step in enumerate(self.pipeline))
        return replace(self.base, name=name, pipeline=str(steps))

    @property
    def all(self) -> tuple[int, ...]:
        return tuple(range(len(self.names)))

    def place(self, name: str) -> int:
        if name not in self.names:
            raise UnknownName("pass here", name, self.names)
        return self.names.index(name)


def switches(workload: Workload, pipeline: Pipeline | str | Config | None, opt_level: int) -> Switches:
    """Return the passes that can be switched: those of a pipeline, or of the compiler's own at that opt level.

    A Config is for the passes that run under it, at its own opt level. A pipeline with a Python function has no text to
    build it from, and is refused.
    """
    base = pipeline if isinstance(pipeline, Config) else Config(opt_level=opt_level)
    if isinstance(pipeline, Config):
        pipeline = pipeline.pipeline or None
    if pipeline is not None:
        made = pipeline if isinstance(pipeline, Pipeline) else Pipeline.parse(pipeline)
        running = Pipeline(step for step in made if step.enabled)
        Pipeline.parse(str(running))
        return Switches(tuple(step.text for step in running), running, base)
    free = {name: level for name, level in free_passes(workload).items() if name not in base.disabled}
    running = [name for name, level in free.items() if level <= base.opt_level and name not in base.required]
    return Switches(tuple(running), None, base)


def free_passes(workload: Workload) -> dict[str, int]:
    """Return the passes of the compiler's own pipeline that a PassContext can switch, each with its opt level."""
    here = dialect_of(workload).passes
    infos = {info.name: info for info in here.catalog()}
    return {name: infos[name].opt_level or 0 for name in here.toggles() if not infos[name].locked}


@dataclass(frozen=True, kw_only=True)
class PassesRequest:
    """The common part of an ablation and a waterfall; the fields are parameters of `wb.ablate` and `wb.waterfall`."""

    workload: Workload
    target: str
    pipeline: Pipeline | str | Config | None = None
    opt_level: int = 3
    timed: bool = True
    budget: float = 1.0
    progress: Progress = silent
    cancelled: Callable[[], bool] = never
    known: Runner | None = None
    "a runner of the workload, whose results are used"

    @cached_property
    def runner(self) -> Runner:
        """Return the runner of all passes of this request."""
        return self.known or Runner(self.workload)

    def __post_init__(self) -> None:
        check_seconds(budget=self.budget)


@dataclass(frozen=True)
class CountedRow:
    """The counts of a workload with some of its passes, or the reason for none."""

    name: str
    "the pass that is switched"
    config: Config
    counts: Counts | None = None
    status: str = COUNTED
    message: str = ""

    @property
    def figures(self) -> dict[str, object]:
        """Return `kernels`, `functions`, `traffic_bytes`, `handover_bytes`, `peak_bytes`; empty if not counted."""
        found = self.counts
        if found is None:
            return {}
        counts = {"kernels": found.calls, "functions": found.functions, "traffic_bytes": found.traffic_bytes}
        return {**counts, "handover_bytes": sum(found.handover_bytes.values()), "peak_bytes": found.peak_bytes}

    def to_data(self) -> dict[str, object]:
        status = {"status": self.status, "message": self.message}
        return {"pass": self.name, "config": self.config.label, **self.figures, **status}


R = TypeVar("R", bound=CountedRow)


def count_rows(request: PassesRequest, cases: Sequence[R]) -> Iterator[tuple[R, ...]]:
    """Yield the rows that have their counts, one more each time, until the request is cancelled.

    Nothing is built, and equal programs are counted once.
    """
    runner, rows = request.runner, []
    # a program is held, so that its id is not reused; in the place of its counts may be the reason for none
    known: dict[tuple[int, str], tuple[Workload, Counts | str]] = {}
    for place, row in enumerate(cases):
        if request.cancelled():
            return
        config, doing, share = row.config, f"Counting {row.config.label}", place / len(cases)
        request.progress(doing, share)

        def waiting(waits: str, _: float | None, doing: str = doing, share: float = share) -> None:
            request.progress(f"{doing}: {waits}", share)

        found: Counts | str
        try:
            program = request.workload
            if config.pipeline:
                program = piped(runner, Pipeline.parse(config.pipeline), config.opt_level, request.cancelled)
            key = id(program), repr(config.context().to_data() | {"name": ""})
            if key not in known:
                how = {"progress": waiting, "cancelled": request.cancelled}
                known[key] = program, _counts(program, config, request.target, **how)
            found = known[key][1]
        except WorkbenchError as error:
            found = str(error)
        if request.cancelled():
            return
        is_counted = isinstance(found, Counts)
        rows.append(replace(row, counts=found) if is_counted else replace(row, status=FAILED, message=found))
        yield tuple(rows)


def _counts(program: Workload, config: Config, target: str, **how: Any) -> Counts | str:
    """Return the counts, or the reason for none: a program that ends its process or takes too long is not tried again."""
    try:
        found = count_config(program, config, target, **how)
    except WorkbenchError as error:
        return str(error)
    return found.reason if found.status == FAILED else found


def finished(rows: Iterable[Sequence[CountedRow]]) -> pd.DataFrame:
    """Return the table of the last of several lists of rows, which is complete."""
    from workbench.measurement.tables import Table

    last: Sequence[CountedRow] = ()
    for last in rows:  # noqa: B007
        pass
    return Table([row.to_data() for row in last])


def effective(request: PassesRequest, switched: Switches) -> set[int]:
    """Return the places of the passes that change something when all run: without another, the program is the same."""
    how = switched.base
    if switched.pipeline is not None:
        trace = request.runner.run(switched.pipeline, how.opt_level)
        return {place for place, step in enumerate(trace.steps) if step.changed}
    chosen = how.opt_level, how.disabled, how.required, how.options
    trace = trace_build(request.workload, request.target, *chosen, whole=False, cancelled=request.cancelled)
    changed = {step.name for step in trace.steps if step.changed}
    return {place for place, name in enumerate(switched.names) if name in changed}
