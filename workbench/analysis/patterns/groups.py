"""The matches of a pattern that `partition`, `rewrite` and MergeComposite use.

They go through the expressions from the last to the first, take each match that shares no computed value with one taken
before, and refuse one whose inner values are used outside (PatternGrouper in src/relay/ir/dataflow_matcher.cc).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workbench.analysis.patterns.matcher import Bindings, Failure, Matcher
from workbench.analysis.patterns.pattern import Pattern
from workbench.analysis.patterns.program import Program, Row


@dataclass(frozen=True)
class Attempt:
    """One attempt to match the pattern at an expression."""

    row: int
    held: Bindings | None
    "the rows that each sub-pattern holds; None where the pattern does not match"
    failure: Failure | None
    "the furthest failure, where the pattern does not match"
    inside: frozenset[int] = frozenset()
    "the expressions of a function that is made of the match"
    taken: bool = False
    "whether partition, rewrite and MergeComposite use it"
    refused: tuple[str, int] | None = None
    "why not: (`overlaps`, root of the match taken before) or (`used-outside`, the inner expression)"


def attempts(program: Program, pattern: Pattern) -> tuple[list[Attempt], Matcher]:
    """Try the pattern at every expression, the last one first."""
    matcher, group_of, made = Matcher(program, pattern), dict[int, int](), list[Attempt]()
    for row in reversed(range(len(program.rows))):
        if row in program.closed:
            continue
        held = matcher.match(row)
        if held is None:
            made.append(Attempt(row, None, matcher.failure))
            continue
        inside = frozenset(_inside(program, row, _inputs(program, matcher, pattern, held)))
        overlapped = group_of.get(row)
        if overlapped is not None:
            made.append(Attempt(row, held, None, inside, refused=("overlaps", overlapped)))
            continue
        refused = _refused(program, row, inside, group_of)
        made.append(Attempt(row, held, None, inside, taken=refused is None and row in inside, refused=refused))
        if refused is None:
            group_of.update(dict.fromkeys(inside, row))
    return made, matcher


def _inputs(program: Program, matcher: Matcher, pattern: Pattern, held: Bindings) -> set[int]:
    """Return the arguments of the function: the rows that the leaves of the pattern hold, without embedded constants."""
    fuzzy, found = _fuzzy(program, pattern, held), set[int]()

    def add(row: int, id: int) -> None:
        if (
            row not in fuzzy
            and program.rows[row].kind not in ("op", "function")
            and not _embedded(program, matcher, row, id)
        ):
            found.add(row)

    for node in pattern.nodes:
        rows = held.get(node.id, ())
        if node.kind in ("tuple", "call") and node.fields["any"]:
            first = 1 if node.kind == "call" else 0
            for row in rows:
                for part in program.rows[row].parts[first:]:
                    add(part, node.id)
        elif not node.children:
            for row in rows:
                add(row, node.id)
    return found


def _fuzzy(program: Program, pattern: Pattern, held: Bindings) -> set[int]:
    """Return the rows in a dominated region or in a function that the pattern describes; they are never arguments."""
    found: set[int] = set()
    for node in pattern.nodes:
        if node.kind == "dominates":
            for child in node.children[:2]:
                found.update(held.get(child, ()))
        if node.kind == "function":
            for row in held.get(node.id, ()):
                if program.rows[row].kind == "function":
                    found.update(_inside(program, program.rows[row].parts[-1], set()))
    return found


def _embedded(program: Program, matcher: Matcher, row: int, id: int) -> bool:
    """Return whether a constant stays in the function, because the pattern asks for a constant."""
    node = matcher.nodes[id]
    if program.rows[row].kind != "constant":
        return False
    return node.kind == "constant" or (node.kind == "expr" and "op" not in node.fields)


def _inside(program: Program, root: int, inputs: set[int]) -> Iterator[int]:
    """Yield the expressions from the root up to the inputs."""
    if root in inputs:
        return
    seen, stack = {root}, [root]
    while stack:
        row = stack.pop()
        yield row
        for part in program.rows[row].parts:
            if part not in seen and part not in inputs:
                seen.add(part)
                stack.append(part)


def _refused(program: Program, root: int, inside: frozenset[int], group_of: dict[int, int]) -> tuple[str, int] | None:
    for row in sorted(inside):
        if program.rows[row].kind in ("op", "function", "constant"):
            continue
        if row in group_of:
            return "overlaps", group_of[row]
        if row != root and any(
            user not in inside and not _comes_back(program, user, root) for user in program.users[row]
        ):
            return "used-outside", row
    return None


def _comes_back(program: Program, user: int, root: int) -> bool:
    return user != root and program.dominated(user, root)


def computes(row: Row) -> bool:
    """Return whether an expression is a call, a tuple or a field of one."""
    return row.kind not in ("op", "var", "constant", "global")
