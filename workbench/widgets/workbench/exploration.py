"""The passes that would change the module here: `wb.explore` in a background thread, as rows for the page."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from workbench.dialects.base import Workload
from workbench.experiments.explore import Exploration, explore
from workbench.pipeline.spec import Pipeline
from workbench.widgets import page_types
from workbench.widgets.background import Task, sentence
from workbench.widgets.history import Newest
from workbench.widgets.workbench.page import Page

if TYPE_CHECKING:
    from typing_extensions import Unpack

OFTEN_SECONDS = 0.25
"seconds between two updates of the rows on the page"


class Explorer:
    """An exploration of passes after a pipeline; if started again at the same place, it continues where it stopped."""

    def __init__(self, workload: Workload, page: Page) -> None:
        self._workload, self._page = workload, page
        self._found = Newest[tuple[Pipeline, int], Exploration]()
        self._work = page.work.lane("explore", lambda error: self._push(error=sentence(error)))
        self._where: page_types.Exploration = {}
        self.now: Exploration | None = None
        "the newest"

    def start(self, after: Pipeline, opt_level: int, index: int, here: str) -> None:
        """Try every pass after a pipeline; `index` and `here` are the place as the page shows it."""
        key = (after, opt_level)
        found = self._found.get(key) or explore(self._workload, after=after, opt_level=opt_level)
        self.cancel()
        self._found[key] = self.now = found
        self._where = {"index": index, "here": here}
        self._show(found, running=True)
        self._work.submit(lambda task: self._run(found, task))

    def cancel(self) -> None:
        """Stop; the rows so far stay."""
        self._work.cancel()
        if self.now is not None:
            self.now.cancel()
            self._show(self.now, running=False)

    def _run(self, found: Exploration, task: Task) -> None:
        shown_at = time.monotonic()

        def progress(_: Exploration) -> None:
            nonlocal shown_at
            if not task.wanted:
                found.cancel()
            elif time.monotonic() - shown_at >= OFTEN_SECONDS:
                shown_at = time.monotonic()
                self._show(found, running=True)

        if task.wanted:
            found.run(progress)
        self._show(found, running=False)

    def _show(self, found: Exploration, *, running: bool) -> None:
        rows: list[page_types.Effect] = [
            {
                "name": effect.name,
                "status": effect.status,
                "message": effect.message,
                "seconds": effect.seconds,
                "level": effect.opt_level,
                "nodes": effect.delta("nodes"),
                "ops": effect.delta("ops"),
                "kernels": effect.delta("kernels"),
                "counts": {mark: n for mark, n in effect.diff.items() if mark != "kept"},
            }
            for effect in list(found.rows)
        ]
        if found is self.now:
            self._push(rows=rows, total=found.total, running=running)

    def _push(self, **changes: Unpack[page_types.Exploration]) -> None:
        shown: page_types.Exploration = {
            "rows": [],
            "total": 0,
            "running": False,
            "error": "",
            **self._where,
            **changes,
        }
        self._page.show(exploration=shown)
