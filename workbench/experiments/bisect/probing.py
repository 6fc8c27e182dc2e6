"""Probes of a search: ask about a variant of the build, and remember the answer."""

from __future__ import annotations

import time
from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass, replace

from workbench.dialects.base import Workload
from workbench.errors import Cancelled
from workbench.experiments.bisect.changes import Changes
from workbench.experiments.bisect.variants import CutEdge, Variant, variant_of
from workbench.experiments.symptoms import UNKNOWN, YES, Finding, Limits, Symptom, of_failed_pass, of_origin
from workbench.pipeline.config import Config
from workbench.pipeline.run import Runner
from workbench.pipeline.step import Step
from workbench.wording import counted

ATTEMPTS = 4
"probes of one variant that a race cannot decide; each has twice the budget of the one before"


@dataclass(frozen=True)
class Probe:
    """One question about one variant, and its answer."""

    made: tuple[int, ...]
    "places of the changes that were made"
    names: tuple[str, ...]
    "their names"
    cut: tuple[CutEdge, ...]
    "edges across which nothing was fused"
    config: Config
    finding: Finding
    seconds: float
    budget: float
    "seconds of a race"

    @property
    def shows(self) -> bool:
        """Return whether the symptom shows."""
        return self.finding.answer == YES

    def to_data(self) -> dict[str, object]:
        """Return the row of the probe."""
        found = self.finding
        head = {"changes": ", ".join(self.names) or "none", "cuts": len(self.cut), "config": self.config.label}
        return {**head, "answer": found.answer, "evidence": found.evidence, "key": found.key, "seconds": self.seconds}


class Prober:
    """The probes of one search.

    Parameters
    ----------
    known
        Probes of an earlier search of the same changes, which are not repeated.
    """

    def __init__(
        self, workload: Workload, changes: Changes, symptom: Symptom, limits: Limits, known: Iterable[Probe] = ()
    ) -> None:
        self.workload, self.changes, self.limits = workload, changes, limits
        self.probes: list[Probe] = list(known)
        self._earlier = {(probe.made, probe.cut): probe for probe in self.probes if not probe.finding.again}
        self._known: dict[Hashable, Probe] = {}
        self._crash = next((probe.finding.key for probe in self.probes if probe.shows), "")
        self._runner = Runner(workload)
        self._symptom, self._from_passes = symptom, of_origin(symptom, workload)

    def shows(self, made: Collection[int]) -> bool:
        """Return whether the symptom shows with these changes."""
        return self.ask(self.variant(made)).shows

    def variant(self, made: Collection[int]) -> Variant:
        """Return the variant with these changes."""
        return variant_of(self.workload, self.changes, made)

    def ask(self, variant: Variant) -> Probe:
        """Return the answer for a variant; equal builds are probed once."""
        if variant.key not in self._known:
            earlier = self._earlier.get((variant.made, variant.cut))
            self._known[variant.key] = earlier or self.ask_again(variant)
        return self._known[variant.key]

    def ask_again(self, variant: Variant) -> Probe:
        """Ask about a variant anew, with a larger budget where a race cannot tell.

        Raises
        ------
        Cancelled
            The search was cancelled.
        """
        for attempt in range(ATTEMPTS):
            if self.limits.cancelled():
                raise Cancelled("cancelled before the next probe")
            probe = self._probe(variant, replace(self.limits, budget=self.limits.budget * 2**attempt))
            self.probes.append(probe)
            if not probe.finding.again:
                break
        return self.probes[-1]

    def _probe(self, variant: Variant, limits: Limits) -> Probe:
        total = len(self.changes.items)
        cuts = f", {counted(len(variant.cut), 'cut')}" if variant.cut else ""
        limits.progress(f"Probe {len(self.probes) + 1}: {len(variant.made)} of {counted(total, 'change')}{cuts}", None)
        begun = time.perf_counter()
        finding = self._of_this_crash(self._finding(variant, limits))
        seconds, names = time.perf_counter() - begun, self.changes.names(variant.made)
        return Probe(variant.made, names, variant.cut, variant.config, finding, seconds, limits.budget)

    def _finding(self, variant: Variant, limits: Limits) -> Finding:
        made = variant.build(self._runner)
        if isinstance(made, Step):
            return of_failed_pass(self._symptom, made)
        workload, config = made
        symptom = self._symptom if workload is self.workload else self._from_passes
        return symptom.probe(workload, config, limits)

    def _of_this_crash(self, found: Finding) -> Finding:
        """Return the finding; a crash other than the first one is not an answer."""
        if found.answer != YES or not found.key:
            return found
        self._crash = self._crash or found.key
        if found.key == self._crash:
            return found
        return replace(found, answer=UNKNOWN, evidence=f"another crash: {found.evidence}")
