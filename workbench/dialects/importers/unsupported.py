"""Operators that TVM has no converter for, found before anything is converted and said all at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from workbench.errors import Unconverted

SHOWN = 3
"nodes named for each operator"
LONGEST = 200
"characters of a name"


def refuse(found: Iterable[tuple[str, str]], supported: Collection[str], what: str) -> None:
    """Do nothing where all (operator, node) pairs are supported.

    Raises
    ------
    Unconverted
        With every operator that is not, how often it comes, and the first nodes that are one.
    """
    missing: dict[str, list[str]] = {}
    for op, node in found:
        if op not in supported:
            missing.setdefault(op, []).append(node)
    if missing:
        listed = "; ".join(f"{op[:LONGEST]} ({_places(nodes)})" for op, nodes in sorted(missing.items()))
        raise Unconverted(
            f"TVM here cannot convert {len(missing)} of the model's {what}: {listed}; replace them in the model, or export a part without them"
        )


def _places(nodes: list[str]) -> str:
    named = [repr(node[:LONGEST]) for node in nodes[:SHOWN] if node]
    count = f"{len(nodes)} times" if len(nodes) > 1 else "once"
    if not named:
        return count
    return f"{count}: {', '.join(named)}{', ...' if len(nodes) > len(named) else ''}"
