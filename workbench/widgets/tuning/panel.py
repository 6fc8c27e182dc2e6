"""The TunePanel: a search that the page starts, pauses, stops and applies, and that continues from its log after a restart."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from inspect import signature
from math import isfinite
from pathlib import Path
from threading import Lock
from typing import Any

import traitlets

from workbench.dialects.base import Workload, workload_of
from workbench.errors import UnknownKeyword, WorkbenchError
from workbench.experiments.tuning.result import Result
from workbench.experiments.tuning.run import Run, TuneOptions, prepared
from workbench.experiments.tuning.space import Space
from workbench.target_text import TargetLike, target_texts
from workbench.widgets.base import SAVED, TextView, json_trait, page, saved_traits
from workbench.widgets.blocks import Block, sendable, words
from workbench.widgets.graph.compare import CompareView
from workbench.widgets.messages import Act, Handlers, Set, whole
from workbench.widgets.pictures import write
from workbench.widgets.tuning import blocks
from workbench.widgets.tuning.blocks import Wish, controls, still
from workbench.widgets.tuning.candidate import Curve, Looking, details, python
from workbench.widgets.tuning.search_thread import AT_WORK, Searching


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
        self.applied: Workload | None = None
        self._telling = Lock()
        self._curve = Curve()
        self._looking = Looking(workload, self._targets[0], self._show)
        self._searching = Searching(self._prepare, self._show)
        super().__init__(**traits)
        self._handlers = Handlers().on(Act, self._act).on(Set, self._set)
        self.on_msg(self._receive)
        self._searching.read()
        self._show()

    # -- the Python interface

    def start(self) -> None:
        """Begin, or continue after a pause, after a stop, or from the log."""
        self._searching.start()

    def pause(self) -> None:
        """Begin no new candidate; the current one is finished."""
        self._searching.pause()

    def stop(self) -> None:
        """End the search; the current candidate is cancelled."""
        self._searching.stop()

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
        return self._searching.wait(timeout) and self._looking.wait(timeout)

    @property
    def run(self) -> Run | None:
        """The search; None while its log is being read."""
        return self._searching.run

    @property
    def result(self) -> Result:
        """The results so far, as `wb.tune` returns them.

        Raises
        ------
        WorkbenchError
            The search failed, or there is none yet.
        """
        if self.run is None:
            raise WorkbenchError(self._searching.trouble or "the log is still being read; panel.wait() waits for it")
        return self.run.result()

    def _prepare(self) -> Run:
        wanted = {"objective": self._wish.objective, "budget": self._wish.budget}
        run = prepared(self.workload, self._space, self._targets, TuneOptions(**self._how, **wanted))
        # the choices stay the same when the search is begun again
        self._space = run.space
        self._looking.forget()
        return run

    # -- messages from the page

    def _receive(self, _: object, content: object, __: object) -> None:
        message = self._handlers.read(content)
        if message is not None:
            self._handlers.run(message)
            self._show()

    def _act(self, message: Act) -> None:
        actions: dict[str, Callable[[], object]] = {
            "tune-start": self.start,
            "tune-pause": self.pause,
            "tune-stop": self.stop,
            "tune-apply": lambda: self._searching.do(self.apply, "Applying the winner"),
            "tune-all": self._looking.toggle_all,
            "tune-code": self._looking.toggle_code,
        }
        numbered: dict[str, Callable[[int], None]] = {"tune-sort": self._looking.sort, "tune-pick": self._looking.pick}
        if message.what in actions:
            actions[message.what]()
        elif message.what in numbered and (number := whole(message.arg)) is not None:
            numbered[message.what](number)
        self._looking.write(self.run)

    def _set(self, message: Set) -> None:
        if self.run is not None and self.run.status in AT_WORK:
            return
        if message.name == "tune-objective" and message.value in self._wish.choices:
            self._wish = replace(self._wish, objective=self._wish.choices[message.value])
        elif message.name == "tune-budget":
            seconds = _seconds(message.value)
            if seconds is None:
                self._searching.trouble = f"{message.value[:40]!r} is not a number of seconds"
                return
            self._wish = replace(self._wish, budget=seconds)
        else:
            return
        self._looking.reorder()
        self._searching.read()

    # -- the content of the page

    def _show(self) -> None:
        with self._telling:
            self.blocks = sendable(self._page_blocks())

    def _page_blocks(self) -> list[Block]:
        run, searching = self.run, self._searching
        tried = self._looking.tried(run)
        head = controls(run, self._wish, searching.busy, applies=bool(tried))
        head += [words(searching.trouble, "bad", "tune-trouble")] if searching.trouble else []
        if run is None:
            return [*head, words(f"{searching.busy} …" if searching.busy else "No search.", name="tune-state")]
        doing = f"{searching.busy} …" if searching.busy else blocks.state(run)
        head += [
            words(doing, "bad" if run.status == "failed" else "", "tune-state"),
            words(blocks.counts(run, self._targets[0]), "small", "tune-counts"),
        ]
        if not tried:
            return [*head, words("Start, and each candidate becomes a row here.", "small")]
        return [*head, *self._result_blocks(run, len(tried))]

    def _result_blocks(self, run: Run, tried: int) -> list[Block]:
        target, looking = self._targets[0], self._looking
        known = run.known
        marked = known.pareto_for(target)
        return [
            blocks.best_line(known, target, run.space),
            *blocks.failures(run),
            *blocks.more(tried, looking.all),
            blocks.candidates(looking.listed(run), run.objectives, marked, run.space, looking.order),
            self._curve.block(known, target, run.status),
            *self._details(run),
        ]

    def _details(self, run: Run) -> list[Block]:
        trial, picked = self._looking.at(run)
        if trial is None:
            return []
        shown = details(run, trial, picked=picked, applied=self.applied)
        return [*shown, *python(self._looking.python(trial), wanted=self._looking.code)]

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
        return still(run, self._targets[0], [] if run is None else self._looking.listed(run))


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if isfinite(seconds) else None
