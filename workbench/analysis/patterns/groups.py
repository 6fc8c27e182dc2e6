"""The attempts of a pattern at each expression, and the expressions inside a match.

TVM decides where a pattern matches and which matches `partition`, `rewrite` and MergeComposite use; the matcher of this
package gives the reasons. Without TVM it decides as TVM does (PatternGrouper in src/relay/ir/dataflow_matcher.cc): from the
last expression to the first, each match that shares no computed value with one taken before, unless an inner value is
used outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.analysis.patterns.matcher import Bindings, Failure, Matcher
from workbench.analysis.patterns.pattern import Pattern, PatternError
from workbench.analysis.patterns.program import Program, Row
from workbench.graph.nodes import reached

DIFFERS = "is refused by TVM for a reason that the workbench does not know"


@dataclass(frozen=True)
class Verdict:
    """TVM's answer about one pattern in one program, by row."""

    matched: frozenset[int]
    failed: Mapping[int, str] = field(default_factory=dict)
    "row at which TVM's matcher ends with an error -> the error"
    taken: Mapping[int, Bindings] = field(default_factory=dict)
    "root of each match that `rewrite` uses -> the rows that its sub-patterns hold"
    failure: str = ""
    "the error with which `rewrite` ends; empty if it does not"

    def as_json(self) -> dict[str, object]:
        """Return plain values, for another process."""
        taken = [[row, [[id, list(rows)] for id, rows in held.items()]] for row, held in self.taken.items()]
        return {"matched": [*self.matched], "failed": [*self.failed.items()], "taken": taken, "failure": self.failure}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Verdict:
        taken = {row: {id: tuple(rows) for id, rows in held} for row, held in plain["taken"]}
        return cls(frozenset(plain["matched"]), dict(plain["failed"]), taken, plain["failure"])


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


def attempts(program: Program, matcher: Matcher, verdict: Verdict | None = None) -> list[Attempt]:
    """Return the attempts at every expression, the last one first; without a verdict of TVM the matcher decides."""
    group_of, made = dict[int, int](), list[Attempt]()
    for row in reversed(range(len(program.rows))):
        if row in program.closed:
            continue
        held, failure = _match(matcher, row) if verdict is None else _explain(matcher, row, verdict)
        if held is None:
            made.append(Attempt(row, None, failure))
            continue
        inside = frozenset(_inside(program, row, _inputs(program, matcher, held)) if held else (row,))
        refused = _refused(program, row, inside, group_of)
        taken = refused is None and row in inside
        if verdict is not None:
            taken = row in verdict.taken
            unknown = ("fails", row) if verdict.failure else ("differs", row) if row in inside else None
            refused = None if taken else (not verdict.failure and refused) or unknown
        made.append(Attempt(row, held, None, inside, taken, refused))
        if taken:
            group_of.update(dict.fromkeys(inside, row))
    return made


def _match(matcher: Matcher, row: int) -> tuple[Bindings | None, Failure | None]:
    held = matcher.match(row)
    return held, None if held is not None else matcher.failure


def _explain(matcher: Matcher, row: int, verdict: Verdict) -> tuple[Bindings | None, Failure | None]:
    """Return the rows held where TVM matches, and our reason where it does not."""
    if row in verdict.taken:
        return verdict.taken[row], None
    try:
        held, failure = _match(matcher, row)
    except PatternError as error:
        if row in verdict.failed:
            raise  # the reason of TVM's error
        held, failure = None, Failure(matcher.root, row, "not-explained", f"is not matched: {error}", {})
    if row in verdict.matched:
        return held or {}, None  # TVM alone knows what it holds
    if row in verdict.failed:
        words = f"makes TVM's matcher fail: {verdict.failed[row]}"
        return None, Failure(matcher.root, row, "tvm-fails", words, {})
    return None, failure or Failure(matcher.root, row, "tvm-differs", DIFFERS, held or {})


def _inputs(program: Program, matcher: Matcher, held: Bindings) -> set[int]:
    """Return the arguments of the function: the rows that the leaves of the pattern hold, without embedded constants."""
    pattern = matcher.pattern
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


def _inside(program: Program, root: int, inputs: set[int]) -> set[int]:
    """Return the expressions from the root up to the inputs."""
    if root in inputs:
        return set()
    return reached([root], lambda row: (part for part in program.rows[row].parts if part not in inputs))


def _refused(program: Program, root: int, inside: frozenset[int], group_of: dict[int, int]) -> tuple[str, int] | None:
    if root in group_of:
        return "overlaps", group_of[root]
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
