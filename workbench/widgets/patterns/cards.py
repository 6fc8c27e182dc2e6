"""The blocks of the PatternInspector: the pattern as a tree, its matches and near misses, a pattern for a selection."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.analysis.patterns.report import Match, NearMiss, PatternReport, takers
from workbench.analysis.patterns.suggest import SuggestedPattern
from workbench.graph.model import Graph
from workbench.testing.result import Tried
from workbench.testing.where import Occurrences
from workbench.widgets.blocks import Block, action, code, heading, near_misses, row, rows, shortened, table, words
from workbench.widgets.page_types import Marks, Sign
from workbench.wording import cell, counted

Finding = Match | NearMiss
INDENT = "\u2003"
"an em space: a page keeps several of them, and shows them in any font"


def findings(report: PatternReport) -> tuple[Finding, ...]:
    """Return the matches, and after them the near misses."""
    return (*report.matches, *report.near_misses)


def head(name: str, report: PatternReport | None, place: int) -> list[Block]:
    """Return the line above the graph."""
    if report is None:
        return [words(name[:80], "strong"), words("Type a pattern at the right, or select nodes and ask for one.")]
    found, matches, misses = findings(report), len(report.matches), len(report.near_misses)
    said = "no match" if not matches else counted(matches, "match")
    if matches:
        taken = len(report.taken)
        said += f", {'all' if taken == matches else taken or 'none'} taken by partition"
    said += f", {misses} near miss{'' if misses == 1 else 'es'}" if misses else ""
    made = [words(name[:80], "strong"), words(said, "number", "headline")]
    if found:
        made.append(words(f"{place + 1} of {len(found)}" if place >= 0 else f"{len(found)}", "small", "place"))
        made += [action("<", "back", title="The one before (k)"), action(">", "on", title="The next one (j)")]
    return made


def tree(report: PatternReport, finding: Finding | None) -> list[Block]:
    """Return the pattern from its root down; a click on a part selects the nodes it matched."""
    held = finding.held if finding else {}
    failed = _shown_part(report, finding) if isinstance(finding, NearMiss) else -1
    made = []
    for depth, id, text in report.pattern.lines():
        nodes = held.get(id, ())
        sign, look = ("!", "removed") if id == failed else ("✓", "added") if nodes else ("", "")
        if id == failed and isinstance(finding, NearMiss):
            nodes = (failed_at(report, finding),)
        made.append(row(INDENT * depth + text, nodes, sign=sign, look=look))
    own = [words(report.not_tried, "small", "not-tried")] if report.not_tried else []
    notes = [words(note, "small", "note") for note in report.notes]
    return [heading("The pattern"), rows(made, "tree"), *own, *notes]


def _shown_part(report: PatternReport, miss: NearMiss) -> int:
    """Return the part of the tree that failed; an operator has no line of its own, but that of its call."""
    nodes = report.pattern.nodes
    calls = [n.id for n in nodes if report.pattern.names_operator(n) and n.children[0] == miss.pattern]
    return next((id for id in calls if id not in miss.held), miss.pattern)


def said(graph: Graph, report: PatternReport, finding: Finding, legal: str) -> list[Block]:
    """Return the blocks about one match or near miss; `legal` is the reason against outlining it, empty if it is legal."""
    if isinstance(finding, Match):
        return [
            heading(f"It matches at {named(graph, finding.root)}"),
            words(f"{counted(len(finding.nodes), 'node')}."),
            words(taken(report, finding), name="taken"),
            action(
                "Outline as", "outline", field="matched", off=legal, title="Make these nodes one composite function"
            ),
        ]
    of = len(report.pattern.nodes)
    wanted = report.pattern.nodes[finding.pattern].label
    # a constant stops only older versions of TVM, so a cause for all versions comes first
    escapes = finding.domination.escapes if finding.domination else ()
    is_constant = finding.node is not None and graph.nodes[finding.node].kind == "constant"
    first = next((each.words for each in escapes if each.kind != "constant"), "") if is_constant else ""
    made = [
        heading(f"Why not at {named(graph, finding.root)}?"),
        *([words(first, "strong", "escape")] if first else []),
        words(finding.sentence, "" if first else "strong", "sentence"),
        words(f"{finding.matched} of {of} parts match; wanted here: {wanted} [{finding.reason}]", "small"),
    ]
    return [*made, *_domination(graph, finding, legal)]


def _domination(graph: Graph, miss: NearMiss, legal: str) -> list[Block]:
    told = miss.domination
    if told is None:
        return []
    escapes = [e for e in told.escapes if e.kind != "constant"]
    constants = [e.through for e in told.escapes if e.kind == "constant"]
    listed = []
    for e in escapes:
        way = " → ".join(graph.nodes[n].op for n in e.path) if len(e.path) > 2 else ""
        listed.append(row(e.words, e.path, sign="!", look="removed", small=way))
    if constants:
        text = f"{len(constants)} constant{'s enter' if len(constants) > 1 else ' enters'}; TVM 0.17.0 and newer do not mind"
        listed.append(row(text, constants, sign="?", look="near"))
    made = [heading("What opens the region"), *shortened(listed, "escapes", 8)]
    region = told.region
    if region is None:
        return made
    between = f"From {named(graph, region.entry)} to {named(graph, region.exit)}: {counted(len(region.nodes), 'node')}"
    enter = [
        row(f"{named(graph, e.source)} enters at {named(graph, e.target)}", (e.source, e.target), sign="→")
        for e in region.inputs
    ]
    if told.would_match:
        verdict = "The pattern would match it in TVM 0.17.0 and newer if what enters were inputs of the function."
    else:
        verdict = "The pattern would not match it, whatever enters; outline it, or match it by a pattern of its own."
    return [
        *(*made, heading("The smallest region that would do")),
        *shortened([row(between, region.nodes, sign="{"), *enter], "region"),
        words(verdict, "small"),
        action("Outline as", "outline", field="region", off=legal, title="Make the region one composite function"),
        action("Pattern for it", "suggest", arg="region", title="A pattern that matches exactly the region"),
    ]


def found_list(graph: Graph, report: PatternReport | None, place: int) -> list[Block]:
    """Return the list of all matches and near misses; a click shows one."""
    if report is None:
        return [words("There is no pattern yet.", "small")]
    found = findings(report)
    if not found:
        return [words("Not even a part of the pattern matches anywhere.", name="nothing")]
    count = len(report.matches)
    matches = [
        row(
            f"{named(graph, each.root)}: {counted(len(each.nodes), 'node')}",
            each.nodes,
            small="" if each.taken else taken(report, each),
            sign="▸" if at == place else "✓" if each.taken else "-",
            look="added",
            click=("show", str(at)),
        )
        for at, each in enumerate(report.matches)
    ]
    misses = []
    for at, miss in enumerate(report.near_misses, count):
        text, sign = f"{named(graph, miss.root)}: {miss.sentence}", "▸" if at == place else "?"
        line = row(text, place_of(report, miss), sign=sign, look="near", click=("show", str(at)))
        misses.append((miss.sentence, line))
    return shortened([*matches, *near_misses(misses, place - count)], "findings")


def elsewhere(found: Occurrences | None, trial: Tried | None, off: str) -> list[Block]:
    """Return the matches in other models, a model a row, and what trying the pattern as a pass found."""
    made = [
        action(
            "Look in the samples",
            "where",
            off=off,
            title="Where the pattern matches in this program and in the samples",
        ),
        action("Try as a pass", "try", off=off, title="Outline the matches in many programs, and compare the outputs"),
    ]
    if found is not None:
        head = ("model", "matches", "taken", "near misses", "most frequent reason")
        keys = ("model", "matches", "taken", "near_misses", "most_frequent_reason")
        lines = [[cell(key, line[key]) for key in keys] for line in found.rows()]
        made += [words(f"{found.summary}."), table(head, lines, "models", act="model")]
    if trial is not None:
        made.append(words(f"{trial.summary}.", name="trial"))
        made += shortened([row(str(each), sign="!", look="removed") for each in trial.failures], "failures")
        made += [code(each.script, "python") for each in trial.failures[:1] if each.script]
    return made


def taken(found: PatternReport, match: Match) -> str:
    """Return whether the dialect's passes use a match, with the reason if not, as a sentence."""
    who = takers(found.graph.dialect, found.pattern)
    several = ", " in who
    if match.taken:
        return f"{who} take{'' if several else 's'} it"
    return f"{who.split(',')[0]} leaves it: {match.refused}"


def suggested(graph: Graph, chosen: Sequence[int], found: SuggestedPattern | None) -> list[Block]:
    """Return a pattern for the selection, to copy or to use."""
    nothing = "" if chosen else "select nodes on the graph first; Shift adds to a selection"
    made = [action("Suggest a pattern from the selection", "suggest", off=nothing)]
    if found is None:
        return made
    made += [action("Use it here", "use"), code(found.script, "suggested")]
    asks = (
        f"It asks for {found.asks} too, or it would match elsewhere." if found.asks else "Operators and shape suffice."
    )
    made.append(words(f"Checked by matching it: {counted(len(found.nodes), 'node')}. {asks}", "small"))
    if found.elsewhere:
        made.append(words("It matches elsewhere too:"))
        made += shortened([row(named(graph, n), (n,), sign="?", look="near") for n in found.elsewhere])
    return made if found.taken else [*made, words(f"partition leaves it: {found.refused}")]


def place_of(report: PatternReport, finding: Finding) -> tuple[int, ...]:
    """Return the nodes that a click on a finding selects: those of the match, or the one that failed."""
    return finding.nodes if isinstance(finding, Match) else (failed_at(report, finding),)


def failed_at(report: PatternReport, miss: NearMiss) -> int:
    """Return the node at which a near miss failed; for an operator, which is not a node, its call."""
    if miss.node is not None:
        return miss.node
    part, graph, nodes = _shown_part(report, miss), report.graph, report.pattern.nodes
    ways, tried = [(report.pattern.root, miss.root)], set[tuple[int, int]]()
    while ways:
        id, at = way = ways.pop()
        if way in tried:
            continue
        tried.add(way)
        # the sentence begins with the operator in the graph
        if id == part and miss.sentence.startswith(f"{graph.nodes[at].op} "):
            return at
        here, inputs = nodes[id], graph.inputs[at]
        if here.kind in ("call", "tuple", "get_item"):
            wanted = here.children[1:] if here.kind == "call" else here.children
            swaps = graph.nodes[at].op in ("add", "multiply")
            ways += [(child, n) for i, child in enumerate(wanted) for j, n in enumerate(inputs) if swaps or i == j]
        else:
            ways += [(child, at) for child in here.children]
    return miss.root


def named(graph: Graph, node: int) -> str:
    """Return a node as `transpose (node 65)`."""
    return f"{graph.nodes[node].op} (node {node})"


def marks(report: PatternReport | None, finding: Finding | None) -> Marks:
    """Return the shaded and marked nodes of the graph; `at` is brought into view."""
    if report is None or finding is None:
        return {}
    if isinstance(finding, Match):
        return {
            "done": list(finding.nodes),
            "signs": [(finding.root, "✓", "added", False)],
            "at": list(finding.nodes),
        }
    held = sorted({n for nodes in finding.held.values() for n in nodes})
    failed = failed_at(report, finding)
    signs: dict[int, Sign] = {failed: (failed, "!", "removed", True)}
    told = finding.domination
    for escape in told.escapes if told else ():
        if escape.kind != "constant":
            signs.setdefault(escape.through, (escape.through, "!", "removed", True))
            for node in escape.path:
                signs.setdefault(node, (node, "→", "near", True))
    region = told.region if told else None
    washed: Marks = {"wash": list(region.nodes), "entry": region.entry, "exit": region.exit} if region else {}
    return {"done": held, "signs": list(signs.values()), "at": [*signs], **washed}
