"""`t.check`: check for every step that the module after it computes the same as the module before it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.dialects.base import Workload
from workbench.dialects.compiler.inputs import Inputs, with_inputs
from workbench.errors import Cancelled, MeasureError, NotRepeatable, WorkbenchError, WorkerLost
from workbench.graph.model import Graph
from workbench.pipeline.outputs import OutputDifference, Values, difference, run_once
from workbench.pipeline.step import State, Step, Steps
from workbench.terminal import html_table, visible
from workbench.wording import counted
from workbench.worker.parent import silent
from workbench.worker.progress import showing_progress

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class NodeDifference:
    """The first node whose value differs after the step; the values it is computed from are equal."""

    before: int
    "id in the graph before the step"
    after: int
    "id in the graph after it"
    difference: OutputDifference


@dataclass(frozen=True)
class StepCheck:
    """The result of checking one step."""

    step: int
    "place in `trace.steps`"
    name: str
    status: str
    "same, different, unchanged (the step changed nothing and was not run) or unknown (it could not be run)"
    difference: OutputDifference | None = None
    first: NodeDifference | None = None
    message: str = ""
    "the reason why it could not be run, or the difference, in a sentence"

    def __bool__(self) -> bool:
        return self.status != "different"


@dataclass(frozen=True)
class Checks:
    """The checked steps of a trace, in order."""

    rows: tuple[StepCheck, ...]

    @property
    def failed(self) -> tuple[StepCheck, ...]:
        """The steps that changed the outputs."""
        return tuple(row for row in self.rows if row.status == "different")

    def __bool__(self) -> bool:
        return not self.failed

    def __iter__(self) -> Iterator[StepCheck]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        """Return a line for each step: its pass, its status, and the reason."""
        lines = (f"{row.name}: {row.status}{f', {row.message}' if row.message else ''}" for row in self.rows)
        return visible("\n".join(lines))

    def _repr_html_(self) -> str:
        changed = counted(len(self.failed), "step")
        return html_table(f"{changed} of {len(self.rows)} changed the outputs", map(_table_row, self.rows))

    @property
    def table(self) -> pd.DataFrame:
        """One row for each step: status, largest errors, the first node that differs."""
        import pandas as pd

        return pd.DataFrame([_table_row(row) for row in self.rows])


def check(
    trace: Steps,
    steps: int | Iterable[int] | None,
    *,
    inputs: Inputs | None,
    seed: int,
    timeout: float,
    progress: Callable[[StepCheck], None] | None,
    cancelled: Callable[[], bool],
) -> Checks:
    """Check steps of a trace; see `Trace.check`."""
    if trace.workload is None:
        raise WorkbenchError("this trace was opened from a file and holds no modules; run it again to check it")
    places = range(len(trace.steps)) if steps is None else [steps] if isinstance(steps, int) else list(steps)
    run = _Runs(with_inputs(trace.workload, inputs), seed, timeout, cancelled)
    rows: list[StepCheck] = []
    with showing_progress(silent if progress else None, f"Checking the passes of {trace.name}") as report:
        for place in places:
            if cancelled():
                raise Cancelled
            step = trace.step(place)
            report(f"{step.name} ({len(rows) + 1} of {len(places)})", len(rows) / len(places))
            rows.append(_checked(run, step, range(len(trace.steps))[place]))
            if progress is not None:
                progress(rows[-1])
    return Checks(tuple(rows))


class _Runs:
    """The outputs of states; each state runs once."""

    def __init__(self, workload: Workload, seed: int, timeout: float, cancelled: Callable[[], bool]) -> None:
        self.workload, self.seed, self.timeout, self.cancelled = workload, seed, timeout, cancelled
        self.found: dict[State, Values | MeasureError] = {}

    def outputs(self, state: State) -> Values:
        """Return the outputs of the state's module. An error is also kept, and raised each time."""
        if state not in self.found:
            try:
                self.found[state] = self.values(state, nodes=False)
            except WorkerLost as error:
                if self.cancelled():
                    raise Cancelled from None
                self.found[state] = error
            except MeasureError as error:
                self.found[state] = error
        found = self.found[state]
        if isinstance(found, MeasureError):
            raise found
        return found

    def values(self, state: State, *, nodes: bool) -> Values:
        workload = self.workload
        if state.module is not None and state.module is not workload.module:
            workload = workload.of(state.module)
        return run_once(
            workload,
            kept=state.kept,
            wanted="nodes" if nodes else "repeatable outputs",
            seed=self.seed,
            timeout=self.timeout,
            cancelled=self.cancelled,
        )


def _checked(run: _Runs, step: Step, place: int) -> StepCheck:
    if step.state_after is step.state_before:
        return StepCheck(place, step.name, "unchanged")
    try:
        before = run.outputs(step.state_before)
    except NotRepeatable as error:
        return StepCheck(place, step.name, "unknown", message=str(error))
    except MeasureError as error:
        return StepCheck(place, step.name, "unknown", message=f"the module before it does not run: {error}")
    try:
        found = difference(before.outputs, run.outputs(step.state_after).outputs)
    except NotRepeatable as error:
        return StepCheck(place, step.name, "different", message=f"after it, {error}")
    except MeasureError as error:
        return StepCheck(place, step.name, "unknown", message=f"the module after it does not run: {error}")
    if found.same:
        return StepCheck(place, step.name, "same", found)
    first = _first(run, step, found)
    where = "" if first is None else f"; {step.after.nodes[first.after].op} is the first node that differs"
    message = (
        f"{found.differing} of {found.elements} values differ, by up to {found.max_absolute:.3g} "
        f"({found.max_relative:.1%} of the largest){where}"
    )
    return StepCheck(place, step.name, "different", found, first, message)


def _first(run: _Runs, step: Step, found: OutputDifference) -> NodeDifference | None:
    """Return the first node in both graphs whose value differs, else the output that differs."""
    outputs = [_returned(graph) for graph in (step.before, step.after)]
    last = None
    if len(outputs[0]) == len(outputs[1]) > found.worst:
        last = NodeDifference(outputs[0][found.worst], outputs[1][found.worst], found)
    try:
        before, after = (run.values(state, nodes=True).nodes for state in (step.state_before, step.state_after))
    except MeasureError:
        return last
    pairs = ((b, a) for b, many in step.diff.mapping.items() for a in many)
    for b, a in sorted(pairs, key=lambda pair: pair[1]):
        ours, theirs = before.get(b), after.get(a)
        # with another shape or type the values cannot be compared
        if ours is None or theirs is None or (ours.shape, ours.dtype) != (theirs.shape, theirs.dtype):
            continue
        apart = difference([ours], [theirs])
        if not apart.same:
            return NodeDifference(b, a, apart)
    return last


def _returned(graph: Graph) -> list[int]:
    """Return the nodes of a run's outputs, with the fields of a tuple instead of the tuple."""
    found: list[int] = []
    waiting = list(reversed(graph.outputs))
    while waiting:
        id = waiting.pop()
        if graph.nodes[id].kind == "tuple":
            waiting.extend(reversed(graph.inputs[id]))
        else:
            found.append(id)
    return found


def _table_row(row: StepCheck) -> dict[str, object]:
    found, first = row.difference, row.first
    return {
        "step": row.step,
        "pass": row.name,
        "status": row.status,
        "max_absolute": None if found is None else found.max_absolute,
        "max_relative": None if found is None else found.max_relative,
        "first_before": None if first is None else first.before,
        "first_after": None if first is None else first.after,
        "message": row.message,
    }
