"""Columns of whole numbers, exact to 64 bits; what is not known, or is more, is NA."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

_LARGEST = 2**63 - 1


def fits(value: Any) -> bool:
    """Return whether a column can hold a value; None is NA there.

    >>> fits(2**63 - 1), fits(2**63), fits(None), fits(float("nan")), fits(0.5)
    (True, False, True, False, False)
    """
    if value is None:
        return True
    try:
        whole = int(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return whole == value and -_LARGEST - 1 <= whole <= _LARGEST


def column(values: Iterable[Any]) -> pd.api.extensions.ExtensionArray:
    """Return the column of these values. By way of a DataFrame, one None would make fractions of all of them."""
    import pandas as pd

    return pd.array([int(value) if value is not None and fits(value) else None for value in values], dtype="Int64")
