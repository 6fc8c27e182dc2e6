"""The steps of a trace by the names of their passes."""

from __future__ import annotations

from workbench.pipeline.step import Step


def pass_of(step: Step) -> str:
    """Return the name of a step's pass, without its options."""
    return step.name.partition("{")[0]


def ran(step: Step) -> bool:
    """Return whether TVM ran the pass to its end."""
    return step.status in ("changed", "same")
