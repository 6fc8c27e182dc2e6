"""The newest values that a widget keeps: a user's choices with undo and redo, and results by key."""

from __future__ import annotations

from typing import Generic, TypeVar

KEPT_CHOICES = 200
KEPT_RESULTS = 32

Chosen = TypeVar("Chosen")
K = TypeVar("K")
V = TypeVar("V")


class History(Generic[Chosen]):
    """The newest choices, with undo and redo."""

    def __init__(self, first: Chosen) -> None:
        self._choices = [first]
        self._place = 0

    @property
    def current(self) -> Chosen:
        return self._choices[self._place]

    def choose(self, choice: Chosen) -> bool:
        """Make a new choice and forget undone ones; return whether it differs from the current one."""
        if choice == self.current:
            return False
        self._choices = [*self._choices[: self._place + 1], choice][-KEPT_CHOICES:]
        self._place = len(self._choices) - 1
        return True

    def undo(self) -> bool:
        """Go back one choice; return whether there was one."""
        moved = self._place > 0
        self._place -= moved
        return moved

    def redo(self) -> bool:
        """Go forward one choice; return whether there was one."""
        moved = self._place + 1 < len(self._choices)
        self._place += moved
        return moved


class Newest(dict[K, V]):
    """Results by key; a new one removes the oldest beyond KEPT_RESULTS."""

    def __setitem__(self, key: K, value: V) -> None:
        self.pop(key, None)
        super().__setitem__(key, value)
        if len(self) > KEPT_RESULTS:
            del self[next(iter(self))]
