"""What a person says of a model's inputs: shapes or arrays, by name or in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.errors import LoadError

Inputs = Mapping[str, Any] | Sequence[Any] | None


def shapes(inputs: Inputs, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Input name -> shape.

    Raises
    ------
    LoadError
        More are given than there are inputs, or one is no shape.
    """
    given = dict(inputs) if isinstance(inputs, Mapping) else dict(enumerate(inputs or ()))
    if len(given) > len(names):
        raise LoadError(f"{len(given)} inputs are given, and the model has {len(names)}: {', '.join(names)}")
    return {key if isinstance(key, str) else names[key]: _shape(key, value) for key, value in given.items()}


def _shape(key: Any, value: Any) -> tuple[int, ...]:
    try:
        sizes = tuple(int(size) for size in getattr(value, "shape", value))
    except (TypeError, ValueError):
        raise LoadError(f"{value!r} is no shape for the input {key!r}; give numbers, (1, 128), or an array") from None
    if any(size < 1 for size in sizes):
        raise LoadError(f"{sizes} is no shape for the input {key!r}: each dimension has to be at least 1")
    return sizes
