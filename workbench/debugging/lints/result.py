"""The lints of a program: a sequence, its table, and races of the fixes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, overload

from workbench.dialects.base import Workload
from workbench.dialects.trust import UNTRUSTED
from workbench.errors import WorkbenchError
from workbench.measurement.race import Race, race
from workbench.pipeline.config import Config
from workbench.target_text import TargetLike
from workbench.terminal import html_code, html_table, visible
from workbench.wording import counted
from workbench.worker.parent import Progress, never
from workbench.worker.progress import showing_progress

if TYPE_CHECKING:
    import pandas as pd

BUDGET = 2.0
"seconds of runs of one race"


def config_text(config: Config) -> str:
    """Return the Python that makes a configuration.

    >>> config_text(Config(opt_level=2))
    'wb.Config(opt_level=2)'
    """
    given = ((each.name, getattr(config, each.name), getattr(Config(), each.name)) for each in fields(Config))
    return f"wb.Config({', '.join(f'{name}={value!r}' for name, value, usual in given if value != usual)})"


@dataclass(frozen=True)
class Lint:
    """One avoidable cost, and the call that avoids it."""

    name: str
    "the rule: `layouts-undo-each-other`, `operator-without-kind`, `weight-not-folded`, `reshape-copies`, `fallback-kernel`, `record-not-used`"
    message: str
    nodes: tuple[int, ...]
    """ids in the graph that the rule looked at: the program; the graph before FuseOps for operators without a kind and weights; that of
    the build's kernels for reshapes and fallbacks; that of the build with the fix for records"""
    operators: tuple[str, ...]
    bytes: int | None
    "bytes of the values that need not be computed in each run; None where they are not known"
    before: Config
    "without the fix"
    config: Config
    "with the fix"
    seconds: float | None = None
    "of a record that is not used: seconds by which its kernels were faster in a run, alone; None where they are not known"
    call: str = ""
    "the fix, where it is not a configuration but a search or a build with a log"
    race: Race | None = None
    "the configuration without the fix against the one with it, once it was run"

    @property
    def pipeline(self) -> str:
        """Return the passes of the fix; empty for the compiler's own."""
        return self.config.pipeline

    @property
    def fix(self) -> str:
        """Return the fix as Python, for a workload `w`."""
        if self.call:
            return self.call
        if self.pipeline and not self.config.schedules:
            return f"wb.trace(w, {self.pipeline!r})"
        return f"wb.measure(w, [{config_text(self.config)}])"

    def __str__(self) -> str:
        gain = "" if self.seconds is None else f" ({1e6 * self.seconds:.3g} us)"
        size = gain if self.bytes is None else f" ({counted(self.bytes, 'byte')})"
        measured = f"\n  {self.race}" if self.race else ""
        return visible(f"{self.name}: {self.message}{size}\n  {self.fix}{measured}")


@dataclass(frozen=True)
class Lints(Sequence[Lint]):
    """The lints of a workload, those with the most bytes first."""

    lints: tuple[Lint, ...]
    workload: Workload = field(repr=False)
    target: TargetLike = "llvm"

    def __len__(self) -> int:
        return len(self.lints)

    @overload
    def __getitem__(self, place: int) -> Lint: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Lint]: ...
    def __getitem__(self, place: int | slice) -> Lint | Sequence[Lint]:
        return self.lints[place]

    def measure(
        self,
        rows: Iterable[Lint],
        *,
        budget: float = BUDGET,
        progress: Progress | None = None,
        cancelled: Callable[[], bool] = never,
    ) -> Lints:
        """Return the lints with a race for each of these rows: the configuration without the fix against the one with it.

        Lints with the same fix share one race. A fix that removes several lints is raced as a whole.

        Parameters
        ----------
        rows
            Lints of this list.
        budget
            Seconds of runs of each race.

        Raises
        ------
        MeasureError
            One of the two does not build or run, such as a pipeline whose FuseOps fails without the fix.
        WorkbenchError
            The fix of a row is not a configuration.
        """
        rows = tuple(rows)
        for row in rows:
            if row.call:
                raise WorkbenchError(f"{row.name} has no configuration to race; run its fix, {row.fix}")
        races: dict[tuple[Config, Config], Race] = {}
        with showing_progress(progress, f"Racing the fixes of {self.workload.name}") as report:
            for pair in dict.fromkeys((row.before, row.config) for row in rows):
                how = {"budget": budget, "progress": report, "cancelled": cancelled}
                races[pair] = race(self.workload, *pair, self.target, **how)
        raced = (replace(each, race=races.get((each.before, each.config), each.race)) for each in self.lints)
        return replace(self, lints=tuple(raced))

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row for each lint, with the answer and the ratio of its race."""
        import pandas as pd

        names = ("name", "message", "operators", "nodes", "bytes", "seconds", "fix")
        rows = [[getattr(each, name) for name in names] for each in self.lints]
        ratios = [None if each.race is None else each.race.ratio for each in self.lints]
        frame = pd.DataFrame(rows, columns=list(names), dtype=object).astype({"bytes": "Int64", "seconds": "Float64"})
        answers = ["" if each.race is None else each.race.answer for each in self.lints]
        return frame.assign(faster=answers, ratio=pd.array(ratios, dtype="Float64"))

    @property
    def _findings(self) -> list[Lint]:
        """The lints; those that differ in their place only are one, with all places."""
        found: dict[object, list[Lint]] = {}
        for each in self.lints:
            found.setdefault((each.name, _PLACE.sub("", each.message), each.fix, each.race), []).append(each)
        return [_merged(*group) for group in found.values()]

    @property
    def _title(self) -> str:
        return counted(len(self), "lint") + ("" if self.workload.trusted else f"; {UNTRUSTED}")

    def __str__(self) -> str:
        return "\n".join([self._title, *map(str, self._findings)])

    def _repr_html_(self) -> str:
        rows = (
            {"lint": each.name, "finding": each.message, "bytes": each.bytes, "race": each.race and str(each.race)}
            for each in self._findings
        )
        fixes = {each.fix: each.name for each in reversed(self.lints)}
        code = (html_table(f"To try, for {name}:") + html_code(fix) for fix, name in reversed(fixes.items()))
        return html_table(self._title, rows) + "".join(code)


_PLACE = re.compile(r"(?<!\S)\S+ \(node \d+\)")
SHOWN = 8
"places of a finding that are listed"


def _merged(first: Lint, *others: Lint) -> Lint:
    if not others:
        return first
    nodes = [node for each in others for node in each.nodes]
    more = f" and {len(nodes) - SHOWN} more" if len(nodes) > SHOWN else ""
    places = f"{counted(len(others), 'other place')}: node {', '.join(map(str, nodes[:SHOWN]))}{more}"
    total = sum(each.bytes or 0 for each in (first, *others))
    return replace(first, message=f"{first.message}; {places}", nodes=(*first.nodes, *nodes), bytes=total or None)
