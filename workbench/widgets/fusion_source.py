"""A program with edits made to it: which were applied, and why the others were not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from workbench.dialects.base import Workload
from workbench.errors import WorkbenchError
from workbench.graph.diff import diff
from workbench.graph.model import Graph
from workbench.pipeline.load import load
from workbench.pipeline.run import Runner
from workbench.pipeline.spec import Pipeline
from workbench.pipeline.step import State
from workbench.terminal import visible


@dataclass(frozen=True)
class Edit:
    """One change of the program, and what came of it."""

    text: str
    "as a Pipeline has it"
    reason: str = ""
    "why it was rejected; empty if it was applied"

    @property
    def applied(self) -> bool:
        return not self.reason

    def __str__(self) -> str:
        return visible(f"{self.text}: {'applied' if self.applied else f'rejected because {self.reason}'}")


@dataclass(frozen=True)
class Program:
    """A program as it stands after some edits."""

    graph: Graph
    workload: Workload | None
    edits: tuple[Edit, ...]
    made: str = ""
    "the passes and edits that made it, as a Pipeline's text"


def followed(old: Graph, new: Graph) -> Mapping[int, Sequence[int]]:
    """What became of each node in an edit. Cuts only put something between, so as a rule the others stay in their order."""
    kept = [[n for n in graph.nodes if n.op != "annotation.stop_fusion"] for graph in (old, new)]
    before, after = ([(n.kind, n.op, n.type) for n in nodes] for nodes in kept)
    if before == after:
        return {a.id: (b.id,) for a, b in zip(*kept, strict=True)}
    return diff(old, new).mapping


class Source:
    """The program before any edit: a workload, or a graph alone, which can be explained and not changed."""

    def __init__(self, given: Any) -> None:
        self.workload = None if isinstance(given, Graph) else load(given)
        self._given = given
        self._runner = None if self.workload is None else Runner(self.workload)

    @property
    def name(self) -> str:
        return self.graph.name if self.workload is None else self.workload.name

    @cached_property
    def graph(self) -> Graph:
        return self._given if self.workload is None else self.workload.graph()

    def made(self, before: str, edits: Sequence[str]) -> tuple[Program, Program]:
        """The program after the passes `before`, and after the edits too. What was made once is remembered.

        Raises
        ------
        WorkbenchError
            A pass of `before` fails, there is no such pass, or a graph alone is to be changed.
        """
        if self._runner is None:
            if before or edits:
                raise WorkbenchError("a graph alone cannot be changed; give the inspector the workload")
            plain = Program(self.graph, None, ())
            return plain, plain
        first, rest = Pipeline.parse(before), [Pipeline.parse(text) for text in edits]
        trace = self._runner.run(Pipeline([*first, *(step for steps in rest for step in steps)]))
        failed = next((step for step in trace.steps[: len(first)] if step.error), None)
        if failed is not None:
            raise WorkbenchError(f"{failed.name} failed: {failed.error}")
        state = trace.steps[len(first) - 1].state_after if first else trace.start
        outcomes, place = [], len(first)
        for text, steps in zip(edits, rest, strict=True):
            reasons = [step.error or step.detail for step in trace.steps[place : place + len(steps)]]
            outcomes.append(Edit(text, next(filter(None, reasons), "")))
            place += len(steps)
        applied = ",".join(filter(None, [before, *(edit.text for edit in outcomes if edit.applied)]))
        return self._program(state, (), before), self._program(trace.end, tuple(outcomes), applied)

    def _program(self, state: State, edits: tuple[Edit, ...], made: str) -> Program:
        assert self._runner is not None
        return Program(state.graph, self._runner.workload_of(state), edits, made)
