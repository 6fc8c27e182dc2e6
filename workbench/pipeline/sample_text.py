"""The text of a sample, `sample:bert{layers=2}`: a name and options, as of a pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

from workbench.errors import LoadError
from workbench.pipeline.spec import PassStep, Pipeline

PREFIX = "sample:"


def is_sample(source: object) -> TypeGuard[str]:
    """Return whether this is the text of a sample."""
    return isinstance(source, str) and source.startswith(PREFIX)


def parsed(text: str) -> tuple[str, Mapping[str, Any]]:
    """Return the name and the options of a sample.

    >>> parsed("sample:bert{layers=2}")
    ('bert', {'layers': 2})

    Raises
    ------
    WorkbenchError
        The text is not one name with options.
    """
    steps = list(Pipeline.parse(text.removeprefix(PREFIX)))
    if len(steps) != 1:
        raise LoadError("name one sample, `sample:bert` or `sample:bert{layers=2}`")
    return steps[0].name, steps[0].options


def text_of(name: str, options: Mapping[str, Any]) -> str:
    """Return the text of a sample, which `parsed` reads."""
    return f"{PREFIX}{PassStep(name, options).text}"
