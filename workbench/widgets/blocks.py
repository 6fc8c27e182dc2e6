"""The content of a panel as small values: words, lines that select nodes, buttons, fields. js/components/blocks.tsx draws them.

A block never holds markup: the page shows its texts as plain text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, TypedDict, TypeVar

if TYPE_CHECKING:
    from typing_extensions import Unpack


Link = tuple[str, int]
"words of a text, and the node that they name"


class Linked(TypedDict, total=False):
    """A text that names nodes."""

    links: list[Link]
    "in the order of the text"


class Heading(Linked):
    """A heading within a panel."""

    t: Literal["h"]
    text: str


class Paragraph(Linked):
    """A paragraph; `look` is `strong` for the first sentence, `small` for details, `bad` for an error.

    `unit` is for words after a number, and `note` for words beside buttons.
    """

    t: Literal["p"]
    text: str
    look: str
    name: str


class LineParts(TypedDict, total=False):
    """Parts that a line may have."""

    group: list[Line]
    "shown when the line is opened"
    opened: bool
    after: list[int]
    "its nodes of the second graph, in a view of two"


class Line(Linked, LineParts):
    """A line of a list: a click selects its nodes, and does `act` if it has one. `look` colours the sign."""

    text: str
    nodes: list[int]
    small: str
    sign: str
    look: str
    act: str
    arg: str
    drop: str
    "the argument of the button that takes the line away; empty for no button"


class Lines(TypedDict):
    """A list."""

    t: Literal["rows"]
    rows: list[Line]
    name: str


class ActionParts(TypedDict, total=False):
    """Parts that a button may have."""

    field: str
    "the first value of a text field that gives the argument"


class Action(Linked, ActionParts):
    """A button. `off` is why it cannot be pressed."""

    t: Literal["act"]
    label: str
    act: str
    title: str
    off: str
    arg: str


Value = str | int | float | bool
EntryKind = Literal["number", "text", "check", "range", "select", "area"]


class EntryOptions(TypedDict, total=False):
    """The limits, choices and words of a field."""

    options: Sequence[Value | Sequence[str]]
    "values, or pairs of a value and its words"
    min: float
    max: float
    hint: str
    show: str


class Entry(EntryOptions):
    """A field; a new value comes as a `Set` message with its name."""

    t: Literal["in"]
    kind: EntryKind
    name: str
    label: str
    value: Value


class Code(TypedDict):
    """Code with a button that copies it."""

    t: Literal["code"]
    text: str
    name: str


class Bars(TypedDict):
    """Bars in a column of a table: for each line, the lower quartile, the median and the upper one, as shares of the longest."""

    column: int
    spans: list[list[float]]


class TableParts(TypedDict, total=False):
    """Parts that a table may have."""

    hints: list[str]
    "the tooltip of each column's name"
    tips: list[str]
    "the tooltip of each line's first text; the text itself where there is none"
    opened: list[str]
    "arguments of the lines whose details are beneath them, in a table whose lines open"
    bars: Bars
    button: tuple[str, str]
    "the words and the action of a button at the end of each line that has an argument"


class Table(TableParts):
    """A table of texts; the first of `rows` is its head. `sorted` is the column that the lines are sorted by, -1 for none.

    The last text of a shorter line takes the columns that are left. A text that begins with `! ` is about a failure.
    """

    t: Literal["table"]
    rows: list[list[str]]
    name: str
    act: str
    sort: str
    sorted: int
    down: bool
    "the largest value is first"
    marked: list[int]
    args: list[str]
    "the argument of `act` for each line, its number where there are none; a line with an empty one cannot be clicked"


class Picture(TypedDict):
    """A plot for light pages and for dark ones; `text` is for readers who cannot see it."""

    t: Literal["img"]
    svg: list[str]
    text: str
    name: str


Block = Heading | Paragraph | Lines | Action | Entry | Code | Table | Picture


def heading(text: str) -> Block:
    """Return a heading within a panel."""
    return {"t": "h", "text": text}


def words(text: str, look: str = "", name: str = "") -> Block:
    """Return a paragraph."""
    return {"t": "p", "text": text, "look": look, "name": name}


def row(
    text: str,
    nodes: Iterable[int] = (),
    *,
    small: str = "",
    sign: str = "",
    look: str = "",
    click: tuple[str, str] = ("", ""),
    drop: str = "",
) -> Line:
    """Return a line of a list; `click` is the action of a click, and its argument."""
    (act, arg), at = click, list(nodes)
    return {"text": text, "nodes": at, "small": small, "sign": sign, "look": look, "act": act, "arg": arg, "drop": drop}


def rows(items: Iterable[Line], name: str = "") -> Block:
    """Return a list."""
    return {"t": "rows", "rows": list(items), "name": name}


def near_misses(lines: Iterable[tuple[str, Line]], shown: int = -1) -> list[Line]:
    """Return lines, those of one reason behind one line; each is given with its reason. The group with line `shown` is open."""
    groups: dict[str, list[tuple[int, Line]]] = {}
    for place, (reason, line) in enumerate(lines):
        groups.setdefault(reason, []).append((place, line))
    made: list[Line] = []
    for reason, group in groups.items():
        inside, left_out = [line for _, line in group[:MOST_ROWS]], len(group) - MOST_ROWS
        if left_out > 0:
            inside.append(row(f"and {left_out:,} more"))
        if len(group) > 1:
            opened = any(place == shown for place, _ in group)
            head: Line = row(f"{len(group):,} near misses: {reason}", sign="?", look="near")
            head["group"], head["opened"] = inside, opened
            inside = [head]
        made += inside
    return made


def action(
    label: str, act: str, *, title: str = "", off: str = "", arg: str = "", **parts: Unpack[ActionParts]
) -> Block:
    """Return a button."""
    return {"t": "act", "label": label, "act": act, "title": title, "off": off, "arg": arg, **parts}


def entry(kind: EntryKind, name: str, label: str, value: Value, **options: Unpack[EntryOptions]) -> Block:
    """Return a field; a new value comes as a `Set` message with its name."""
    return {"t": "in", "kind": kind, "name": name, "label": label, "value": value, **options}


def code(text: str, name: str = "") -> Block:
    """Return code with a button that copies it."""
    return {"t": "code", "text": text, "name": name}


def table(
    head: Sequence[str],
    lines: Iterable[Sequence[str]],
    name: str = "",
    *,
    act: str = "",
    sort: tuple[str, int, bool] = ("", -1, False),
    marked: Iterable[int] = (),
    args: Iterable[str] = (),
    **parts: Unpack[TableParts],
) -> Block:
    """Return a small table of texts.

    A click on a line's first cell sends `act` with the line's number. `sort` is the action of a click on a column's name,
    whose argument is the column's number, then the column that is sorted by, and whether the largest value is first. `marked`
    are numbers of lines. A table that changes while it is on the page needs `args`, the argument of `act` for each line: the
    line may have moved before the click arrives.
    """
    texts = [list(head), *(list(line) for line in lines)]
    at, each = list(marked), list(args)
    by, column, down = sort
    made = Table(t="table", rows=texts, name=name, act=act, sort=by, sorted=column, down=down, marked=at, args=each)
    return {**made, **parts}


MOST_ROWS = 60
"rows of a list in a tab; the rest is counted"


def shortened(lines: Sequence[Line], name: str = "", most: int = MOST_ROWS) -> list[Block]:
    """Return the first lines as a list, and the number of those that are left out."""
    left_out = len(lines) - most
    return [rows(lines[:most], name), *([words(f"and {left_out:,} more", "small")] if left_out > 0 else [])]


_NODE = re.compile(r"\bnode (\d{1,9})\b")


def linked(blocks: Iterable[Block], count: int) -> list[Block]:
    """Return blocks in which "node 7" is a link to that node of a graph of `count` nodes."""
    return [_linked_block(block, count) for block in blocks]


def _linked_block(block: Block, count: int) -> Block:
    if block["t"] == "rows":
        return {**block, "rows": [_linked_line(line, count) for line in block["rows"]]}
    if block["t"] == "act":
        return {**block, "links": _links(count, block["off"])}
    if block["t"] == "p":
        return {**block, "links": _links(count, block["text"])}
    return {**block, "links": _links(count, block["text"])} if block["t"] == "h" else block


def _linked_line(line: Line, count: int) -> Line:
    made: Line = {**line, "links": _links(count, line["text"], line["small"])}
    if "group" in line:
        made["group"] = [_linked_line(each, count) for each in line["group"]]
    return made


def _links(count: int, *texts: str) -> list[Link]:
    found = (match for text in texts for match in _NODE.finditer(text))
    return [(match[0], int(match[1])) for match in found if int(match[1]) < count]


NARROW = 5.4
"inches: a tab shows it at half the page's width, where a wider one's words would be too small"


def picture(plot: Callable[..., object], data: object, rows: int, name: str = "", **options: object) -> Block:
    """Return a plot of workbench.plots for light pages and for dark ones; its title is the text for readers who cannot see it."""
    from workbench.plots.style import to_both

    *svg, finding = to_both(plot, data, rows, width=NARROW, **options)
    return {"t": "img", "svg": svg, "text": finding, "name": name}


def signed(number: int, text: str) -> str:
    """Return `+2 kB` for a difference, `no change` for none."""
    return "no change" if number == 0 else f"{'+' if number > 0 else '-'}{text.lstrip('-')}"


T = TypeVar("T")


def sendable(blocks: T) -> T:
    """Return blocks, or panels of blocks, without halves of characters, which Python can hold and no message can."""
    text = json.dumps(blocks, ensure_ascii=False)
    return blocks if text.isascii() else json.loads(text.encode(errors="replace"))
