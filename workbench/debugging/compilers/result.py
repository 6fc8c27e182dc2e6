"""A CompilerComparison: both halves of a model, their race, their outputs, and the kernels of both aligned by the model's nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any

from workbench.analysis import cost
from workbench.analysis.alignment import LEFT, MANY, MERGED, ONE, RIGHT, SPLIT, Aligned, Alignment, align
from workbench.analysis.fusion import FusionReport
from workbench.analysis.units import Side
from workbench.debugging.compilers.runner import OutputCheck
from workbench.debugging.compilers.side import CompilerSide
from workbench.errors import UnknownName
from workbench.measurement.race import Race
from workbench.terminal import html_table, visible
from workbench.wording import counted

if TYPE_CHECKING:
    import pandas as pd

MOST_REASONS = 2
"boundaries of a group that are explained, the largest first"
Places = Sequence[int]


@dataclass(frozen=True)
class Difference:
    """A group of kernels that compute the same nodes of the model; the first compiler is left."""

    sources: tuple[str, ...]
    "the model's nodes that a kernel of either side has operators of"
    relation: str
    "`one to one`, `split`, `merged`, `many to many`, `only left` or `only right`"
    left: tuple[str, ...]
    right: tuple[str, ...]
    "functions of the kernels that run code"
    bytes_left: int
    bytes_right: int
    "read and written"
    us_left: float | None
    us_right: float | None
    "sums of the kernels' own times; None if not timed"
    why: str
    "the reasons for boundaries that one side has; empty for one to one"
    kernels: tuple[tuple[int, ...], tuple[int, ...]] = field(default=((), ()), repr=False)
    "of both sides, by their places in `analysis.units.Side.kernels`"

    @property
    def us_lost(self) -> float | None:
        """The time that the right side takes longer; None if not timed."""
        return None if self.us_left is None or self.us_right is None else self.us_right - self.us_left

    @property
    def order(self) -> tuple[float, int]:
        """A key to sort by: time lost first, then bytes."""
        return -(self.us_lost or 0.0), self.bytes_left - self.bytes_right


def differences(left: CompilerSide, right: CompilerSide) -> tuple[Difference, ...]:
    """Return one Difference for each group of aligned kernels of two sides that have theirs, sorted by time lost, or by bytes if not timed."""
    assert left.optimized is not None
    assert right.optimized is not None
    aligned = align(left.optimized, right.optimized)
    sides = (_Half(left, aligned.left), _Half(right, aligned.right))
    return tuple(sorted((_difference(group, sides) for group in aligned.groups), key=lambda each: each.order))


class _Half:
    """One side's kernels with the calls of its build."""

    def __init__(self, side: CompilerSide, kernels: Side) -> None:
        self.side, self.kernels = side, kernels
        self.title, self.fusion = side.title, side.fusion
        rows = () if side.kernels is None else side.kernels.rows
        self.rows = {tuple(row["nodes"]): row for row in rows if row["nodes"]}

    def calls(self, places: Places) -> list[Mapping[str, Any]]:
        """Return the calls of kernels; one that the compiler dropped has none."""
        units = (self.kernels.kernels[place] for place in sorted(places))
        return [self.rows[unit.nodes] for unit in units if unit.nodes in self.rows]

    def sources(self, places: Places) -> frozenset[str]:
        return frozenset[str]().union(*(self.kernels.sources[place] for place in places))

    def reason(self, op: str, sources: frozenset[str]) -> str:
        """Return the decision of FuseOps on an operator of these nodes of the model; empty if it has none."""
        graph = None if self.fusion is None else self.fusion.graph
        found = (id for name in sources for id in self.names.get(name, ()) if graph and graph.nodes[id].op == op)
        decision = next((self.fusion.decided(id) for id in sorted(found) if self.fusion), None)
        return "" if decision is None or decision.fused else decision.sentence

    @cached_property
    def names(self) -> Mapping[str, tuple[int, ...]]:
        """The model's nodes -> the nodes of the graph before FuseOps that compute them."""
        found: dict[str, list[int]] = {}
        for node in () if self.fusion is None else self.fusion.graph.nodes:
            for name in node.source:
                found.setdefault(name, []).append(node.id)
        return {name: tuple(ids) for name, ids in found.items()}


def _difference(group: Aligned, sides: tuple[_Half, _Half]) -> Difference:
    held = [(*places, *moves) for places, moves in zip((group.left, group.right), group.moves, strict=True)]
    calls = [half.calls(places) for half, places in zip(sides, held, strict=True)]
    sources = sides[0].sources(held[0]) | sides[1].sources(held[1])
    running = [[call for call in each if not call["noop"]] for each in calls]
    functions = [tuple(str(call["function"]) for call in each) for each in running]
    moved = [sum(call["bytes_read"] + call["bytes_written"] for call in each) for each in running]
    times = [
        sum(half.side.kernel_us.get(call["index"], 0.0) for call in each) if half.side.kernel_us else None
        for half, each in zip(sides, calls, strict=True)
    ]
    return Difference(
        sources=tuple(sorted(sources)),
        relation=group.kind,
        left=functions[0],
        right=functions[1],
        bytes_left=moved[0],
        bytes_right=moved[1],
        us_left=times[0],
        us_right=times[1],
        why=_why(group, sides, sources),
        kernels=(held[0], held[1]),
    )


def _why(group: Aligned, sides: tuple[_Half, _Half], sources: frozenset[str]) -> str:
    kind = group.kind
    if kind in (LEFT, RIGHT):
        half = sides[kind == RIGHT]
        return (
            f"{half.title} alone runs this; the other build folded it into a constant, or has it in another kernel"
            if sources
            else f"a pass of {half.title} added this; no node of the model does it"
        )
    found = [
        list(_facts(half, places, moves))
        for half, places, moves in zip(sides, (group.left, group.right), group.moves, strict=True)
    ]
    # a fact about both sides is not a reason for a difference
    said = [
        half.title.join(fact)
        for half, facts, other in zip(sides, found, found[::-1], strict=True)
        for fact in facts
        if fact not in other
    ]
    rules = [
        sorted({str(call["rule"]) for call in half.calls(places) if call.get("rule")})
        for half, places in zip(sides, (group.left, group.right), strict=True)
    ]
    if kind == ONE and not said and all(rules) and rules[0] != rules[1]:
        said = [
            f"{half.title} schedules it by dlight's rule {each[0]}." for half, each in zip(sides, rules, strict=True)
        ]
    for at in {SPLIT: (1,), MERGED: (0,), MANY: (0, 1)}.get(kind, ()):
        said += _boundary_reasons(sides[at], sides[1 - at], sources)
    return " ".join(said)


Fact = tuple[str, str]
"the parts of a sentence before and after the title of its side"


def _facts(half: _Half, places: Places, moves: Places) -> Iterator[Fact]:
    """Yield the operators that a pass put in the place of the imported ones, the kernels without a schedule, and those that only move data."""
    calls = half.calls(places)
    for op in dict.fromkeys(str(call["op"]) for call in calls):
        if op in half.side.made_by:
            yield f"{half.side.made_by[op]} of ", f" put {op} in the place of the model's operator."
    for name in dict.fromkeys(str(call["function"]) for call in calls):
        if name in half.side.fallbacks:
            yield "", f" compiles {name} {half.side.fallbacks[name]}."
    seen = set[str]()
    for place in moves:
        op = half.kernels.graph.nodes[half.kernels.kernels[place].output].op
        runs_code = not all(call["noop"] for call in half.calls([place]))
        if runs_code and op not in seen:
            seen.add(op)
            reason = half.reason(op, half.kernels.sources[place])
            yield "", f" moves data in a kernel of its own: {reason or op + '.'}"


def _boundary_reasons(split: _Half, fused: _Half, sources: frozenset[str]) -> Iterator[str]:
    """Yield the reasons for boundaries that one side has between kernels of a group, those with the most bytes first."""
    report = split.fusion
    if report is None:
        yield f"{split.title} ran no FuseOps."
        return
    many = 0
    for value in report.handovers:
        decision = report.decided(value.source)
        if many == MOST_REASONS or decision is None or decision.fused:
            continue
        ours, *readers = (_within(report, node, sources) for node in (value.source, *value.targets))
        if there := _together(fused, ours, next(filter(None, readers), frozenset[str]())):
            many += 1
            yield f"{split.title}: {decision.sentence} {fused.title}: {there}"


def _within(report: FusionReport, node: int, sources: frozenset[str]) -> frozenset[str]:
    """Return the model's nodes of a node if its whole kernel computes nodes of a group and does not only move data."""
    graph, kernel = report.graph, report.group_of(node)
    held = {name for id in kernel.nodes for name in graph.nodes[id].source}
    computes = any(cost.of_node(graph, graph.nodes[id]) != 0 for id in kernel.nodes if graph.nodes[id].kind == "op")
    return frozenset(graph.nodes[node].source) if computes and held <= sources else frozenset()


def _together(half: _Half, first: frozenset[str], second: frozenset[str]) -> str:
    """Return the sentence of the merge that put two nodes of the model into one kernel; empty if they are apart."""
    report = half.fusion
    if report is None:
        return ""
    for a in (id for name in sorted(first) for id in half.names.get(name, ())):
        for b in (id for name in sorted(second) for id in half.names.get(name, ())):
            if a == b:
                return f"it is one operator, {report.graph.nodes[a].op} (node {a})."
            if report.group_of(a) is report.group_of(b):
                merge = report.decided(min(a, b))
                return merge.sentence if merge is not None else "they are in one kernel."
    return ""


SHOWN = 10
"rows of the table in the text form"
WHOLE = ("bytes_left", "bytes_right")


@dataclass(frozen=True)
class CompilerPair:
    """The model in both compilers, in the order in which they were given."""

    left: CompilerSide
    right: CompilerSide
    checks: tuple[OutputCheck, ...] = ()
    "of the outputs: each side against the other and against ONNX's reference evaluator"
    part: str = ""
    "a sentence about the first node that differs, if outputs differ"
    race: Race | None = None
    unraced: str = ""
    "the reason for no race, or for the end of the races"
    tried: tuple[Race, ...] = ()
    "races of the right build against the same with a change"
    untried: tuple[str, ...] = ()
    "a sentence for each change without a race"
    rows: tuple[Difference, ...] = field(default=(), repr=False)
    "the kernels of both, aligned; empty if a side has none"

    @property
    def sides(self) -> tuple[CompilerSide, CompilerSide]:
        """Both halves."""
        return self.left, self.right

    @property
    def title(self) -> str:
        """The titles of both sides."""
        return f"{self.left.title} and {self.right.title}"

    @property
    def target(self) -> str:
        """The target, or both if they differ."""
        return " and ".join(dict.fromkeys((self.left.target, self.right.target)))

    def __str__(self) -> str:
        lines = list(map(str, self.sides))
        lines += [f"{side.title}'s pipeline: {side.pipeline}" for side in self.sides if side.passes]
        lines += [f"{side.title}, note: {note}" for side in self.sides for note in side.notes]
        lines += map(str, self.checks)
        lines += [self.part] if self.part else []
        lines += [] if self.race is None else [str(self.race)]
        lines += [f"not raced: {self.unraced}"] if self.unraced else []
        lines += [str(race) if race.b in str(race) else f"{race.b}: {race}" for race in self.tried]
        lines += self.untried
        many = Counter(self.relation(row) for row in self.rows)
        relations = ", ".join(f"{number} {kind}" for kind, number in many.items())
        lines += [f"kernels by the model's nodes: {relations}"] if relations else []
        return visible("\n".join(lines))

    @cached_property
    def alignment(self) -> Alignment | None:
        """The kernels of both builds in groups; None if a side has no kernels."""
        left, right = self.left.optimized, self.right.optimized
        return None if left is None or right is None else align(left, right)

    @property
    def exact(self) -> float:
        """The part of both builds' operations, of 1, in kernels that compute the same nodes; 0 if a side has no kernels."""
        return 0.0 if self.alignment is None else self.alignment.exact

    def to_data(self) -> dict[str, object]:
        """Return plain values, for JSON."""
        return {
            "sides": [
                {**side.row(), "message": side.message, "notes": list(side.notes), "pipeline": side.pipeline}
                for side in self.sides
            ],
            "checks": [{"same": check.same, "sentence": str(check)} for check in self.checks],
            "part": self.part,
            "exact": self.exact,
            "races": [_race_data(race) for race in (self.race, *self.tried) if race is not None],
            "unraced": self.unraced,
            "untried": list(self.untried),
            "kernels": [{**vars(row), "relation": self.relation(row), "us_lost": row.us_lost} for row in self.rows],
        }

    def relation(self, row: Difference) -> str:
        """Return the relation of a row in words, with the title of the side for kernels of one side."""
        return {LEFT: f"only {self.left.title}", RIGHT: f"only {self.right.title}"}.get(row.relation, row.relation)


def _race_data(race: Race) -> dict[str, object]:
    # JSON has no infinity: without enough rounds the interval has no end
    high = race.high if isfinite(race.high) else None
    noise = [vars(each) for each in race.noise if isfinite(each.high)]
    return {**vars(race), "high": high, "noise": noise, "sentence": str(race), "answer": race.answer}


@dataclass(frozen=True)
class CompilerComparison:
    """One model in both compilers, once for each target."""

    name: str
    "of the model"
    pairs: tuple[CompilerPair, ...]

    def __getitem__(self, target: str) -> CompilerPair:
        """Return the pair of a target; raises UnknownName if there is none."""
        for pair in self.pairs:
            if target in (pair.left.target, pair.right.target) or pair.left.target.startswith(f"{target} "):
                return pair
        raise UnknownName("target of this comparison", target, [pair.target for pair in self.pairs])

    @property
    def title(self) -> str:
        """The titles of both sides."""
        return self.pairs[0].title

    @cached_property
    def sides(self) -> pd.DataFrame:
        """One row for each side and target: status, kernels, bytes, peak memory, compile time."""
        import pandas as pd

        rows = [side.row() for pair in self.pairs for side in pair.sides]
        whole = ("operators", "kernels", "functions", "bytes", "peak_bytes")
        return pd.DataFrame(rows).astype(dict.fromkeys(whole, "Int64"))

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row for each group of kernels that compute the same nodes of the model: those with the most time lost first.

        Without times, those with the most bytes more on the right come first. Times are each kernel's own and are not raced.
        """
        import pandas as pd

        names = ["target", *(each.name for each in fields(Difference) if each.repr), "us_lost"]
        rows = [
            {"target": pair.target, **vars(row), "relation": pair.relation(row), "us_lost": row.us_lost}
            for pair in self.pairs
            for row in pair.rows
        ]
        frame = pd.DataFrame(rows, columns=names)
        times = dict.fromkeys(("us_left", "us_right", "us_lost"), "float64")
        return frame.astype({**dict.fromkeys(WHOLE, "Int64"), **times})

    @cached_property
    def printed(self) -> pd.DataFrame:
        """`table` for a page or a CSV file: names in one text, the reasons last."""
        table = self.table
        names = {
            name: table[name].map(lambda each: ", ".join(map(plain, each))) for name in ("sources", "left", "right")
        }
        return table.assign(**names).reindex(columns=[name for name in table.columns if name != "why"] + ["why"])

    def to_data(self) -> dict[str, object]:
        """Return plain values, for JSON."""
        return {"model": self.name, "pairs": [pair.to_data() for pair in self.pairs]}

    def __str__(self) -> str:
        parts = [f"{self.name}, {self.title}", *map(str, self.pairs)]
        return visible("\n".join(parts))

    def _repr_html_(self) -> str:
        shown = ["sources", "relation", "left", "right", "bytes_left", "bytes_right", "us_lost", "why"]
        first = self.printed[shown].head(SHOWN).astype(object)
        rows = first.where(first.notna(), None).to_dict("records")
        more = len(self.table) - len(rows)
        tail = html_table(f"and {counted(more, 'row')} more in .table") if more else ""
        lines = "".join(html_table(line) for line in str(self).splitlines())
        return lines + html_table(f"Kernels aligned by the model's nodes, left and right: {self.title}", rows) + tail


def plain(name: str) -> str:
    """Return the name of a function without the prefix that Relay gives all its functions."""
    return name.removeprefix("tvmgen_default_")
