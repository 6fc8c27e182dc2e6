"""A CompilerComparison: both halves of a model, their race, their outputs, and the table of differences."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING

from workbench.analysis.alignment import LEFT, RIGHT, Alignment, align
from workbench.debugging.compilers.differences import Difference
from workbench.debugging.compilers.outputs import OutputCheck
from workbench.debugging.compilers.side import CompilerSide
from workbench.errors import UnknownName
from workbench.measurement.race import Race
from workbench.terminal import html_table, visible
from workbench.wording import counted

if TYPE_CHECKING:
    import pandas as pd

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
        lines = [
            str(self.left),
            str(self.right),
            *(f"{side.title}'s pipeline: {side.pipeline}" for side in self._built),
        ]
        lines += [f"{side.title}, note: {note}" for side in self.sides for note in side.notes]
        lines += map(str, self.checks)
        lines += [self.part] if self.part else []
        lines += [] if self.race is None else [str(self.race)]
        lines += [f"not raced: {self.unraced}"] if self.unraced else []
        lines += [*map(_change, self.tried), *self.untried]
        many = Counter(self.relation(row) for row in self.rows)
        if many:
            lines.append(
                "kernels by the model's nodes: " + ", ".join(f"{number} {kind}" for kind, number in many.items())
            )
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

    @property
    def _built(self) -> tuple[CompilerSide, ...]:
        return tuple(side for side in self.sides if side.passes)

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


def _change(race: Race) -> str:
    """Return the sentence of the race of a change, with the name of the change."""
    said = str(race)
    return said if race.b in said else f"{race.b}: {said}"


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
        names = {name: table[name].map(_joined) for name in ("sources", "left", "right")}
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


def _joined(names: tuple[str, ...]) -> str:
    return ", ".join(map(plain, names))


def plain(name: str) -> str:
    """Return the name of a function without the prefix that Relay gives all its functions."""
    return name.removeprefix("tvmgen_default_")
