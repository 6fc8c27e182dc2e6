"""Tabs of the Workbench whose content Python tells as blocks: made when somebody looks, beside the notebook."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from workbench.dialects.base import Workload
from workbench.errors import WorkbenchError
from workbench.graph.model import Graph
from workbench.measurement.race import Race
from workbench.pipeline.config import Config
from workbench.pipeline.spec import Pipeline
from workbench.widgets.background import Background, Busy, Task
from workbench.widgets.blocks import Block, sendable, words


class Bench(Protocol):
    """What a panel asks of the Workbench."""

    workload: Workload
    target: str

    def chosen(self) -> tuple[Config, Workload | None]:
        """The present configuration, and what is to be compiled; waits for the picture being made."""
        ...

    def switched(self) -> tuple[Pipeline | Config, int]:
        """The chosen pipeline, or how the compiler's own is chosen to run; and the opt level."""
        ...

    def keep_race(self, a: Config, b: Config, found: Race) -> None:
        """Keep a race of two configurations for the other tabs."""
        ...

    def drawn_after(self) -> Graph | None:
        """The graph at the right."""
        ...

    def selected(self) -> set[int]:
        """Nodes selected there."""
        ...

    def select(self, nodes: list[int]) -> None:
        """Select nodes there and bring them into view."""
        ...

    def overlay_after(self, overlay: Any) -> None:
        """Lay values over it; None takes them away."""
        ...


class Panel:
    """One tab. It does nothing until it was opened.

    Parameters
    ----------
    bench
        The Workbench.
    tell
        Given the blocks to show.
    busy
        Told what is being done, and None at the end.
    """

    name = ""

    def __init__(self, bench: Bench, tell: Callable[[list[Block]], None], busy: Callable[[Busy | None], None]) -> None:
        self.bench = bench
        self._tell = tell
        self.open = False
        self.trouble = ""
        self._work = Background(f"workbench-{self.name}", self._failed, busy)

    def opened(self, name: str) -> None:
        """A tab was opened: this one or another."""
        self.open = name == self.name
        if self.open:
            self.changed()

    def changed(self) -> None:
        """The choice has changed, or the picture: what is shown is made again if the tab is open."""
        if self.open:
            self._work.submit(lambda task: self._run(task, self.make))

    def cancel(self) -> None:
        """Give up; what was found stays."""
        self._work.cancel()

    def wait(self, timeout: float) -> bool:
        """Wait until everything that was asked for is done; whether that was in time."""
        return self._work.wait(timeout)

    def start(self, work: Callable[[Task], None]) -> None:
        """Do something beside the notebook; the newest request wins."""
        self._work.submit(lambda task: self._run(task, work))

    def make(self, task: Task) -> None:
        """Find out what is to be shown, and show it."""
        raise NotImplementedError

    def blocks(self) -> list[Block]:
        """What is shown now."""
        raise NotImplementedError

    def act(self, what: str, arg: str) -> None:
        """A button was pressed, or a line."""

    def enter(self, name: str, value: str) -> None:
        """Something was entered into a field."""

    def withdraw(self, a: Config, b: Config) -> None:
        """Drop the ratio of two configurations that were raced again in another tab."""

    def show(self) -> None:
        """Show what there is."""
        said = [words(self.trouble, "bad", f"{self.name}-trouble")] if self.trouble else []
        self._tell(sendable([*said, *self.blocks()]))

    def _run(self, task: Task, work: Callable[[Task], None]) -> None:
        if not task.wanted:
            return
        try:
            self.trouble = ""
            work(task)
        except WorkbenchError as error:
            self.trouble = "" if task.cancelled() else str(error)
        if task.wanted or not task.cancelled():
            self.show()

    def _failed(self, error: Exception) -> None:
        self.trouble = f"The workbench itself failed: {type(error).__name__}: {error}"
        self.show()
