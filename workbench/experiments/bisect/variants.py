"""Variants of a build: the program, the configuration and the cuts that a probe asks about."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass

from workbench.dialects.base import Workload
from workbench.experiments.bisect.changes import Changes
from workbench.measurement.count import as_it_stands
from workbench.pipeline.config import Config
from workbench.pipeline.run import Runner
from workbench.pipeline.spec import Pipeline
from workbench.pipeline.step import Step

CutEdge = tuple[int, int, int]
"source, target and argument position, in the graph of a Cuttable"


@dataclass(frozen=True)
class Variant:
    """A program with some of the changes, and with cuts."""

    workload: Workload
    config: Config
    made: tuple[int, ...]
    "places of the changes that are made"
    pipeline: Pipeline | None = None
    "of the configuration, with its Python functions; None for the compiler's own passes"
    cut: tuple[CutEdge, ...] = ()
    "edges across which nothing is fused"

    @property
    def has_functions(self) -> bool:
        """Return whether a pass is a Python function or a Pass object, which another process does not have."""
        return any(step.enabled and step.run is not None for step in self.pipeline or ())

    @property
    def key(self) -> Hashable:
        """Return a value that is equal for variants that make the same build."""
        # functions of one name have one text
        build = self.made if self.has_functions else self.config.same_build()
        return build, self.cut

    def build(self, runner: Runner) -> tuple[Workload, Config] | Step:
        """Return the program and the configuration for the child process, or the pass that failed; Python functions run here."""
        if self.pipeline is None or not self.has_functions:
            return self.workload, self.config
        trace = runner.run(self.pipeline, self.config.opt_level)
        if trace.failed is not None:
            return trace.failed
        return runner.workload_of(trace.end), as_it_stands(self.workload, self.config)


def variant_of(workload: Workload, changes: Changes, made: Collection[int]) -> Variant:
    """Return the variant with these changes alone."""
    pipeline = changes.pipeline(made) if changes.slots else None
    return Variant(workload, changes.config(made), tuple(sorted(made)), pipeline)
