"""One row of the table: what was measured, the peer's figure, the bar, and whether it is met."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Bar:
    what: str
    ours: float | None
    unit: str
    peer: str = ""
    "what the peer is"
    peer_figure: float | None = None
    bar: str = ""
    "the bar, in words"
    met: bool | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Ours over the peer's."""
        if self.ours is None or not self.peer_figure:
            return None
        return self.ours / self.peer_figure

    @property
    def failed(self) -> bool:
        """Return whether the measurement has no figure; its part is then run again."""
        return self.met is False and self.ours is None

    def line(self) -> str:
        """The row as text, in columns."""
        ours = "-" if self.ours is None else f"{self.ours:.4g} {self.unit}"
        peer = "" if self.peer_figure is None else f"{self.peer_figure:.4g} {self.unit} ({self.peer})"
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}"
        met = {True: "met", False: "MISSED", None: ""}[self.met]
        columns = ((self.what, 66), (ours, 14), (peer, 30), (ratio, 5), (self.bar, 22), (met, 6), (self.note, 0))
        return "  ".join(text.ljust(width) for text, width in columns).rstrip()


def table(bars: Sequence[Bar], names: Mapping[str, str]) -> str:
    """Some rows in Markdown, by what was measured, in the order of `names`; those that differ only in the peer are one line."""
    lines = ["| | here | others |", "|---|---|---|"]
    for what, name in names.items():
        found = [bar for bar in bars if bar.what == what]
        ours = _figure(found[0].ours, found[0].unit) if found else "not measured"
        peers = "; ".join(f"{bar.peer}: {_figure(bar.peer_figure, bar.unit)}" for bar in found if bar.peer_figure)
        lines.append(f"| {name} | {ours} | {peers} |")
    return "\n".join(lines)


def _figure(figure: float | None, unit: str) -> str:
    """Two digits, which is what a repeat on a shared machine confirms."""
    if figure is None:
        return "failed"
    if unit == "ms" and figure >= 1000:
        figure, unit = figure / 1000, "s"
    return f"{float(f'{figure:.2g}'):,g} {unit}"


def failure(what: str, reason: str) -> Bar:
    """The row of a measurement that did not come to its figure."""
    return Bar(what, None, "", bar="runs", met=False, note=f"failed: {reason[:200]}")


def attempted(what: str, measure: Callable[[], Iterable[Bar]]) -> Iterator[Bar]:
    """Yield the rows of a measurement; if it raises, a row with the reason comes last, and others can follow."""
    try:
        yield from measure()
    except Exception as error:  # noqa: BLE001  a row has the reason
        yield failure(what, next(iter(str(error).strip().splitlines()), type(error).__name__))


def show(bars: Iterator[Bar]) -> None:
    """Print each row as a JSON line as it comes. An iterator, not a list: a part that is killed keeps its rows."""
    for bar in bars:
        print(json.dumps(asdict(bar)), flush=True)


def read(text: str) -> list[Bar]:
    """Read the rows that `show` printed; other lines are TVM's output. A row that does not read is a row that says so."""
    return [_row(line) for line in text.splitlines() if line.startswith('{"what"')]


def _row(line: str) -> Bar:
    try:
        data = json.loads(line)
        for figure in (data.get("ours"), data.get("peer_figure")):
            if figure is not None and not isinstance(figure, (int, float)):
                return failure(data["what"], repr(figure))
        return Bar(**data)
    except (TypeError, ValueError) as error:
        return failure("a row", str(error))
