"""`wb.explore`: try every pass on a module, and report the effect of each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.dialects.base import Workload, workload_of
from workbench.dialects.catalog import PassInfo
from workbench.dialects.registry import dialect_of
from workbench.errors import MeasureError, WorkbenchError, WorkerLost, check_level
from workbench.graph.changes import Mark
from workbench.pipeline.config import KERNEL_PASSES
from workbench.pipeline.spec import BIND, PassStep, Pipeline
from workbench.terminal import html_table
from workbench.wording import counted
from workbench.worker.parent import JobOptions, Progress, silent, worker
from workbench.worker.progress import showing_progress

if TYPE_CHECKING:
    import pandas as pd

COUNTED = ("nodes", "ops", "kernels")


@dataclass(frozen=True)
class Effect:
    """The effect of one pass on the module."""

    name: str
    "the pass with its options, as in a pipeline's text"
    status: str
    "changed, same, error (it raised, took too long or ended its process) or untried"
    message: str = ""
    "the reason why it failed or wasn't tried"
    opt_level: int | None = None
    "TVM's Sequential runs it from this opt_level on; here it is run at any level"
    seconds: float = 0.0
    before: Mapping[str, int | None] = field(default_factory=dict)
    "nodes, ops and kernels; kernels are those that fusion would make of the module, None if fusion fails"
    after: Mapping[str, int | None] = field(default_factory=dict)
    diff: Mapping[Mark, int] = field(default_factory=dict)
    "nodes kept, changed, removed, added, merged, split"

    @property
    def changed(self) -> bool:
        return self.status == "changed"

    @property
    def rank(self) -> tuple[object, ...]:
        """Return the key by which the largest effect is first; of two equal ones, the one that saves kernels."""
        sizes = (-abs(self.delta(what) or 0) for what in ("kernels", "ops"))
        touched = sum(n for mark, n in self.diff.items() if mark != "kept")
        return (not self.changed, *sizes, -touched, self.delta("kernels") or 0, self.name)

    def delta(self, what: str) -> int | None:
        """Return after minus before of `nodes`, `ops` or `kernels`; 0 if nothing changed, None if unknown."""
        if not self.changed:
            return 0 if self.status == "same" else None
        before, after = self.before.get(what), self.after.get(what)
        return None if before is None or after is None else after - before


@dataclass(eq=False, repr=False)
class Exploration:
    """The passes to try on a module, and the results so far.

    It runs when it is iterated over or `run` is called. `rows` may be read from another thread meanwhile.
    """

    workload: Workload
    _waiting: list[tuple[PassStep, int | None]]
    "passes that are not tried yet, each with its opt level"
    rows: list[Effect]
    "the results, in the order in which the passes were tried"
    after: Pipeline
    opt_level: int
    timeout: float
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _cancelled: bool = False

    @property
    def done(self) -> bool:
        return not self._waiting

    @property
    def total(self) -> int:
        return len(self.rows) + len(self._waiting)

    @property
    def changing(self) -> list[Effect]:
        """The passes that change the module, the largest effect first: kernels, then operators, then nodes of the diff."""
        return sorted((row for row in self.rows if row.changed), key=lambda row: row.rank)

    def cancel(self) -> None:
        """Stop, including the pass that is being tried; a later `run` continues where this one stopped."""
        self._cancelled = True

    def run(self, progress: Callable[[Exploration], None] | None = None) -> Exploration:
        """Try the remaining passes; Ctrl-C leaves them for the next call.

        Parameters
        ----------
        progress
            Called after each; by default progress is shown in the cell or the terminal after a second.
        """
        with showing_progress(silent if progress else None, f"Exploring {self.workload.name}") as report:
            for _ in self._new(report):
                if progress is not None:
                    progress(self)
        return self

    def __iter__(self) -> Iterator[Effect]:
        yield from list(self.rows)
        yield from self._new()

    def _new(self, report: Progress = silent) -> Iterator[Effect]:
        self._cancelled = False
        while not self._cancelled:
            with self._turn:
                if not self._waiting:
                    return
                doing = f"{self._waiting[0][0].text} ({len(self.rows) + 1} of {self.total})"
                report(doing, len(self.rows) / self.total)
                row = self._tried(*self._waiting[0])
                if row is None:
                    continue  # cancelled: it is tried again
                self._waiting.pop(0)
                self.rows.append(row)
            yield row

    def _tried(self, step: PassStep, level: int | None) -> Effect | None:
        after = {"after": str(self.after), "opt_level": self.opt_level}
        limits: JobOptions = {"timeout": self.timeout, "cancelled": lambda: self._cancelled}
        try:
            asked = {"name": step.name, "options": dict(step.options), **after}
            found = worker("trials").run("effect", self.workload, asked, **limits)
        except MeasureError as error:
            is_lost = isinstance(error, WorkerLost) and self._cancelled
            return None if is_lost else Effect(step.text, "error", str(error), level)
        sizes = found["before"], found.get("after", {}), found.get("diff", {})
        return Effect(step.text, found["status"], found["error"], level, found["seconds"], *sizes)

    @property
    def table(self) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame([_table_row(row) for row in self.rows])

    def __repr__(self) -> str:
        changing = sum(row.changed for row in self.rows)
        return f"Exploration({self.workload.name!r}: {len(self.rows)} of {counted(self.total, 'pass')} tried, {changing} change it)"

    def _repr_html_(self) -> str:
        return html_table(repr(self), map(_table_row, sorted(self.rows, key=lambda row: row.rank)))


def explore(
    workload: Workload,
    passes: Iterable[str] | None = None,
    *,
    after: Pipeline | str = "",
    opt_level: int = 3,
    timeout: float = 60.0,
) -> Exploration:
    """Find the passes that would change this module: try passes in a child process one at a time, each on the same module.

    Parameters
    ----------
    passes
        Names, optionally with options in braces; by default every pass on graphs that TVM has. Passes that can't be tried from their
        name alone are rows too, with the reason.
    after
        A pipeline to run first, at `opt_level`: the place in a pipeline to explore.
    timeout
        Seconds for each pass; one that takes longer, or ends its process, is a row with that message.

    Returns
    -------
    Exploration
        It fills while it is iterated over, or by `run`.

    Raises
    ------
    PipelineError, UnknownName
        `after` or a name cannot be read.

    Examples
    --------
    >>> w = wb.samples.load("parallel_cast")
    >>> found = wb.explore(w, ["EliminateCommonSubexpr", "FoldConstant"]).run()
    >>> [(effect.name, effect.status) for effect in found]
    [('EliminateCommonSubexpr', 'changed'), ('FoldConstant', 'same')]
    """
    workload = workload_of(workload, "explore")
    check_level(opt_level)
    after = after if isinstance(after, Pipeline) else Pipeline.parse(after)
    here = dialect_of(workload)
    catalog = {info.name: info for info in here.passes.catalog()}
    for step in after:
        if step.run is not None:
            raise WorkbenchError(f"{step.name} is a function, which another process doesn't have; explore its result")
    waiting: list[tuple[PassStep, int | None]] = []
    untried: list[Effect] = []
    graph_passes = (name for name in sorted(catalog) if not name.startswith(KERNEL_PASSES))
    for step in Pipeline(graph_passes if passes is None else passes):
        info = catalog.get(step.name) or PassInfo(step.name, workload.dialect)
        if passes is None and info.reason:
            untried.append(Effect(step.text, "untried", info.reason, info.opt_level))
            continue
        options = dict(step.options) or dict(info.example)
        if passes is not None and step.name != BIND:
            here.passes.make(step.name, options)  # a wrong name or option is refused here
        waiting.append((PassStep(step.name, options), info.opt_level))
    return Exploration(workload, waiting, untried, after, opt_level, timeout)


def _table_row(row: Effect) -> dict[str, object]:
    sides = {"before": row.before, "after": row.after if row.changed else row.before}
    counts = {f"{what}_{when}": side.get(what) for what in COUNTED for when, side in sides.items()}
    head = {"pass": row.name, "status": row.status, **counts}
    return {**head, "seconds": row.seconds, "opt_level": row.opt_level, "message": row.message}
