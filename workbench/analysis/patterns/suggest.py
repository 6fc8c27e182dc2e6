"""The smallest pattern that TVM's matcher matches at chosen nodes and, where possible, nowhere else.

The pattern names each chosen operator and has a wildcard for each value from outside. Where that also matches other
places, it asks for attributes, then for types too. The matcher tests each pattern before it is suggested.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from workbench.analysis.patterns.pattern import DEEPEST, Pattern, PatternBuilder, PatternError, code
from workbench.analysis.patterns.program import Program, tensor_parts
from workbench.analysis.patterns.report import Match, PatternReport
from workbench.errors import UnknownNode
from workbench.graph.model import Graph
from workbench.graph.nodes import reached
from workbench.wording import counted

LEVELS = ("", "attributes", "attributes and types", "attributes, types and the names of inputs")
"Conditions of a pattern besides the operators, the fewest first."


@dataclass(frozen=True)
class SuggestedPattern:
    """A pattern for chosen nodes."""

    code: str
    "Python for it, from the names of tvm.relay.dataflow_pattern"
    nodes: tuple[int, ...]
    "the chosen nodes, in the order of the match"
    asks: str
    "its conditions besides the operators and their order, one of LEVELS"
    elsewhere: tuple[int, ...]
    "roots of other matches; empty if it matches the chosen nodes only"
    taken: bool
    "whether partition, rewrite and MergeComposite use the match"
    refused: str
    "why not"
    report: PatternReport = field(repr=False)

    def __str__(self) -> str:
        return self.code

    @property
    def script(self) -> str:
        """The code with its imports, the pattern named `pattern`."""
        *names, last = self.code.split("\n")
        relay = self.report.graph.dialect == "relay"
        language = "tvm.relay.dataflow_pattern" if relay else "tvm.relax.dpl"
        used = "from tvm.relay import TensorType\n" if relay and "TensorType(" in self.code else ""
        return "\n".join([f"{used}from {language} import *  # noqa: F403", "", *names, f"pattern = {last}"])


def suggest(
    programs: Sequence[Program],
    graph: Graph,
    nodes: Iterable[int],
    matched: Callable[[Pattern], PatternReport],
    exact: bool = True,
) -> SuggestedPattern:
    """Return the pattern for these nodes; `matched` tests each candidate.

    Raises UnknownNode: the graph lacks one of them. Raises PatternError: no pattern matches them.
    """
    chosen = _checked(graph, nodes)
    program, rows = _program_of(programs, graph, chosen)
    root = _root(program, graph, rows)
    first, why = None, ""
    for asks in LEVELS:
        pattern = _Writer(program, rows, asks).pattern(root)
        report = matched(pattern)
        here = next((each for each in report.matches if each.root == program.nodes[root][0]), None)
        if here is None or not _same(graph, here.nodes, chosen):
            why = why or _why_not(report, here, chosen)
            continue
        others = tuple(each.root for each in report.matches if each is not here)
        found = SuggestedPattern(code(pattern), here.nodes, asks, others, here.taken, here.refused, report)
        if not others:
            return found
        first = first or found
    if first is not None and not exact:
        return first
    if first is not None:
        raise PatternError(
            f"every pattern that matches these nodes also matches {counted(len(first.elsewhere), 'other place')} (nodes "
            f"{_few(first.elsewhere)}), which differ in nothing that a pattern can say; exact=False gives the one that matches them all"
        )
    raise PatternError(why)


def _checked(graph: Graph, nodes: Iterable[int]) -> tuple[int, ...]:
    chosen = tuple(sorted(set(nodes)))
    for node in chosen:
        if not 0 <= node < len(graph.nodes):
            raise UnknownNode(node, len(graph.nodes))
    if not any(graph.nodes[node].kind not in ("param", "constant") for node in chosen):
        raise PatternError("there is no operator among the chosen nodes; choose at least one")
    return chosen


def _program_of(programs: Sequence[Program], graph: Graph, chosen: tuple[int, ...]) -> tuple[Program, frozenset[int]]:
    """Return the function that holds all the chosen nodes, and their expressions."""
    homes = {_function_of(graph, node): node for node in chosen}
    if len(homes) > 1:
        names = _few([graph.groups[home].name if home is not None else graph.name for home in homes])
        raise PatternError(
            f"the chosen nodes are in {len(homes)} functions ({names}), and a pattern matches within one"
        )
    for program in programs:
        row_of = {node: row for row, held in enumerate(program.nodes) for node in held if _shows(program, row)}
        if all(node in row_of for node in chosen):
            return program, frozenset(row_of[node] for node in chosen)
    raise PatternError("some of the chosen nodes stand for no expression that a pattern can describe; choose operators")


def _function_of(graph: Graph, node: int) -> int | None:
    """Return the innermost function around a node."""
    return next((g.id for g in graph.ancestors(graph.nodes[node].group) if g.kind not in ("scope", "branch")), None)


def _shows(program: Program, row: int) -> bool:
    """Return whether a row has a node of its own, unlike a `let` or a call of a function drawn in place."""
    here, node = program.rows[row], program.graph.nodes[program.nodes[row][0]]
    if node.kind in ("op", "call"):
        return here.kind == "call" and (program.rows[here.parts[0]].kind == "op") == (node.kind == "op")
    return here.kind == {"param": "var"}.get(node.kind, node.kind)


def _root(program: Program, graph: Graph, rows: frozenset[int]) -> int:
    ends = [row for row in sorted(rows) if not any(user in rows for user in program.users[row])]
    if len(ends) == 1:
        return ends[0]
    names = _few([f"{program.nodes[row][0]} ({graph.nodes[program.nodes[row][0]].op})" for row in ends])
    if _pieces(program, rows) > 1:
        raise PatternError(f"the chosen nodes are not connected; they end in nodes {names}, and a pattern has one end")
    raise PatternError(
        f"the chosen nodes give {len(ends)} values, of nodes {names}, and a pattern gives one; choose what joins them too, or less"
    )


def _pieces(program: Program, rows: Collection[int]) -> int:
    chosen, left, pieces = set(rows), set(rows), 0

    def near(row: int) -> set[int]:
        return chosen.intersection((*program.users[row], *program.rows[row].inputs))

    while left:
        pieces += 1
        left -= reached([next(iter(left))], near)
    return pieces


class _Writer:
    """A writer of the pattern that names the chosen expressions, each once."""

    def __init__(self, program: Program, rows: frozenset[int], asks: str) -> None:
        self.program = program
        self.rows = rows
        self.asks = asks
        self.builder = PatternBuilder()
        self.made: dict[int, int] = {}

    def pattern(self, root: int) -> Pattern:
        # the chosen expressions and everything they use, including operators
        used = (part for row in self.rows for part in self.program.rows[row].parts)
        for row in sorted({*self.rows, *used}):
            self.made[row] = self._constrained(row, self._add_row(row), row == root)
        built = self.builder.build(self.made[root])
        if built.depth() > DEEPEST:
            raise PatternError(f"the chosen nodes are a chain of more than {DEEPEST}, deeper than a pattern should be")
        return built

    def _add_row(self, row: int) -> int:
        here, add = self.program.rows[row], self.builder.add
        if here.kind == "op":
            return add("op", name=here.name)
        if row not in self.rows:
            return self._input(row)
        parts = [self.made[part] for part in here.parts]
        if here.kind == "call":
            return add("call", parts, any=False)
        if here.kind == "tuple":
            return add("tuple", parts, any=False)
        if here.kind == "get_item":
            return add("get_item", parts, index=here.index)
        if here.kind in ("if", "let"):
            return add(here.kind, parts)
        return add("constant") if here.kind == "constant" else self._input(row)

    def _input(self, row: int) -> int:
        here = self.program.rows[row]
        named = here.kind == "var" and (row in self.rows or self.asks.endswith("inputs"))
        return self.builder.add("var", name=here.name) if named else self.builder.add("wildcard")

    def _constrained(self, row: int, made: int, is_root: bool) -> int:
        here = self.program.rows[row]
        if not self.asks or here.kind in ("op", "function", "global") or not self.program.nodes[row]:
            return made
        node = self.program.graph.nodes[self.program.nodes[row][0]]
        attrs = {name: value for name, value in node.attrs.items() if _is_plain(value) and value not in ("", [])}
        if attrs and here.kind == "call" and row in self.rows:
            made = self.builder.add("attr", [made], attrs=attrs)
        if is_root:
            return made  # a pattern that begins with a type fails in TVM's partition, which requests the types of operators
        shape, dtype = tensor_parts(node.type)
        if "types" in self.asks and dtype is not None and all(isinstance(each, int) for each in shape):
            made = self.builder.add("dtype", [self.builder.add("shape", [made], shape=shape)], dtype=dtype)
        return made


def _is_plain(value: object) -> bool:
    """Return whether a pattern can test an attribute: a number, text, or a list of them."""
    if isinstance(value, (list, tuple)):
        return all(_is_plain(each) for each in value)
    return isinstance(value, (int, float, str))


def _same(graph: Graph, held: Collection[int], chosen: Collection[int]) -> bool:
    """Return whether a match holds exactly the chosen nodes, constants and parameters aside."""
    return all(graph.nodes[node].kind in ("param", "constant") for node in {*held} ^ {*chosen})


def _why_not(report: PatternReport, here: Match | None, chosen: Collection[int]) -> str:
    if here is not None:
        more = sorted(set(here.nodes) - set(chosen))
        return f"the pattern of these nodes also takes in nodes {_few(more)}; choose them too"
    miss = report.near_misses[0] if report.near_misses else None
    return f"TVM does not match the pattern of these nodes: {miss.sentence if miss else 'it has no call'}"


def _few(names: Sequence[object]) -> str:
    return ", ".join([*map(str, names[:5]), *(["..."] if len(names) > 5 else [])])
