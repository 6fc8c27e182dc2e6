"""What a person looks at in a TunePanel: the order of the table, the candidate that was picked, its code."""

from __future__ import annotations

from collections.abc import Callable

from workbench.dialects.base import Workload
from workbench.errors import WorkbenchError
from workbench.pipeline.build_code import build_code
from workbench.tune.run import Run
from workbench.tune.trial import Trial
from workbench.widgets import tune_blocks as tell
from workbench.widgets.background import Background

FIRST_OBJECTIVE = 2
"the column by which the table is ordered until somebody chooses another"


class Looking:
    """Changed by clicks; nothing in it changes the search.

    Parameters
    ----------
    workload, target
        What the shown candidates are of.
    show
        Called when a candidate's code was made.
    """

    def __init__(self, workload: Workload, target: str, show: Callable[[], None]) -> None:
        self.workload, self.target, self._show = workload, target, show
        self.all, self.code = False, False
        self._column: int | None = None
        self._down = False
        self._picked: int | None = None
        self._codes: dict[int, str] = {}
        self._trouble = ""
        # in a thread of its own: it must not take the place of something that is to be done to the search
        self._writing = Background("workbench-tune-code", self._failed)

    def sort(self, column: int) -> None:
        """Order the table by a column; the second time, the other way round."""
        self._down = not self._down if column == self._column else False
        self._column = column

    def pick(self, number: int | None) -> None:
        """Look at a candidate; at the winner for None."""
        self._picked = number

    def reorder(self) -> None:
        """Order the table by the first objective again."""
        self._column = None

    def forget(self) -> None:
        """Another search begins."""
        self._picked = None

    def tried(self, run: Run | None) -> list[Trial]:
        """The candidates for the target that is shown."""
        return [] if run is None else [trial for trial in run.trials if trial.target == self.target]

    def listed(self, run: Run) -> list[Trial]:
        """The rows of the table."""
        column = FIRST_OBJECTIVE if self._column is None else self._column
        found = tell.ordered(self.tried(run), run.objectives, column, self._down, run.space)
        return found[: tell.MOST if self.all else tell.FEW]

    def at(self, run: Run | None) -> tuple[Trial | None, bool]:
        """The candidate that was picked, else the winner; and whether it was picked."""
        tried = self.tried(run)
        picked = next((trial for trial in tried if trial.number == self._picked), None)
        if picked is not None or run is None:
            return picked, picked is not None
        return next(iter(run.known.pareto_for(self.target)), None), False

    def python(self, trial: Trial) -> str:
        """The candidate's code without the workbench; empty while it is not asked for or being made."""
        return self._codes.get(trial.number, self._trouble) if self.code else ""

    def write(self, run: Run | None) -> None:
        """Make the code of what is looked at. A pipeline's passes are run for this, so that it is made beside the notebook."""
        trial, _ = self.at(run)
        if self.code and trial is not None and trial.number not in self._codes:
            self._writing.submit(lambda _: self._write(trial))

    def wait(self, timeout: float) -> bool:
        """Wait until the code is there; whether that was in time."""
        return self._writing.wait(timeout)

    def _write(self, trial: Trial) -> None:
        try:
            self._codes[trial.number] = build_code(self.workload, trial.config, self.target)
        except WorkbenchError as error:
            self._codes[trial.number] = f"# {error}"
        self._show()

    def _failed(self, error: Exception) -> None:
        self._trouble = f"# The workbench itself failed: {type(error).__name__}: {error}"
        self._show()
