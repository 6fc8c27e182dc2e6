"""Pattern matching by TVM's rules, with the furthest failure of each attempt.

TVM decides where it is at hand; this matcher gives the reason of a mismatch, and decides for a graph alone. The rules are
those of DFPatternMatcher in TVM 0.17 (src/relay/ir/dataflow_matcher.cc), order of attempts and memory included, since both
affect the result: a sub-pattern that has matched must match the same expression when it is visited again; `add` and
`multiply` also try their arguments in reverse order; on the path of `dominates` nothing is remembered. Three things differ.
`divide` of a `multiply` does not match the `multiply` of a `divide`. A walk up a path does not enter an expression twice,
whereas TVM walks every path (their number doubles with each diamond; `Matcher.steps` bounds TVM's steps). Where TVM ends
with an internal error, this module raises PatternError with the reason, or matches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from workbench.analysis.patterns.pattern import Pattern, PatternError, PatternNode
from workbench.analysis.patterns.program import LEAVES, Program
from workbench.wording import counted

Bindings = dict[int, tuple[int, ...]]
"Sub-pattern -> the rows it holds."

VISITS, VISITS_PER_ROW = 1_000_000, 500
"most visits of a sub-pattern to an expression, in all attempts of one matcher, besides those of walks up a path"
OTHER_KINDS = {
    "var": ("no-variable", "is not a variable: it is computed here, or a constant"),
    "constant": (
        "no-constant",
        "is not a constant; a parameter becomes one when it is bound (BindParams), an expression when it is folded (FoldConstant)",
    ),
    "call": ("no-call", "is not a call of an operator or function"),
    "tuple": ("no-tuple", "is not a tuple"),
    "get_item": ("no-field", "is not a field of a tuple"),
    "function": ("no-function", "is not a function"),
    "if": ("no-if", "is not an if"),
    "let": ("no-let", "is not a let"),
}
"kind of pattern -> the reason and its words for an expression of another kind"
BOTH_ORDERS = ("add", "multiply", "relax.add", "relax.multiply")


@dataclass(frozen=True)
class Failure:
    """The furthest failure of one attempt."""

    pattern: int
    "the sub-pattern that failed"
    row: int
    "the expression at which it failed"
    reason: str
    "a reason code"
    words: str
    "the reason, as a clause that follows the name of the expression"
    held: Bindings
    "the rows held by sub-patterns that matched before"


@dataclass
class _Walk:
    """The walk up from one expression."""

    row: int
    waiting: Iterator[int]
    "its inputs that are not visited yet"
    steps: int = 1
    "number of steps that TVM takes"
    pushed: set[int] = field(default_factory=set)
    "sub-patterns of the path that matched during the walk"

    def takes(self, other: _Walk) -> None:
        self.steps += other.steps
        self.pushed |= other.pushed


class Matcher:
    """A matcher of one pattern against the expressions of one program."""

    def __init__(self, program: Program, pattern: Pattern) -> None:
        self.program = program
        self.pattern = pattern
        self.nodes = pattern.nodes
        self.root = pattern.root
        self.steps = 0
        "upper bound of the steps that TVM takes up the paths of `dominates` in one attempt, so far"
        self._left = VISITS + VISITS_PER_ROW * len(program.rows) + self._walked()
        self.failure: Failure | None = None
        self._memo: dict[int, list[int]] = {}
        self._order: list[int] = []
        self._memoize = True
        self._visits: dict[str, Callable[[PatternNode, int], bool]] = {
            "wildcard": lambda _pattern, _row: True,
            "op": self._op,
            "var": self._var,
            "constant": self._is,
            "call": self._call,
            "tuple": self._tuple,
            "get_item": self._get_item,
            "function": self._function,
            "alt": lambda pattern, row: any(self._visit(child, row) for child in pattern.children),
            "and": lambda pattern, row: all(self._visit(child, row) for child in pattern.children),
            "not": self._not,
            "attr": lambda pattern, row: self._visit(pattern.children[0], row) and self._leaf(pattern, row),
            "dominates": self._dominates,
            "any_order": self._any_order,
            "used_by": self._used_by,
            **dict.fromkeys(("if", "let"), self._parts),
            **dict.fromkeys(("type", "shape", "dtype"), self._typed),
            **dict.fromkeys(("expr", "global", "extern", "shape_value", "dataflow_var"), self._leaf),
        }

    def match(self, row: int, pattern: int | None = None) -> Bindings | None:
        """Return the rows that each sub-pattern holds; None if the pattern does not match, with `failure` set."""
        self._memo, self._order, self.failure = {}, [], None
        return self._bindings() if self._visit(self.root if pattern is None else pattern, row) else None

    def _bindings(self) -> Bindings:
        return {p: tuple(dict.fromkeys(rows)) for p, rows in self._memo.items()}

    def _fail(self, pattern: PatternNode, row: int, reason: str, words: str) -> bool:
        came = (sum(self.nodes[p].kind != "wildcard" for p in self._memo), len(self._memo))
        best = self.failure
        if best is None or came > (sum(self.nodes[p].kind != "wildcard" for p in best.held), len(best.held)):
            self.failure = Failure(pattern.id, row, reason, words, self._bindings())
        return False

    def _clear(self, mark: int) -> None:
        for pattern in self._order[mark:]:
            self._memo.pop(pattern, None)
        del self._order[mark:]

    def _visit(self, id: int, row: int) -> bool:
        pattern = self.nodes[id]
        self._left -= 1
        if self._left < 0:
            names = dict.fromkeys(node.fields["name"] for node in self.nodes if node.kind == "op")
            swapped = " and ".join(f"`{name}`" for name in names if name in BOTH_ORDERS)
            why = f": the arguments of {swapped} match in both orders" if swapped else ""
            at = self.program.named(row)
            raise PatternError(f"the pattern takes more steps than the workbench's matcher makes, at {at}{why}")
        if self._memoize and id in self._memo:
            known = self._memo[id]
            if len(known) != 1:
                raise PatternError(
                    f"TVM fails on this pattern: the sub-pattern `{pattern.label}` is in the path of dominates and elsewhere; make two of it"
                )
            if known[0] == row:
                return True
            words = f"is not {self.program.named(known[0])}, and the sub-pattern matches one value in both places"
            return self._fail(pattern, row, "other-value", words)
        mark = len(self._order)
        if self._visits[pattern.kind](pattern, row):
            self._memo.setdefault(id, []).append(row)
            self._order.append(id)
            return True
        self._clear(mark)
        return False

    def _all(self, patterns: Iterator[int] | tuple[int, ...], rows: tuple[int, ...]) -> bool:
        return all(self._visit(p, r) for p, r in zip(patterns, rows, strict=True))

    # -- one method for each kind of pattern

    def _is(self, pattern: PatternNode, row: int, kind: str = "") -> bool:
        """Return whether an expression is of a kind, by default the pattern's."""
        kind = kind or pattern.kind
        return self.program.rows[row].kind == kind or self._fail(pattern, row, *OTHER_KINDS[kind])

    def _has(self, pattern: PatternNode, row: int, given: int, wanted: int, what: str) -> bool:
        words = f"has {counted(given, what)}, and the pattern {wanted}"
        return given == wanted or self._fail(pattern, row, "other-count", words)

    def _op(self, pattern: PatternNode, row: int) -> bool:
        here, name = self.program.rows[row], pattern.fields["name"]
        if here.kind == "op" and here.name == name:
            return True
        return self._fail(pattern, row, "other-operator", f"is not the operator {name}")

    def _leaf(self, pattern: PatternNode, row: int) -> bool:
        """Match a pattern that the program tests itself."""
        fault = self.program.fault(pattern, row)
        return fault is None or self._fail(pattern, row, *fault)

    def _var(self, pattern: PatternNode, row: int) -> bool:
        given, name = self.program.rows[row].name, pattern.fields.get("name", "")
        same = name in ("", given)
        return self._is(pattern, row) and (same or self._fail(pattern, row, "other-name", f"is not named {name}"))

    def _not(self, pattern: PatternNode, row: int) -> bool:
        before = self.failure
        matched = self._visit(pattern.children[0], row)
        self.failure = before  # a mismatch of the rejected pattern is not a failure
        words = f"is what the pattern rejects: {self.nodes[pattern.children[0]].label}"
        return not matched or self._fail(pattern, row, "rejected", words)

    def _any_order(self, pattern: PatternNode, row: int) -> bool:
        parts, children = self.program.rows[row].parts, pattern.children
        counts = len(parts), len(children)
        return (
            self._is(pattern, row, "tuple")
            and self._has(pattern, row, *counts, "field")
            and self._placed(children, list(parts))
        )

    def _placed(self, patterns: tuple[int, ...], rows: list[int]) -> bool:
        """Return whether each pattern matches a different one of the remaining fields."""
        if not patterns:
            return True
        for place, row in enumerate(rows):
            if self._visit(patterns[0], row) and self._placed(patterns[1:], rows[:place] + rows[place + 1 :]):
                return True
        return False

    def _used_by(self, pattern: PatternNode, row: int) -> bool:
        """Match a producer among the inputs of a consumer, which may have to be its only user."""
        producer, consumer = pattern.children
        if not self._visit(consumer, row):
            return False
        for source in self._inputs_of(row, pattern.fields["index"]):
            mark = len(self._order)
            users = self.program.consumers(source)
            if self._visit(producer, source):
                if not pattern.fields["only"] or users == 1:
                    return True
                words = f"is used by {users} values, and the pattern wants it used by this one only"
                self._fail(pattern, source, "used-elsewhere", words)
                self._clear(mark)
        return False

    def _inputs_of(self, row: int, index: int) -> tuple[int, ...]:
        """Return the inputs of an expression, with literal tuples replaced by their fields; or only the one at `index`."""
        taken = self.program.flat_inputs(row)
        if index < 0:
            return tuple(dict.fromkeys(taken))
        return taken[index : index + 1]

    def _typed(self, pattern: PatternNode, row: int) -> bool:
        return self._leaf(pattern, row) and self._visit(pattern.children[0], row)

    def _parts(self, pattern: PatternNode, row: int) -> bool:
        """Match an `if` or a `let`."""
        here = self.program.rows[row]
        if here.kind != pattern.kind or len(here.parts) != len(pattern.children):
            return self._fail(pattern, row, *OTHER_KINDS[pattern.kind])
        return self._all(pattern.children, here.parts)

    def _get_item(self, pattern: PatternNode, row: int) -> bool:
        here, index = self.program.rows[row], pattern.fields["index"]
        if not self._is(pattern, row):
            return False
        if index not in (-1, here.index):
            return self._fail(pattern, row, "other-field", f"is not field {index}")
        return self._visit(pattern.children[0], here.parts[0])

    def _tuple(self, pattern: PatternNode, row: int) -> bool:
        parts, children = self.program.rows[row].parts, pattern.children
        if not self._is(pattern, row):
            return False
        if pattern.fields["any"]:
            return True
        return self._has(pattern, row, len(parts), len(children), "field") and self._all(children, parts)

    def _function(self, pattern: PatternNode, row: int) -> bool:
        parts, children = self.program.rows[row].parts, pattern.children
        if not self._is(pattern, row):
            return False
        if pattern.fields["any"]:
            return self._visit(children[-1], parts[-1])
        return self._has(pattern, row, len(parts) - 1, len(children) - 1, "parameter") and self._all(children, parts)

    # -- calls

    def _call(self, pattern: PatternNode, row: int) -> bool:
        if not self._is(pattern, row):
            return False
        here, mark = self.program.rows[row], len(self._order)
        if self._visit(pattern.children[0], here.parts[0]):
            arguments = pattern.children[1:]
            if self._arguments(pattern, arguments, row):
                return True
            called = self.program.rows[here.parts[0]].name
            if called in BOTH_ORDERS[2:]:  # Relax tests the call, with its arguments in reverse order
                return self._arguments(pattern, arguments, row, turned=True)
            named = self.pattern.names_operator(pattern) and called in BOTH_ORDERS[:2]
            return named and self._arguments(pattern, arguments[::-1], row)
        self._clear(mark)
        return False

    def _arguments(self, pattern: PatternNode, arguments: tuple[int, ...], row: int, turned: bool = False) -> bool:
        if pattern.fields["any"]:
            return True
        given = self.program.rows[row].parts[:0:-1] if turned else self.program.rows[row].parts[1:]
        mark = len(self._order)
        if pattern.fields.get("rest"):
            given = given[: len(arguments)]
        if not self._has(pattern, row, len(given), len(arguments), "argument"):
            return False
        if self._all(arguments, given):
            return True
        self._clear(mark)
        return False

    # -- dominates

    def _dominates(self, pattern: PatternNode, row: int) -> bool:
        parent, _, child = pattern.children
        if not self._visit(child, row):
            return False
        reached = self._path(pattern, row)
        self._memoize = True
        words = "does not dominate the parent: the parent's value also leaves by another way than through here"
        return reached and (self._is_dominated(parent, row) or self._fail(pattern, row, "leaves-the-region", words))

    def on_path(self, row: int) -> tuple[int, ...]:
        """Return the inputs of an expression that must be on the path, or be the parent."""
        here = self.program.rows[row]
        if here.kind != "call":
            return here.inputs
        # an argument may also be the callee; TVM then leaves out both
        skipped = {here.parts[0]}
        if self.program.skips_leaves:
            skipped.update(i for i in here.inputs if self.program.rows[i].kind in LEAVES)
        return tuple(i for i in here.inputs if i not in skipped)

    def _walked(self) -> int:
        """Return the most visits of walks up a path, if each `dominates` walks once from each expression."""
        paths = sum(node.kind == "dominates" for node in self.nodes)
        if not paths:
            return 0
        above = accumulate(1 + len(self.on_path(row)) for row in range(len(self.program.rows)))
        return paths * len(self.nodes) * sum(above)

    def _path(self, pattern: PatternNode, start: int) -> bool:
        """Return whether every path up from the child matches the path pattern and reaches the parent."""
        parent, path, _ = pattern.children
        remembers = not self._holds_dominates(path)
        done: dict[int, _Walk] = {}
        walks = [_Walk(start, iter(self.on_path(start)))]
        if not self.on_path(start):
            return self._fail_entering(pattern, start)
        while walks:
            walk = walks[-1]
            source = next(walk.waiting, None)
            if source is None:
                done[walk.row] = walks.pop()
                self.steps = max(self.steps, walk.steps)
                if walks:
                    walks[-1].takes(walk)
                continue
            self._memoize = True
            before = self.failure
            if self._visit(parent, source):
                walk.steps += 1
                continue
            self.failure = before  # a row other than the parent is not a failure while the path may go on
            self._memoize = False
            mark = len(self._order)
            if not self._visit(path, source):
                inner, self.failure = self.failure, before
                return self._fail(self.nodes[path], source, "not-on-path", self._off_path(path, inner))
            walk.pushed.update(self._order[mark:])
            if remembers and source in done:
                walk.takes(done[source])
                self._push_again(done[source].pushed)
                continue
            above = self.on_path(source)
            if not above:
                return self._fail_entering(pattern, source)
            walks.append(_Walk(source, iter(above)))
        return True

    def _push_again(self, patterns: set[int]) -> None:
        """Remember what a second walk of the same paths would: sub-patterns of the path then hold more than one value."""
        for pattern in patterns:
            self._memo[pattern].append(self._memo[pattern][-1])
            self._order.append(pattern)

    def _off_path(self, path: int, inner: Failure | None) -> str:
        because = f": {self.program.named(inner.row)} {inner.words}" if inner else ""
        return (
            f"is between child and parent, and the path pattern ({self.nodes[path].label}) does not match it{because}"
        )

    def _fail_entering(self, pattern: PatternNode, row: int) -> bool:
        words = "is computed without the parent, so a value from outside enters on the way to the child"
        return self._fail(pattern, row, "enters-from-outside", words)

    def _holds_dominates(self, id: int) -> bool:
        pattern = self.nodes[id]
        return pattern.kind == "dominates" or any(self._holds_dominates(child) for child in pattern.children)

    def _is_dominated(self, parent: int, child: int) -> bool:
        """Return whether the child post-dominates the parent; the parent is remembered by now, unless that was undone."""
        known = self._memo.get(parent)
        if known is not None and len(known) == 1:
            return known[0] != child and self.program.dominated(known[0], child)
        below: list[list[int]] = [[] for _ in self.program.rows]
        for row in reversed(range(len(self.program.rows))):
            if self.program.above[row] >= 0:
                below[self.program.above[row]].append(row)
        stack = [child]
        while stack:
            for row in below[stack.pop()]:
                if self._visit(parent, row):
                    return True
                stack.append(row)
        return False
