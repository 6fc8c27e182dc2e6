"""The TunePanel: a search that the page starts, pauses, stops and applies, and that continues from its log after a restart."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from inspect import signature
from math import isfinite
from pathlib import Path
from typing import Any

import traitlets

from workbench.dialects.base import Workload, workload_of
from workbench.errors import UnknownKeyword, WorkbenchError
from workbench.experiments.tuning.result import Result
from workbench.experiments.tuning.run import Run, TuneOptions, prepared
from workbench.experiments.tuning.space import Space
from workbench.experiments.tuning.trial import Trial
from workbench.pipeline.build import build_code
from workbench.pipeline.config import Config
from workbench.quoting import comment
from workbench.target_text import TargetLike, target_texts
from workbench.widgets.background import Task, Work
from workbench.widgets.base import SAVED, TextView, json_trait, page, saved_traits
from workbench.widgets.blocks import Block, sendable, words
from workbench.widgets.graph.compare import CompareView
from workbench.widgets.history import Newest
from workbench.widgets.messages import Verbs, act, field, whole
from workbench.widgets.pictures import write
from workbench.widgets.tuning import blocks
from workbench.widgets.tuning.blocks import AT_WORK, OVER, Curve, Wish

FIRST_OBJECTIVE = (2, False)
"the column that orders the table at first, and whether its largest value is first"
OFTEN = 0.4
"seconds between two checks of a search"


class TunePanel(TextView):
    """A panel for `wb.tune`: start, pause, resume, stop, apply; the best so far, and every candidate.

    It never blocks the notebook. Each candidate is in the log before the next one begins, so a new panel, after the notebook
    was closed or the kernel restarted, continues and measures none of them again.

    Parameters
    ----------
    workload, space, targets
        As `wb.tune` takes them.
    log
        The file of the log; True for one in the folder of the file of measurements, None for none.
    how
        Other parameters of `wb.tune`: `objective`, `budget` (seconds), `trials`, `method`, `seed`, and so on.

    Attributes
    ----------
    applied
        The workload with the winner's passes, after `apply` was pressed or called.

    Examples
    --------
    >>> panel = wb.TunePanel(w, objective="kernels", log="cast.jsonl")  # doctest: +SKIP
    >>> panel.start(); panel.wait(); panel.apply().graph.kernel_count  # doctest: +SKIP
    """

    _view = traitlets.Unicode("tune").tag(**SAVED)
    height = traitlets.Int(720, min=120, help="most height in CSS pixels").tag(**SAVED)
    blocks = json_trait(list[Block])

    def __init__(
        self,
        workload: Workload,
        space: Space | None = None,
        targets: TargetLike | Iterable[TargetLike] = ("llvm",),
        *,
        log: str | Path | bool | None = True,
        **how: Any,
    ) -> None:
        traits = {name: how.pop(name) for name in ("height", "layout") if name in how}
        UnknownKeyword.refuse("TunePanel", how, ["height", *signature(TuneOptions).parameters])
        self.workload = workload_of(workload, "TunePanel")
        self._space, self._targets = space, target_texts(targets)
        given = how.pop("objective", "time")
        self._wish = Wish(given, how.pop("budget", 60.0), given)
        self._how: dict[str, Any] = {**how, "log": log}
        self.run: Run | None = None
        "the search; None while its log is being read"
        self.applied: Workload | None = None
        self._trouble, self._busy = "", ""
        # what the page shows of the candidates
        self._all, self._coded, self._order = False, False, FIRST_OBJECTIVE
        self._picked: int | None = None
        self._codes, self._curve = Newest[Config, str](), Curve()
        self._telling, self._heard = threading.Lock(), threading.Event()
        work = Work(self._failed)
        self._asked, self._followed, self._written = map(work.lane, ("tune", "tune-follow", "tune-code"))
        super().__init__(**traits)
        self._verbs = Verbs(self)
        self.on_msg(self._receive)
        self._read()
        self._show()

    # -- the Python interface

    @act("tune-start")
    def start(self) -> None:
        """Begin, or continue after a pause, after a stop, or from the log."""
        self._busy = self._busy or "Beginning"
        self._asked.submit(self._begin)

    @act("tune-pause")
    def pause(self) -> None:
        """Begin no new candidate; the current one is finished."""
        if self.run is not None:
            self.run.pause()

    @act("tune-stop")
    def stop(self) -> None:
        """End the search; the current candidate is cancelled."""
        if self.run is not None:
            self.run.stop()

    def apply(self) -> Workload:
        """Return the workload with the winner's graph passes, and keep it in `applied`."""
        self.applied = self.result.apply(target=self._targets[0])
        self._show()
        return self.applied

    def compare(self) -> CompareView:
        """Compare the original graph with the graph after the winner's passes."""
        after = self.applied or self.apply()
        return CompareView(self.workload, after, titles=["as given", "the winner's"])

    def wait(self, timeout: float = 120) -> bool:
        """Wait until all requests are done and the search is over or paused; return whether that happened in time."""
        ends = time.monotonic() + timeout
        while (left := ends - time.monotonic()) > 0:
            rests = self._asked.wait(left) and self._written.wait(left)
            if rests and (self._followed.wait(0.0) or (self.run is not None and self.run.status == "paused")):
                return True
            time.sleep(0.02)
        return False

    @property
    def result(self) -> Result:
        """The results so far, as `wb.tune` returns them.

        Raises
        ------
        WorkbenchError
            The search failed, or there is none yet.
        """
        if self.run is None:
            raise WorkbenchError(self._trouble or "the log is still being read; panel.wait() waits for it")
        return self.run.result()

    # -- the search, in the background

    def _read(self) -> None:
        """Read the log, and forget earlier results."""
        self.run = None
        self._do(self._prepare, "Reading the log")

    def _prepare(self) -> None:
        wanted = {"objective": self._wish.objective, "budget": self._wish.budget}
        run = prepared(self.workload, self._space, self._targets, TuneOptions(**self._how, **wanted))
        # the choices stay the same when the search is begun again
        self._space, self._picked = run.space, None
        self.run = run

    def _do(self, make: Callable[[], object], busy: str) -> None:
        self._busy = busy
        self._asked.submit(lambda _: self._finish(make))

    def _finish(self, make: Callable[[], object]) -> None:
        try:
            make()
            self._trouble = ""
        except WorkbenchError as error:
            self._trouble = str(error)
        finally:
            self._busy = ""
        self._show()

    def _begin(self, _: Task) -> None:
        if self.run is not None and self.run.status == "paused":
            self.run.resume()
        elif self.run is None or self.run.status != "running":
            if self.run is None or self.run.status != "ready":
                self._finish(self._prepare)
            run = self.run
            if run is not None and run.status == "ready":
                run.listen(lambda _: self._heard.set())
                run.start()
                # a search that is over is shown to its end before this one
                self._followed.submit(lambda _: self._follow(run))
        self._busy = ""
        self._show()

    def _follow(self, run: Run) -> None:
        """Show the search until it is over, at long intervals, because each update may draw."""
        while run.status not in OVER:
            self._heard.wait(1.0)
            self._heard.clear()
            self._show()
            run.wait(OFTEN)
        self._show()

    def _failed(self, error: Exception) -> None:
        self._trouble, self._busy = f"The workbench itself failed: {type(error).__name__}: {error}", ""
        self._show()

    # -- messages from the page

    def _receive(self, _: object, content: object, __: object) -> None:
        try:
            request = self._verbs.read(content)
            if request is None:
                return
            request.run()
        except WorkbenchError as error:
            self._trouble = str(error)
        # the code of another candidate: it runs a pipeline's passes
        trial, _picked = self._chosen()
        if self._coded and trial is not None and trial.config not in self._codes:
            self._written.submit(lambda _: self._write(trial))
        self._show()

    @act("tune-apply")
    def _apply(self) -> None:
        self._do(self.apply, "Applying the winner")

    @act("tune-all")
    def _toggle_all(self) -> None:
        self._all = not self._all

    @act("tune-code")
    def _toggle_code(self) -> None:
        self._coded = not self._coded

    @act("tune-sort")
    def _sort(self, arg: str) -> None:
        """Order the table by a column; the second time in reverse."""
        column = whole(arg)
        if column is not None:
            self._order = (column, not self._order[1] if column == self._order[0] else False)

    @act("tune-pick")
    def _pick(self, arg: str) -> None:
        number = whole(arg)
        self._picked = self._picked if number is None else number

    @field("tune-objective")
    def _set_objective(self, value: str) -> None:
        if value in self._wish.choices:
            self._change(objective=self._wish.choices[value])

    @field("tune-budget")
    def _set_budget(self, value: str) -> None:
        try:
            seconds = float(value)
        except ValueError:
            seconds = float("nan")
        if not isfinite(seconds):
            raise WorkbenchError(f"{value[:40]!r} is not a number of seconds")
        self._change(budget=seconds)

    def _change(self, **wish: Any) -> None:
        if self.run is None or self.run.status not in AT_WORK:
            self._wish, self._order = replace(self._wish, **wish), FIRST_OBJECTIVE
            self._read()

    # -- the content of the page

    def _tried(self) -> list[Trial]:
        return [] if self.run is None else [trial for trial in self.run.trials if trial.target == self._targets[0]]

    def _listed(self, run: Run) -> list[Trial]:
        found = blocks.ordered(self._tried(), run.objectives, *self._order, run.space)
        return found[: blocks.MOST if self._all else blocks.FEW]

    def _chosen(self) -> tuple[Trial | None, bool]:
        """Return the picked candidate, else the winner; and whether it was picked."""
        picked = next((trial for trial in self._tried() if trial.number == self._picked), None)
        if picked is not None or self.run is None:
            return picked, picked is not None
        return next(iter(self.run.known.pareto_for(self._targets[0])), None), False

    def _write(self, trial: Trial) -> None:
        try:
            self._codes[trial.config] = build_code(self.workload, trial.config, self._targets[0])
        except WorkbenchError as error:
            self._codes[trial.config] = f"# {comment(error)}"
        self._show()

    def _show(self) -> None:
        with self._telling:
            self.blocks = sendable(self._page_blocks())

    def _page_blocks(self) -> list[Block]:
        run, target, tried = self.run, self._targets[0], self._tried()
        head = blocks.controls(run, self._wish, self._busy, applies=bool(tried))
        head += [words(self._trouble, "bad", "tune-trouble")] if self._trouble else []
        doing = f"{self._busy} …" if self._busy else "No search." if run is None else blocks.state(run)
        if run is None:
            return [*head, words(doing, name="tune-state")]
        head += [
            words(doing, "bad" if run.status == "failed" else "", "tune-state"),
            words(blocks.counts(run, target), "small", "tune-counts"),
        ]
        if not tried:
            return [*head, words("Start, and each candidate becomes a row here.", "small")]
        known, (trial, picked) = run.known, self._chosen()
        return [
            *head,
            words(blocks.best(known, target, run.space), "strong", "tune-best"),
            *blocks.failures(run),
            *blocks.more(len(tried), self._all),
            blocks.candidates(self._listed(run), run.objectives, known.pareto_for(target), run.space, self._order),
            self._curve.block(known, target, run.status),
            *([] if trial is None else blocks.details(run, trial, picked=picked, applied=self.applied)),
            *([] if trial is None else blocks.python(self._codes.get(trial.config, ""), wanted=self._coded)),
        ]

    # -- the saved page

    def save(self, path: str | Path) -> Path:
        """Save the text of the panel as one `.html` file.

        Raises
        ------
        WorkbenchError
            Another suffix; `wb.plots.tuning_progress(panel.result.table)` is a picture of the search.
        """
        path = Path(path).expanduser()
        if path.suffix.lower() != ".html":
            raise WorkbenchError(
                f"{path.name!r} was not written: a TunePanel is saved as .html; wb.plots.tuning_progress(panel.result.table) is a picture"
            )
        return write(path, page(saved_traits(self), "tvm-workbench"))

    def _still_words(self, *, drawn: bool) -> str:  # noqa: ARG002  it has no picture
        run = self.run
        return blocks.still(run, self._targets[0], [] if run is None else self._listed(run))
