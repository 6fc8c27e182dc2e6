"""One step of a Trace, and the states before and after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from workbench.graph.changes import GraphDiff
from workbench.graph.diff import diff
from workbench.graph.model import Graph
from workbench.terminal import visible

if TYPE_CHECKING:
    from tvm.ir import IRModule


class State:
    """A module at one point of a trace. Its graph and text are made once, on first use.

    `module` is None where the module is in another process or was not saved.
    """

    def __init__(
        self,
        module: IRModule | None,
        graph: Callable[[], Graph],
        text: Callable[[], str],
        kept: tuple[str, int] | None = None,
        flaw: Callable[[], str] = lambda: "",
    ) -> None:
        self.module = module
        self.kept = kept
        "the module in the child process: a trace's number, and the place in it"
        self.made_from: State | None = None
        "the state before the pass that made this one; its Trace sets it"
        self._graph = graph
        self._text = text
        self._flaw = flaw
        self._diffs: dict[State, GraphDiff] = {}

    @cached_property
    def graph(self) -> Graph:
        graph, before = self._graph(), self.made_from
        if before is not None:
            graph.follow(lambda: before.graph)
        # the diffs and layers of a trace know its graphs by identity, so a second thread gets the same graph
        return self.__dict__.setdefault("graph", graph)

    @cached_property
    def text(self) -> str:
        return self._text()

    @cached_property
    def flaw(self) -> str:
        """The reason why TVM's own check finds the module not well-formed; "" if it is, or the module is not here."""
        return self._flaw()

    def diff(self, after: State) -> GraphDiff:
        """Return the changes from this state to another, made once: a short file can have many steps between two states."""
        if after not in self._diffs:
            self._diffs[after] = diff(self.graph, after.graph)
        return self._diffs[after]


@dataclass(frozen=True, eq=False)
class Step:
    """One pass of a trace and its result."""

    name: str
    "the pass with its options, as in the pipeline's text"
    state_before: State
    state_after: State
    status: str
    "changed, same, error, skipped (TVM does not run it at this opt_level, or its kernels are not trusted) or off"
    seconds: float = 0.0
    error: str = ""
    "one sentence, if the pass failed; the state after it is then the last good one"
    detail: str = ""
    "TVM's whole message, or why it was skipped or folded nothing"
    depth: int = 0
    "number of enclosing passes that are steps too"
    run: object = None
    "the Pass object or function itself, if the user gave one"

    @property
    def changed(self) -> bool:
        return self.status == "changed"

    @property
    def flaw(self) -> str:
        """The reason why the pass's result is not well-formed, where its input was."""
        return "" if not self.changed or self.state_before.flaw else self.state_after.flaw

    @property
    def before(self) -> Graph:
        return self.state_before.graph

    @property
    def after(self) -> Graph:
        return self.state_after.graph

    @property
    def text_before(self) -> str:
        return self.state_before.text

    @property
    def text_after(self) -> str:
        return self.state_after.text

    @property
    def diff(self) -> GraphDiff:
        """The pass's changes to the graph; those of the passes that it ran, one after the other."""
        return self.state_before.diff(self.state_after)

    def __repr__(self) -> str:
        wrong = f", not well-formed: {self.flaw}" if self.flaw else ""
        return visible(f"Step({self.name}: {self.error or self.status}{wrong}, {self.seconds * 1e3:.1f} ms)")
