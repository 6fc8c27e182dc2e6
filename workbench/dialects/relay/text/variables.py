"""What a name in the text stands for, at the place where it stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workbench.dialects.relay.ast import Expr


class Names:
    """The variables that can be seen here. Blocks nest, so each name keeps a stack, and any depth costs the same."""

    def __init__(self) -> None:
        self._bound: dict[str, list[Expr]] = {}

    def find(self, name: str) -> Expr | None:
        found = self._bound.get(name)
        return found[-1] if found else None

    def bind(self, scope: Scope, name: str, variable: Expr) -> None:
        scope.names.append(name)
        self._bound.setdefault(name, []).append(variable)

    def leave(self, scope: Scope) -> None:
        """Forget what the block bound."""
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
    """%0, %1, ...: a value that TVM numbered."""

    value: Expr
    scope: Scope | None
    "where it is bound; None while only its uses were read"
    offset: int
    "where it was seen first"


class Frame:
    """A construct that waits for its parts: what to do when the part that is being read is done."""

    __slots__ = ("done", "lets", "scope")

    def __init__(self, done: Callable[[Expr], None], scope: Scope) -> None:
        self.done = done
        self.scope = scope
        self.lets: list[tuple[Expr, Expr, int]] = []
