"""A search that is started, paused, stopped and applied from the page, and goes on from its log after a restart."""

from __future__ import annotations

import html
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import traitlets

from workbench.dialects.base import Workload
from workbench.errors import WorkbenchError
from workbench.pipeline.code import build_code
from workbench.plots import tuning_progress
from workbench.plots.tuning import ROWS
from workbench.tune.result import Result
from workbench.tune.run import Run
from workbench.tune.space import Space
from workbench.tune.trial import OBJECTIVES, Trial, front
from workbench.tune.tuning import prepared
from workbench.widgets import messages
from workbench.widgets import tune_blocks as tell
from workbench.widgets.background import Background
from workbench.widgets.blocks import Block, action, code, entry, heading, picture, sendable, words
from workbench.widgets.bundle import Shown, View
from workbench.widgets.compare_view import CompareView

FIELDS: dict[str, dict[str, type]] = {"act": {"what": str, "arg": str}, "set": {"name": str, "value": str}}
"what the page may say"
OVER = ("done", "stopped", "failed")
OFTEN = 0.4
"seconds between two looks at a search"
DRAWING = 0.03
"the part of the time that may go into drawing the curve while a search is at work"


class TunePanel(View):
    """A panel for `wb.tune`: start, pause, resume, stop, apply; the best so far, and every candidate.

    Nothing in it keeps the notebook waiting. Each candidate is in the log before the next one begins, so that a panel made
    again, after the notebook was closed or the kernel restarted, goes on and measures none of them again.

    Parameters
    ----------
    workload, space, targets
        As `wb.tune` takes them.
    log
        The file of the log; True for one beside the file of measurements, None for none.
    how
        What else `wb.tune` takes: `objective`, `budget` (seconds), `trials`, `method`, `seed`, and so on.

    Attributes
    ----------
    run
        The search; None while its log is being read.
    applied
        The workload with the winner's passes, once `apply` was pressed or called.

    Examples
    --------
    >>> panel = wb.TunePanel(w, objective="kernels", log="cast.jsonl")  # doctest: +SKIP
    >>> panel.start(); panel.wait(); panel.apply().graph().kernels()  # doctest: +SKIP
    """

    _view = traitlets.Unicode("tune").tag(sync=True)
    height = traitlets.Int(720, min=120, help="most height in CSS pixels").tag(sync=True)
    blocks = traitlets.List(traitlets.Dict()).tag(sync=True)
    saved_traits = ("blocks",)

    def __init__(
        self,
        workload: Workload,
        space: Space | None = None,
        targets: Sequence[str] = ("llvm",),
        *,
        log: str | Path | bool | None = True,
        **how: Any,
    ) -> None:
        self.workload, self._space, self._targets = workload, space, targets
        self._how: dict[str, Any] = {"objective": "time", "budget": 60.0, **how, "log": log}
        self._given = self._how["objective"]
        self.run: Run | None = None
        self.applied: Workload | None = None
        self._trouble, self._busy = "", "Reading the log"
        self._column, self._down, self._all, self._code = 0, False, False, False
        self._sorted = False
        self._picked: int | None = None
        self._codes: dict[int, str] = {}
        self._drawn: tuple[Any, Block, float, float] | None = None
        self._telling = threading.Lock()
        self._heard = threading.Event()
        self._follower: threading.Thread | None = None
        self._work = Background("workbench-tune", self._failed)
        super().__init__()
        self.on_msg(self._on_message)
        self._work.submit(lambda _: self._done(self._prepare))
        self._show()

    # -- what may be done

    def start(self) -> None:
        """Begin, or go on after a pause, after a stop, or from the log."""
        self._busy = self._busy or "Beginning"
        self._work.submit(lambda _: self._begin())

    def pause(self) -> None:
        """Begin no new candidate; the one in flight is finished."""
        if self.run is not None:
            self.run.pause()

    def stop(self) -> None:
        """End the search; the candidate in flight is given up."""
        if self.run is not None:
            self.run.stop()

    def apply(self) -> Workload:
        """The workload with the winner's graph passes, which `applied` keeps."""
        self.applied = self.result.apply(target=self._target)
        self._show()
        return self.applied

    def compare(self) -> CompareView:
        """The graph as it was, and with the winner's passes."""
        after = self.applied or self.apply()
        return CompareView(self.workload, after, titles=["as given", "the winner's"])

    def wait(self, timeout: float = 120) -> bool:
        """Wait until what was asked for is done and the search is over or paused; whether that was in time."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            quiet = self._work.wait(max(0.0, end - time.monotonic()))
            following = self._follower is not None and self._follower.is_alive()
            if quiet and not (following and self.run is not None and self.run.status != "paused"):
                return True
            time.sleep(0.02)
        return False

    @property
    def result(self) -> Result:
        """What is known now, as `wb.tune` gives it.

        Raises
        ------
        WorkbenchError
            The search failed, or there is none yet.
        """
        if self.run is None:
            raise WorkbenchError(self._trouble or "the log is still being read; panel.wait() waits for it")
        return self.run.result()

    # -- the search

    def _prepare(self) -> None:
        self.run = prepared(self.workload, self._space, self._targets, **self._how)
        # what is offered is the same however often the panel is begun again
        self._space = self.run.space

    def _done(self, act: Callable[[], object]) -> None:
        """Do something, and show what came of it or why nothing did."""
        try:
            act()
            self._trouble = ""
        except WorkbenchError as error:
            self._trouble = str(error)
        finally:
            self._busy = ""
        self._show()

    def _begin(self) -> None:
        if self.run is not None and self.run.status == "paused":
            self.run.resume()
        elif self.run is None or self.run.status != "running":
            self._wait_for_follower()
            if self.run is None or self.run.status != "ready":
                self._done(self._prepare)
            if self.run is None or self.run.status != "ready":
                return
            self._picked = None
            self.run.listen(lambda _: self._heard.set())
            self.run.start()
            self._follower = threading.Thread(
                target=self._follow, args=(self.run,), name="workbench-tune-follow", daemon=True
            )
            self._follower.start()
        self._busy = ""
        self._show()

    def _wait_for_follower(self) -> None:
        if self._follower is not None:
            self._follower.join()

    def _follow(self, run: Run) -> None:
        """Show the search until it is over; in a thread of its own, which draws seldom."""
        while run.status not in OVER:
            self._heard.wait(1.0)
            self._heard.clear()
            self._show()
            run.wait(OFTEN)
        self._show()

    # -- the page

    def _on_message(self, _: Any, message: Any, __: Any) -> None:
        found = messages.read(message, FIELDS)
        if found is None:
            return
        kind, fields = found
        if kind == "set":
            self._set(fields["name"], fields["value"])
        else:
            self._act(fields["what"], fields["arg"])

    def _act(self, what: str, arg: str) -> None:
        simple = {"tune-start": self.start, "tune-pause": self.pause, "tune-stop": self.stop}
        if what in simple:
            simple[what]()
        elif what == "tune-apply":
            self._busy = "Applying the winner"
            self._work.submit(lambda _: self._done(self.apply))
        elif what == "tune-sort" and arg.isdigit():
            self._down = not self._down if self._sorted and int(arg) == self._column else False
            self._column, self._sorted = int(arg), True
        elif what == "tune-pick" and arg.isdigit() and int(arg) < len(self._listed()):
            self._picked = self._listed()[int(arg)].number
        elif what == "tune-all":
            self._all = not self._all
        elif what == "tune-code":
            self._code = not self._code
        if what in ("tune-code", "tune-pick") and self._code:
            self._work.submit(lambda _: self._write_code())
        self._show()

    def _write_code(self) -> None:
        """A candidate with a pipeline runs its passes for this, so that it is made beside the notebook."""
        trial = self._looked_at()
        if trial is not None and trial.number not in self._codes:
            try:
                self._codes[trial.number] = build_code(self.workload, trial.config, self._target)
            except WorkbenchError as error:
                self._codes[trial.number] = f"# {error}"
        self._show()

    def _looked_at(self) -> Trial | None:
        """The candidate that was picked, else the winner."""
        tried = self._tried()
        picked = next((trial for trial in tried if trial.number == self._picked), None)
        return picked or (None if self.run is None else next(iter(front(tried, self.run.objectives)), None))

    def _set(self, name: str, value: str) -> None:
        if self.run is not None and self.run.status in ("running", "paused"):
            return
        if name == "tune-objective" and value in (*OBJECTIVES, _several(self._given)):
            self._how["objective"] = self._given if value == _several(self._given) else value
        elif name == "tune-budget":
            try:
                self._how["budget"] = float(value)
            except ValueError:
                self._trouble = f"{value!r} is no number of seconds"
                self._show()
                return
        else:
            return
        self.run, self._busy, self._sorted = None, "Reading the log", False
        self._work.submit(lambda _: self._done(self._prepare))

    def _failed(self, error: Exception) -> None:
        self._trouble, self._busy = f"The workbench itself failed: {type(error).__name__}: {error}", ""
        self._show()

    # -- what is shown

    @property
    def _target(self) -> str:
        return self._targets[0]

    def _tried(self) -> list[Trial]:
        return [] if self.run is None else [t for t in self.run.trials if t.target == self._target]

    def _listed(self) -> list[Trial]:
        if self.run is None:
            return []
        # unless somebody chose otherwise, the best by the first objective stands first
        column = self._column if self._sorted else 2
        found = tell.ordered(self._tried(), self.run.objectives, column, self._down, self.run.space)
        return found[: tell.MOST if self._all else tell.FEW]

    def _show(self) -> None:
        with self._telling:
            self.blocks = sendable(self._told())

    def _told(self) -> list[Block]:
        head = [*self._controls(), *([words(self._trouble, "bad", "tune-trouble")] if self._trouble else [])]
        run = self.run
        if run is None:
            return [*head, words(f"{self._busy} …" if self._busy else "No search.", name="tune-state")]
        doing = f"{self._busy} …" if self._busy else f"{tell.state(run)}"
        head += [words(doing, "bad" if run.status == "failed" else "", "tune-state")]
        head += [
            words(f"{tell.progress(run)} · {run.space.size:,} in the space · {self._target}", "small", "tune-counts")
        ]
        if not self._tried():
            return [*head, words("Start, and each candidate becomes a row here.", "small")]
        known = Result(run.workload, run.targets, run.objectives, run.trials)
        best = known.pareto_for(self._target)
        return [
            *head,
            tell.best_line(known, self._target, run.space),
            *tell.failures(run),
            *self._more(),
            tell.candidates(self._listed(), run.objectives, best, run.space),
            self._curve(known),
            *self._details(),
        ]

    def _controls(self) -> list[Block]:
        run = self.run
        status = "none" if run is None else run.status
        at_work = status in ("running", "paused")
        going = self._busy or ("" if run is not None else "There is no search")
        resumes = status == "ready" and run is not None and run.resumed > 0
        label = (
            "Resume"
            if status == "paused"
            else "Resume from the log"
            if resumes
            else "Go on"
            if status in OVER
            else "Start"
        )
        objectives = [[name, name] for name in OBJECTIVES]
        if not isinstance(self._given, str):
            objectives.append([_several(self._given)] * 2)
        controls = (
            [action("Pause", "tune-pause", title="Finish the candidate in flight, and begin no other")]
            if status == "running"
            else [
                action(
                    label,
                    "tune-start",
                    off=going if run is not None else "",
                    title="Beside the notebook, which stays free",
                )
            ]
        )
        if at_work:
            return [*controls, action("Stop", "tune-stop", title="Give up the candidate in flight, and end")]
        if run is not None and self._tried():
            controls.append(
                action("Apply", "tune-apply", title="Make the workload with the winner's passes: panel.applied")
            )
        return [
            *controls,
            entry("select", "tune-objective", "for", _several(self._how["objective"]), options=objectives),
            entry("number", "tune-budget", "seconds", f"{self._how['budget']:g}", min=1),
        ]

    def _curve(self, known: Result) -> Block:
        key = (len(known.trials), known.objectives, self.run is not None and self.run.status in OVER)
        now = time.monotonic()
        if self._drawn is not None:
            was, block, when, took = self._drawn
            resting = self.run is not None and self.run.status == "running" and now < when + took / DRAWING
            if was == key or resting:
                return block
        table = known.table
        value = OBJECTIVES[known.objectives[0]]
        made = picture(tuning_progress, table[table["target"] == self._target], ROWS, "tune-curve", value=value)
        self._drawn = (key, made, time.monotonic(), time.monotonic() - now)
        return made

    def _more(self) -> list[Block]:
        count = len(self._tried())
        if count <= tell.FEW:
            return []
        return [action(f"Show the first {tell.FEW}" if self._all else f"Show all {count}", "tune-all")]

    def _details(self) -> list[Block]:
        """The winner, or the candidate that was picked: why, and what to type to have it again."""
        trial = self._looked_at()
        if trial is None or self.run is None:
            return []
        picked = trial.number == self._picked
        title = f"Candidate {trial.number}" if picked else f"The winner, candidate {trial.number}"
        said = [heading(f"{title}: {tell.choice(trial, self.run.space)}")]
        if trial.reason:
            said.append(words(f"{trial.status}: {trial.reason}", "small", "tune-reason"))
        raced = self.run.result().races.get(self._target) if self.run.status == "done" else None
        if raced is not None and not picked:
            said.append(words(f"Default against winner, run in turn: {raced}", name="tune-race"))
        if self.applied is not None and not picked:
            kernels = self.applied.graph().kernels()
            said.append(
                words(
                    f"Applied: panel.applied has {kernels} kernels; panel.compare() shows both graphs.",
                    name="tune-applied",
                )
            )
        config = {name: value for name, value in trial.config.to_data().items() if value not in ("", (), {}, [])}
        said.append(code(trial.config.pipeline or f"wb.Config(**{config!r})", "tune-config"))
        said.append(action("Hide the code" if self._code else "Code without the workbench", "tune-code"))
        return [
            *said,
            *([code(self._codes[trial.number], "tune-python")] if self._code and trial.number in self._codes else []),
        ]

    # -- what lasts

    def save(self, path: str | Path) -> Path:
        """Keep what the panel says as one `.html` file.

        Raises
        ------
        WorkbenchError
            Another suffix; `wb.plots.tuning_progress(panel.result.table)` is a picture of the search.
        """
        if Path(path).suffix.lower() != ".html":
            raise WorkbenchError(
                f"{Path(path).name!r} was not written: a TunePanel is saved as .html; wb.plots.tuning_progress(panel.result.table) is a picture"
            )
        return super().save(path)

    def _saved(self) -> dict[str, Any]:
        return {**self._kept(), "saved": True}

    def _shown_graphs(self) -> Shown | None:
        return None

    def _still(self) -> dict[str, str]:
        known = (
            None
            if self.run is None
            else Result(self.run.workload, self.run.targets, self.run.objectives, self.run.trials)
        )
        said = str(known) if known is not None and known.trials else "A search that was not begun."
        return {"text/html": f"<p>{html.escape(said)} Run the cell to go on.</p>"}


def _several(objective: str | Sequence[str]) -> str:
    return objective if isinstance(objective, str) else ", ".join(objective)
