"""The page of a Workbench as its session sees it: pictures, traits, progress and errors. It imports no widget library."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from workbench.graph.diff import GraphDiff
from workbench.measurement.overlay import Overlay
from workbench.pipeline.step import State
from workbench.widgets.background import Busy
from workbench.widgets.payload import EncodedPair, encode_pair

if TYPE_CHECKING:
    from workbench.widgets.workbench.widget import Workbench

WHOLE = -1
"the step number of the whole pipeline: its input against its result"


@dataclass(frozen=True, eq=False)
class Picture:
    """Two states of a trace, side by side."""

    first: State
    last: State
    titles: tuple[str, str]
    changes: GraphDiff
    step: int = WHOLE
    preview: str | None = None
    "a pass that is tried but not chosen"
    finished: bool = True
    "whether the passes have run"

    @cached_property
    def counts(self) -> dict[str, int | None]:
        """Return nodes and kernels of both sides, and the nodes of each mark."""
        before, after = self.first.graph, self.last.graph
        return {
            "before_kernels": before.kernel_count,
            "after_kernels": after.kernel_count if self.finished else None,
            "before_nodes": len(before.nodes),
            "after_nodes": len(after.nodes) if self.finished else None,
            **self.changes.counts,
        }


class Page:
    """The traits of a Workbench as one session sets them; a closed page drops late results.

    Parameters
    ----------
    widget
        The Workbench.
    put
        Shows two encoded graphs and their difference.
    drawn
        Called after a picture.
    """

    def __init__(self, widget: Workbench, put: Callable[[EncodedPair], None], drawn: Callable[..., None]) -> None:
        self._widget, self._put, self._drawn = widget, put, drawn
        self.lock = threading.RLock()
        self._open = True
        self.picture: Picture | None = None

    def close(self) -> None:
        """Show nothing more."""
        with self.lock:
            self._open = False

    def picture_of(self, seq: int) -> Picture | None:
        """Return the picture of that number; None if another one is on the page."""
        with self.lock:
            return self.picture if seq == self._widget.seq else None

    def push(self, **changes: object) -> None:
        """Change keys of the `state` trait."""
        with self.lock:
            if self._open:
                self._widget.state = {**self._widget.state, **changes}

    def show(self, **traits: object) -> None:
        """Set traits."""
        with self.lock:
            if self._open:
                for name, value in traits.items():
                    self._widget.set_trait(name, value)

    def draw(self, picture: Picture) -> None:
        """Show two graphs."""
        pair = encode_pair(picture.first.graph, picture.last.graph, picture.changes)
        with self.lock, self._widget.hold_sync():
            if self._open:
                self.picture = picture
                self._put(pair)
                self._widget.titles = list(picture.titles)
                self.push(counts=picture.counts, step=picture.step, preview=picture.preview)
                self._widget.seq += 1

    def retitle(self, old: str, new: str) -> None:
        """Replace the title of the right side, if it is the old one."""
        with self.lock:
            if self._open and list(self._widget.titles[1:]) == [old]:
                self._widget.titles = [self._widget.titles[0], new]

    def drawn(self, *, complete: bool) -> None:
        """Continue after the picture of a choice; `complete` if all its passes ran."""
        if self._open:
            self._drawn(complete=complete)

    def overlay_after(self, overlay: Overlay | None) -> None:
        """Show values over the graph after the passes; None removes them."""
        with self.lock:
            if self._open:
                self._widget.overlay(after=overlay)

    def selected(self) -> set[int]:
        """Return the selected nodes of the graph after the passes."""
        return set(self._widget.selection["after"])

    def select(self, nodes: list[int]) -> None:
        """Select nodes of the graph after the passes and bring them into view."""
        self.show(selection={"before": [], "after": nodes})
        self._widget.show(nodes)


class Reports:
    """The progress and the errors of a session's parts, as the page shows them."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._lock = threading.Lock()
        self._progress: dict[str, Busy] = {}
        self.error = ""
        "the sentence on the page"

    def busy(self, part: str) -> Callable[[Busy | None], None]:
        """Return the function that shows and removes the progress of that part."""
        return partial(self._show, part)

    def fail(self, title: str, text: str) -> None:
        """Show an error."""
        self.error = text
        self._page.push(error={"title": title, "text": text})

    def report(self, error: Exception) -> None:
        """Show an exception that no part expected."""
        self.fail("The workbench itself failed", f"{type(error).__name__}: {error}")

    def _show(self, part: str, progress: Busy | None) -> None:
        with self._lock:
            self._progress.pop(part, None)
            if progress is not None:
                self._progress[part] = progress
            self._page.push(busy=next(reversed(self._progress.values()), None))
