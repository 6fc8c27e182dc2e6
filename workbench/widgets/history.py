"""Undo and redo of a user's choices, for every widget that has them."""

from __future__ import annotations

from typing import Generic, TypeVar

Chosen = TypeVar("Chosen")


class History(Generic[Chosen]):
    """The history of choices, with undo and redo."""

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
        self._choices[self._place + 1 :] = [choice]
        self._place += 1
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
