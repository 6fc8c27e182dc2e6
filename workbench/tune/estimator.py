"""Optuna, loaded when it is needed, and one thing of it made cheap."""

from __future__ import annotations

import importlib.util
import threading
from functools import cache
from typing import Any

from workbench.errors import WorkbenchError


def load_beside() -> None:
    """Begin to load it, in a thread: that takes as long as some candidates do, and the first needs none of it.

    Raises
    ------
    WorkbenchError
        It is not installed.
    """
    if importlib.util.find_spec("optuna") is None:
        raise WorkbenchError(
            "a guided search needs Optuna: pip install 'tvm-workbench[tune]', or give method='exhaustive' or a smaller space"
        )
    threading.Thread(target=optuna, name="loading Optuna", daemon=True).start()


def optuna() -> Any:
    """The module."""
    import optuna

    return optuna


def one_of(count: int) -> Any:
    """A choice of so many places, which Optuna copies with every trial: this one is never changed, so it is its own copy."""
    return _kind()(tuple(range(count)))


@cache
def _kind() -> type:
    class Choice(optuna().distributions.CategoricalDistribution):
        def __deepcopy__(self, memo: dict[int, Any]) -> Choice:
            return self

        def __eq__(self, other: object) -> bool:
            return self is other or super().__eq__(other)

        def __hash__(self) -> int:
            return super().__hash__()

    return Choice
