"""The result of `wb.reduce`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from workbench.dialects.base import Workload
from workbench.experiments.reduce.script import script
from workbench.experiments.reduce.search import Shrink
from workbench.experiments.reduce.size import Size
from workbench.experiments.symptoms import Finding, Limits, Symptom
from workbench.pipeline.config import Config
from workbench.pipeline.run import trace
from workbench.pipeline.spec import Pipeline
from workbench.terminal import html_table, visible
from workbench.wording import counted

if TYPE_CHECKING:
    import pandas as pd

    from workbench.pipeline.trace import Trace


@dataclass(frozen=True)
class Reduced:
    """A small program that shows the symptom of a large one, and the steps from one to the other."""

    workload: Workload
    "the small program"
    original: Workload = field(repr=False)
    config: Config
    "the smallest configuration under which the small program shows the symptom"
    given: Config
    "the configuration that the search began with"
    symptom: Symptom
    finding: Finding
    "the evidence of the small program's symptom"
    steps: tuple[Shrink, ...] = field(repr=False)
    "the edits that were kept, each with the program after it"
    before: Size
    after: Size
    probes: int
    "programs that were built and asked for the symptom, the original too"
    refused: int
    "edits that made no program: a pass or the type inference refused them"
    seconds: float
    complete: bool
    "whether the search tried all edits; False if it was cancelled or its time was over"
    limits: Limits = field(repr=False)

    @property
    def text(self) -> str:
        """The small program as TVM prints it."""
        return self.workload.text()

    @property
    def edits(self) -> str:
        """The text of the Pipeline that makes the small program of the original."""
        return str(Pipeline(step.edit for step in self.steps if step.edit is not None))

    @cached_property
    def trace(self) -> Trace:
        """The edits as a Trace of the original, for PassStepper; changes of parameters' values are not steps of it."""
        return trace(self.original, self.edits, 0)

    @cached_property
    def script(self) -> str:
        """Python for an issue report: it needs TVM and numpy, makes the small program, and shows the symptom."""
        return script(self.workload, self.config, self.symptom, self.finding, self.limits)

    @property
    def table(self) -> pd.DataFrame:
        """One row for each edit that was kept, the original first: `edit`, `operators`, `elements`, `evidence`."""
        import pandas as pd

        return pd.DataFrame(list(self._rows()))

    def _rows(self) -> Iterator[dict[str, object]]:
        yield {"edit": "", "operators": self.before.operators, "elements": self.before.elements, "evidence": ""}
        for step in self.steps:
            size = {"operators": step.after.operators, "elements": step.after.elements}
            yield {"edit": step.said, **size, "evidence": step.finding.evidence}

    def __str__(self) -> str:
        sizes = f"{counted(self.before.operators, 'operator')} reduced to {self.after.operators:,}"
        cost = f"{counted(self.probes, 'probe')} in {self.seconds:.0f} s"
        end = "" if self.complete else "; the search was ended early"
        return visible(f"{self.symptom.name}: {sizes} with {cost}{end}: {self.finding.evidence}")

    def _repr_html_(self) -> str:
        return html_table(str(self), self._rows())
