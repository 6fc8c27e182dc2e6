"""One row of the table: what was measured, the peer's figure, the bar, and whether it is met."""

from __future__ import annotations

import json
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

    def to_data(self) -> dict[str, object]:
        return {**asdict(self), "ratio": self.ratio}


def show(bars: list[Bar]) -> None:
    """Print the rows as JSON lines: what a benchmark in another environment hands back."""
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
                return Bar(data["what"], None, "", bar="a figure", met=False, note=f"failed: {figure!r}")
        return Bar(**data)
    except (TypeError, ValueError) as error:
        return Bar("a row", None, "", bar="reads", met=False, note=f"failed: {error}")


def table(bars: list[Bar]) -> str:
    """The rows as aligned text."""
    head = ("what", "ours", "peer", "ratio", "bar", "met")
    rows = [head, *(_cells(bar) for bar in bars)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _cells(bar: Bar) -> tuple[str, ...]:
    ours = "-" if bar.ours is None else f"{bar.ours:.4g} {bar.unit}"
    peer = bar.note if bar.peer_figure is None else f"{bar.peer_figure:.4g} {bar.unit} ({bar.peer})"
    ratio = "" if bar.ratio is None else f"{bar.ratio:.2f}"
    met = {True: "met", False: "MISSED", None: ""}[bar.met]
    return bar.what, ours, peer, ratio, bar.bar, met
