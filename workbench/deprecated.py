"""Attributes that were methods: a call still gives the value, with a DeprecationWarning."""

from __future__ import annotations

import warnings
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


def warn_of_call(name: str, instead: str = "") -> None:
    """Warn the caller's caller that the value is now an attribute, not a method."""
    now = f"use {instead}" if instead else "leave out the parentheses"
    warnings.warn(f"{name} is an attribute: {now}", DeprecationWarning, stacklevel=3)


class CallableTuple(tuple[T, ...]):
    """The tuple of an attribute that was a method."""

    __slots__ = ()

    def __call__(self) -> tuple[T, ...]:
        warn_of_call("this value")
        return self


class CallableDict(dict[K, V]):
    """The dict of an attribute that was a method."""

    def __call__(self) -> dict[K, V]:
        warn_of_call("this value")
        return self
