"""The matches and near misses of a pattern in a graph, with reasons, as values and as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from workbench.analysis.patterns.groups import Attempt, attempts, computes
from workbench.analysis.patterns.matcher import Bindings, Failure, Matcher
from workbench.analysis.patterns.pattern import Pattern
from workbench.analysis.patterns.program import Program
from workbench.analysis.patterns.region import Domination, domination
from workbench.graph.model import Graph
from workbench.terminal import visible
from workbench.wording import counted

Held = Mapping[int, tuple[int, ...]]

SLOW = 1_000_000
"Steps of TVM's matcher worth a warning: 262,142 of them were measured to take 0.07 s."

EXAMINED = 50
"Most near misses of a `dominates` that are examined for their domination."

SHOWN = 5
"Near misses that the text shows."

REFUSED = {
    "input-only": "the pattern holds this value as an input only, so there is nothing to put into a function",
    "in-an-earlier-match": "FuseOpsByPattern gave {row}, which it holds, to the match at an earlier binding",
    "not-in-dataflow": "FuseOpsByPattern and rewrite_call look at calls in dataflow blocks, and this is none",
    "first-only": "match_dfb gives the first match of a block, which is another one",
    "fails": "partition and rewrite fail in TVM on this pattern",
    "differs": "partition and rewrite leave it alone for a reason that the workbench does not know",
    "overlaps": "it shares a value with the match at {row}, which TVM takes first",
    "used-outside": "the value of {row}, inside the match, is used outside too, so TVM leaves the match alone",
}
"Why a match is not taken -> its sentence."


@dataclass(frozen=True)
class Match:
    """A match of the pattern."""

    root: int
    "node whose value the pattern describes"
    nodes: tuple[int, ...]
    "nodes of a function that is made of the match, without its inputs"
    held: Held
    "sub-pattern -> the nodes it holds; expressions without a node (an operator itself, a let) are left out"
    function: str
    taken: bool
    "whether partition, rewrite and MergeComposite use the match; in Relax, FuseOpsByPattern, or match_dfb for a chain"
    refused: str = ""
    "why not, in a sentence"


@dataclass(frozen=True)
class NearMiss:
    """A place where part of the pattern matches, with TVM's furthest failure."""

    root: int
    pattern: int
    "the sub-pattern that failed"
    node: int | None
    "where it failed; None for an expression without a node"
    reason: str
    "a code: other-operator, no-constant, other-count, attribute-differs, enters-from-outside, leaves-the-region, not-on-path, ..."
    sentence: str
    held: Held
    "the nodes held by sub-patterns that matched before"
    matched: int
    "sub-patterns that had matched"
    function: str
    domination: Domination | None = None
    "for a failed `dominates`, the nearest: every path by which the region is not closed, and the region that would match"


@dataclass(frozen=True)
class PatternReport:
    """The result of `wb.match`; print it."""

    pattern: Pattern
    graph: Graph = field(repr=False)
    matches: tuple[Match, ...]
    "in topological order of their roots"
    near_misses: tuple[NearMiss, ...]
    "the nearest first"
    notes: tuple[str, ...] = ()
    "warnings about TVM with this pattern: where it fails, or takes too long"
    not_tried: str = ""
    "the reason why TVM did not decide, and the matches are those of the workbench's own matcher; empty if TVM did"

    def __bool__(self) -> bool:
        return bool(self.matches)

    @property
    def taken(self) -> tuple[Match, ...]:
        """The matches that partition, rewrite and MergeComposite use."""
        return tuple(match for match in self.matches if match.taken)

    def at(self, node: int) -> Match | NearMiss | None:
        """Return the match or near miss at this node; None where no part of the pattern matches."""
        both: Iterable[Match | NearMiss] = (*self.matches, *self.near_misses)
        return next((each for each in both if each.root == node), None)

    def __str__(self) -> str:
        return visible("\n".join(_lines(self)))


Trial = Callable[[Program, Matcher], list[Attempt]]
"A function that tries the pattern of a matcher at every expression of a program."

OWN = "shown is the workbench's own matcher"
NEEDS_TVM = f"not tried in TVM: needs the module; give the workload, not its graph. {OWN[0].upper()}{OWN[1:]}"


def report(
    programs: Iterable[Program], pattern: Pattern, graph: Graph, tried: Trial | None = None, not_tried: str = NEEDS_TVM
) -> PatternReport:
    """Try the pattern on every expression of these programs; `tried` asks TVM. Raises PatternError: TVM fails on it."""
    matches, missed, notes = list[Match](), list[tuple[Program, int, Failure]](), _notes_before(pattern, graph)
    for program in programs:
        matcher = Matcher(program, pattern)
        made = (tried or attempts)(program, matcher)
        for attempt in made:
            if attempt.held is not None:
                matches.extend(_matched(program, attempt, attempt.held))
            elif attempt.failure is not None and _is_near(program, pattern, attempt.row, attempt.failure):
                missed.append((program, attempt.row, attempt.failure))
        notes.extend(_notes(program, pattern, made, matcher.steps))
    matches.sort(key=lambda match: match.root)
    missed.sort(key=lambda miss: (-_solid(pattern, miss[2].held), -len(miss[2].held), miss[0].nodes[miss[1]]))
    misses = tuple(_missed(p, pattern, row, failure, i < EXAMINED) for i, (p, row, failure) in enumerate(missed))
    own = "" if tried else not_tried
    return PatternReport(pattern, graph, tuple(matches), misses, tuple(dict.fromkeys(notes)), own)


def _notes_before(pattern: Pattern, graph: Graph) -> list[str]:
    """Return the notes that need no matching."""
    notes = []
    wanted = dict.fromkeys(node.fields["name"] for node in pattern.nodes if node.kind == "op")
    there = {node.op for node in graph.ops}
    for name in wanted:
        if name not in there:
            near = [each for each in sorted(there) if each.rpartition(".")[2] == name.rpartition(".")[2]]
            near = near or get_close_matches(name, sorted(there), n=1, cutoff=0.6)
            notes.append(f"the graph has no {name} at all" + (f"; did you mean {near[0]}?" if near else ""))
    if pattern.nodes[pattern.root].kind == "function":
        notes.append(
            "only rewrite uses this pattern: partition and MergeComposite pass over one that begins with a function, "
            "and in some versions of TVM the warning they give ends the process"
        )
    return notes


def _notes(program: Program, pattern: Pattern, made: Iterable[Attempt], steps: int) -> Iterator[str]:
    if any(each.refused and each.refused[0] == "fails" for each in made):
        yield (
            "partition and rewrite fail in TVM on this pattern, as they try it at operators too, whose type they ask for; "
            "begin the pattern with a call, and ask the type of its arguments"
        )
    failed = [each.failure for each in made if each.failure is not None and each.failure.reason == "tvm-fails"]
    if failed:
        yield (
            f"in @{program.name} TVM's matcher ends with an error at {counted(len(failed), 'expression')}, and so may "
            f"{takers(program.graph.dialect, pattern)}; the first is {program.named(failed[0].row)}, which {failed[0].words}"
        )
    if steps > SLOW:
        yield f"TVM walks {steps:,} steps at one child of dominates, one for each way through the diamonds above it"


def _solid(pattern: Pattern, held: Mapping[int, object]) -> int:
    return sum(pattern.nodes[id].kind != "wildcard" for id in held)


def _is_near(program: Program, pattern: Pattern, row: int, failure: Failure) -> bool:
    return bool(program.nodes[row]) and computes(program.rows[row]) and _solid(pattern, failure.held) > 0


def _in_nodes(program: Program, held: Bindings) -> Held:
    found = {id: tuple(sorted({n for row in rows for n in program.nodes[row][:1]})) for id, rows in held.items()}
    return {id: nodes for id, nodes in sorted(found.items()) if nodes}


def _matched(program: Program, attempt: Attempt, held: Bindings) -> Iterator[Match]:
    computed = [row for row in attempt.inside if computes(program.rows[row])]
    nodes = tuple(sorted({n for row in computed for n in program.nodes[row]}))
    for root in program.nodes[attempt.row][:1]:
        yield Match(root, nodes, _in_nodes(program, held), program.name, attempt.taken, _refusal(program, attempt))


def _refusal(program: Program, attempt: Attempt) -> str:
    if attempt.taken:
        return ""
    why, row = attempt.refused or ("input-only", attempt.row)
    return REFUSED[why].format(row=program.named(row))


def _missed(program: Program, pattern: Pattern, row: int, failure: Failure, examined: bool) -> NearMiss:
    of_dominates = failure.reason in ("enters-from-outside", "leaves-the-region", "not-on-path")
    at = program.nodes[failure.row]
    return NearMiss(
        program.nodes[row][0],
        failure.pattern,
        at[0] if at else None,
        failure.reason,
        f"{program.named(failure.row)} {failure.words}",
        _in_nodes(program, failure.held),
        len(failure.held),
        program.name,
        _domination(program, pattern, failure) if of_dominates and examined else None,
    )


def _domination(program: Program, pattern: Pattern, failure: Failure) -> Domination | None:
    """Return the domination of the innermost `dominates` that was being matched: its child is held, itself is not."""
    for node in pattern.nodes:
        child = failure.held.get(node.children[2]) if node.kind == "dominates" else None
        if child and node.id not in failure.held:
            return domination(program, pattern, node.id, child[0])
    return None


# -- as text


def _lines(outcome: PatternReport) -> Iterator[str]:
    yield "pattern"
    for depth, _, text in outcome.pattern.lines():
        yield f"  {'  ' * depth}{text}"
    yield ""
    yield _headline(outcome)
    if outcome.not_tried:
        yield f"  {outcome.not_tried}"
    for match in outcome.matches:
        refused = f"; not taken: {match.refused}" if match.refused else ""
        yield f"  {_node_name(outcome.graph, match.root)}: nodes {_ids(match.nodes)}{refused}"
    if outcome.near_misses:
        more = f", the nearest {SHOWN}" if len(outcome.near_misses) > SHOWN else ""
        yield ""
        yield f"near misses: {len(outcome.near_misses)}{more}"
    shown: set[tuple[int, int]] = set()
    for miss in outcome.near_misses[:SHOWN]:
        yield from _miss_lines(outcome, miss)
        region = miss.domination.region if miss.domination else None
        if miss.domination and region and (region.entry, region.exit) not in shown:
            shown.add((region.entry, region.exit))
            yield from (f"    {line}" for line in region_lines(outcome.graph, miss.domination))
    for note in outcome.notes:
        yield f"note: {note}"


def _headline(outcome: PatternReport) -> str:
    if not outcome.matches:
        return "no match"
    taken = len(outcome.taken)
    said = counted(len(outcome.matches), "match")
    return f"{said}, {'all' if taken == len(outcome.matches) else taken or 'none'} taken by {takers(outcome.graph.dialect, outcome.pattern)}"


def takers(dialect: str, pattern: Pattern) -> str:
    """Return the names of the passes that use matches in a dialect."""
    if dialect == "relay":
        return "partition, rewrite and MergeComposite"
    return "match_dfb" if pattern.nodes[pattern.root].kind == "used_by" else "FuseOpsByPattern"


def _miss_lines(outcome: PatternReport, miss: NearMiss) -> Iterator[str]:
    of = len(outcome.pattern.nodes)
    yield f"  {_node_name(outcome.graph, miss.root)}: {miss.matched} of {of} parts match, then [{miss.reason}]"
    yield f"    wanted: {outcome.pattern.nodes[miss.pattern].label}"
    yield f"    but {miss.sentence}"
    if miss.domination is not None:
        yield from (f"    {line}" for line in domination_lines(outcome.graph, miss.domination))


def domination_lines(graph: Graph, outcome: Domination) -> Iterator[str]:
    """Yield the reasons why a `dominates` failed at one child, one line each."""
    constants = [escape.through for escape in outcome.escapes if escape.kind == "constant"]
    for escape in outcome.escapes:
        if escape.kind != "constant":
            yield f"- {escape.words}"
            if len(escape.path) > 2:
                yield f"    the way: {' -> '.join(f'{n} {graph.nodes[n].op}' for n in escape.path)}"
    if constants:
        many = "a constant enters, at node" if len(constants) == 1 else f"{len(constants)} constants enter, at nodes"
        yield f"- {many} {_ids(tuple(constants))}; this TVM counts that as a value from outside, TVM 0.17.0 and newer do not"


def region_lines(graph: Graph, outcome: Domination) -> Iterator[str]:
    """Yield lines on the closed region, and on whether the pattern would match it."""
    region = outcome.region
    if region is None:
        return
    yield f"the region that would do: from {_node_name(graph, region.entry)} to {_node_name(graph, region.exit)}, {counted(len(region.nodes), 'node')}"
    for edge in region.inputs:
        yield f"  {_node_name(graph, edge.source)} enters it at {_node_name(graph, edge.target)}"
    if outcome.would_match:
        given = "would match it if what enters were inputs of the function" if region.inputs else "matches it"
        since = "in TVM 0.17.0 and newer, " if graph.dialect == "relay" else ""
        yield f"  {since}the pattern {given}; or outline these nodes, or match them by wb.pattern_for"
    else:
        yield "  the pattern would not match it whatever entered; outline these nodes, or match them by wb.pattern_for"


def _node_name(graph: Graph, node: int) -> str:
    return f"node {node} ({graph.nodes[node].op})"


def _ids(nodes: tuple[int, ...]) -> str:
    """Return ids as text, with runs as a range: 3-7, 9."""
    runs: list[list[int]] = []
    for node in sorted(set(nodes)):
        if runs and node == runs[-1][1] + 1:
            runs[-1][1] = node
        else:
            runs.append([node, node])
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)
