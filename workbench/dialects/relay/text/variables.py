"""The meaning of a name in the text, at its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workbench.dialects.relay.ast import Expr


class Names:
    """The variables in scope. Blocks nest, so each name keeps a stack, and the cost does not depend on the depth."""

    def __init__(self) -> None:
        self._bound: dict[str, list[Expr]] = {}

    def find(self, name: str) -> Expr | None:
        found = self._bound.get(name)
        return found[-1] if found else None

    def bind(self, scope: Scope, name: str, variable: Expr) -> None:
        scope.names.append(name)
        self._bound.setdefault(name, []).append(variable)

    def leave(self, scope: Scope) -> None:
        """Remove the variables that the block bound."""
        for name in scope.names:
            self._bound[name].pop()
        scope.names.clear()


class Scope:
    """One function or block, and the variables that it binds."""

    __slots__ = ("names",)

    def __init__(self) -> None:
        self.names: list[str] = []


@dataclass(slots=True, eq=False)
class Temporary:
    """A value that TVM numbered: %0, %1, ..."""

    value: Expr
    scope: Scope | None
    "the scope that binds it; None while only uses of it were read"
    offset: int
    "offset of its first occurrence"


class Frame:
    """A construct that waits for its parts: the action when the part being read is done."""

    __slots__ = ("done", "lets", "scope")

    def __init__(self, done: Callable[[Expr], None], scope: Scope) -> None:
        self.done = done
        self.scope = scope
        self.lets: list[tuple[Expr, Expr, int]] = []
