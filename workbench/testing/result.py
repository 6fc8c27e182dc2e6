"""The result of `wb.try_pass`: a sentence that says no more than was tried, a table, and the failures with their programs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.dialects.base import Workload
from workbench.experiments.reduce.run import Reduced
from workbench.pipeline.trace import Trace
from workbench.terminal import html_table, visible
from workbench.testing.attempt import Attempt
from workbench.testing.scaling import Scaling
from workbench.wording import counted

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Failure:
    """A law that the pass breaks, and the smallest program found on which it does."""

    law: str
    said: str
    "how it is broken, in a sentence"
    programs: int
    "on which it is broken"
    attempt: Attempt | None = field(repr=False)
    "the smallest of those programs, as it was found; None for the growth"
    reduced: Reduced | None = field(repr=False)
    trace: Trace | None = field(repr=False)
    "the pass on the smallest program, and again on its result, for PassStepper"
    script: str = field(repr=False)
    "Python that shows the failure with TVM alone"

    @property
    def workload(self) -> Workload | None:
        """The smallest program."""
        if self.reduced is not None:
            return self.reduced.workload
        return None if self.attempt is None else self.attempt.program.workload

    @property
    def text(self) -> str:
        """The smallest program as TVM prints it."""
        return "" if self.workload is None else self.workload.text()

    def __str__(self) -> str:
        if self.workload is None:
            return visible(f"{self.law}: {self.said}")
        small = counted(len(self.workload.graph.ops), "operator")
        return visible(f"{self.law} on {counted(self.programs, 'program')}, the smallest has {small}: {self.said}")


@dataclass(frozen=True, repr=False)
class Tried:
    """A pass that was tried on many programs; true if no law was seen to be broken."""

    name: str
    dialect: str
    isolated: bool
    "whether the pass ran in the child process"
    attempts: tuple[Attempt, ...] = field(repr=False)
    growth: Scaling | None
    failures: tuple[Failure, ...]
    "a broken law each, those that explain others first"
    seconds: float
    complete: bool
    "whether it was not cancelled"

    def __bool__(self) -> bool:
        return not self.failures

    @property
    def fired(self) -> tuple[Attempt, ...]:
        """The programs that the pass changed."""
        return tuple(each for each in self.attempts if each.fired)

    @property
    def again(self) -> dict[str, tuple[int, int]]:
        """Pass of the default pipeline -> the programs of its own making on which it finds work after the tried pass, of how many."""
        asked = [pair for each in self.attempts for pair in each.again.items()]
        tried, found = Counter(name for name, _ in asked), Counter(name for name, again in asked if again)
        return {name: (found[name], count) for name, count in tried.items()}

    @property
    def summary(self) -> str:
        """A sentence about the programs and the broken laws."""
        compared = [each for each in self.attempts if each.compared in ("equal", "different")]
        again = [
            f"{name} finds work again on {found:,} of {tried:,}" for name, (found, tried) in self.again.items() if found
        ]
        said = [
            f"fired on {len(self.fired):,} of {counted(len(self.attempts), 'program')}",
            f"outputs compared on {len(compared):,}",
            *(f"{each.law} on {each.programs:,}" for each in self.failures if each.attempt is not None),
            *again,
            *([] if self.growth is None else [str(self.growth)]),
        ]
        if not self.failures:
            said.append("no broken law was seen")
        if not self.fired:
            said.append("nothing is known of what it does where it fires: give pattern=, or programs of your own")
        return f"{self.name}: {'; '.join(said)}"

    @property
    def table(self) -> pd.DataFrame:
        """One row for each program: its name, its operators, whether the pass fired, and what was found."""
        import pandas as pd

        return pd.DataFrame([_row(each) for each in self.attempts])

    def __repr__(self) -> str:
        return visible(f"Tried({self.summary})")

    def __str__(self) -> str:
        lines = [self.summary, *(f"  {each}" for each in self.failures)]
        return visible("\n".join(lines))

    def _repr_html_(self) -> str:
        broken = [{"law": each.law, "programs": each.programs, "found": str(each)} for each in self.failures]
        fired = map(_row, sorted(self.fired, key=lambda each: not each.faults))
        return html_table(self.summary, broken) + html_table("", fired)


def _row(attempt: Attempt) -> dict[str, object]:
    program, (before, after) = attempt.program, attempt.counts
    return {
        "program": program.name,
        "origin": program.origin,
        "operators": len(program.workload.graph.ops),
        "fired": attempt.fired,
        "changes": attempt.changes,
        "outputs": attempt.compared,
        "work_again": ", ".join(name for name, found in attempt.again.items() if found),
        "kernels_before": before and before.calls - before.noops,
        "kernels_after": after and after.calls - after.noops,
        "peak_bytes_before": before and before.peak_bytes,
        "peak_bytes_after": after and after.peak_bytes,
        "broken": "; ".join(f"{law}: {said}" for law, said in attempt.faults.items()),
        "pass_us": attempt.seconds * 1e6,
    }
