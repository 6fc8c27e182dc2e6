"""The phase that makes the configuration small: passes, options and the opt level that the symptom does not need."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from workbench.experiments.bisect.changes import Changes, changes_of
from workbench.experiments.ddmin import ddmin
from workbench.experiments.reduce.search import Search
from workbench.experiments.symptoms import Larger, Slower, Wrong
from workbench.measurement.count import as_it_stands
from workbench.pipeline.config import Config
from workbench.pipeline.spec import Pipeline
from workbench.wording import counted


def shrink_configuration(search: Search) -> None:
    """Leave out passes, options and the opt level until each that is left is needed, then the list of disabled passes."""
    changes = changes_of(search.workload, search.config, _good(search), search.pipeline)
    # without a change these compare a build with itself
    needs_one = isinstance(search.symptom, (Wrong, Larger, Slower))
    if changes.items and (needs_one or not _shows(search, changes, ())):
        ddmin(changes.all, lambda made: _shows(search, changes, made))
    if search.config.disabled:
        search.settle("no disabled passes", replace(search.config, disabled=()), search.pipeline)


def _good(search: Search) -> Config | None:
    """Return the configuration that the symptom compares with, if the two are of one kind."""
    symptom = search.symptom
    good = symptom.reference if isinstance(symptom, (Larger, Slower)) else None
    return good if good is not None and bool(good.pipeline) == bool(search.config.pipeline) else None


def _shows(search: Search, changes: Changes, made: Collection[int]) -> bool:
    said = f"{len(made)} of {counted(len(changes.items), 'change')} of the configuration"
    config, pipeline = changes.config(made), search.pipeline
    if changes.slots:
        running = Pipeline(step for step in changes.pipeline(made) if step.enabled)
        # an empty pipeline would mean the compiler's own passes
        config = (
            replace(config, pipeline=str(running))
            if running
            else replace(as_it_stands(search.workload, config), name="")
        )
        pipeline = (pipeline and running) or None
    return search.settle(said, config, pipeline)
