"""What a page is told to show, as small values: words, rows that select nodes, buttons, fields. js/views/blocks.ts draws them.

A block never holds markup: its texts reach the page as text, whatever is in them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Block = dict[str, Any]


def heading(text: str) -> Block:
    """A heading within a panel."""
    return {"t": "h", "text": text}


def words(text: str, look: str = "", name: str = "") -> Block:
    """A paragraph. `look`: `strong` for what is read first, `small` for what is there for those who know, `bad`."""
    return {"t": "p", "text": text, "look": look, "name": name}


def row(
    text: str,
    nodes: Iterable[int] = (),
    *,
    small: str = "",
    sign: str = "",
    look: str = "",
    act: str = "",
    arg: str = "",
    drop: str = "",
) -> Block:
    """A line of a list: a click selects its nodes, and does `act` if it has one. `look` colours the sign.

    `drop` gives the line a button that takes it away, with this argument.
    """
    found = {"text": text, "nodes": list(nodes), "small": small, "sign": sign, "look": look, "act": act, "arg": arg}
    return found | ({"drop": drop} if drop else {})


def rows(items: Iterable[Block], name: str = "") -> Block:
    """A list."""
    return {"t": "rows", "rows": list(items), "name": name}


def action(label: str, act: str, *, title: str = "", off: str = "", arg: str = "", field: str = "") -> Block:
    """A button. `off` says why it cannot be pressed; `field` is a text with a field of its own, the argument's first value."""
    return {"t": "act", "label": label, "act": act, "title": title, "off": off, "arg": arg, "field": field}


def entry(kind: str, name: str, label: str, value: Any, **more: Any) -> Block:
    """A field: `number`, `text`, `check`, `range` or `select`. What is entered comes as `set` with its name."""
    return {"t": "in", "kind": kind, "name": name, "label": label, "value": value, **more}


def code(text: str, name: str = "") -> Block:
    """Code with a button that copies it."""
    return {"t": "code", "text": text, "name": name}


def table(
    head: Sequence[str],
    lines: Iterable[Sequence[str]],
    name: str = "",
    *,
    act: str = "",
    sort: str = "",
    marked: Iterable[int] = (),
    args: Iterable[str] = (),
) -> Block:
    """A small table of texts.

    A click on a line's first cell does `act` with the line's number, one on a column's name does `sort` with the column's;
    lines of these numbers are `marked`. A table that changes while one looks at it needs `args`: what `act` is told of each
    line, wherever the line has gone meanwhile.
    """
    found = {"t": "table", "rows": [list(head), *(list(line) for line in lines)], "name": name}
    told = {"args": given} if (given := list(args)) else {}
    return found | {"act": act, "sort": sort, "marked": list(marked)} | told if act or sort else found


NARROW = 5.4
"inches: a tab shows it at half the page's width, where a wider one's words would be too small"


def picture(plot: Callable[..., Any], data: Any, rows: int, name: str = "", **options: Any) -> Block:
    """A plot (of workbench.plots) for light pages and for dark ones; its words for those who cannot see it are its title."""
    from workbench.plots.style import to_both

    *svg, finding = to_both(plot, data, rows, width=NARROW, **options)
    return {"t": "img", "svg": svg, "text": finding, "name": name}


def size(count: int) -> str:
    """Bytes in words."""
    if abs(count) < 10_000:
        return f"{count:,} bytes"
    for unit in ("kB", "MB", "GB"):
        count_in = count / 1000 ** ("kB", "MB", "GB").index(unit) / 1000
        if abs(count_in) < 999.5 or unit == "GB":
            return f"{count_in:.3g} {unit}"
    raise AssertionError


def signed(number: int, text: str) -> str:
    """`+2 kB` for a difference, `no change` for none."""
    return "no change" if number == 0 else f"{'+' if number > 0 else '-'}{text.lstrip('-')}"


def sendable(blocks: list[Block]) -> list[Block]:
    """The blocks without halves of characters, which Python can hold and no message can."""
    text = json.dumps(blocks, ensure_ascii=False)
    return blocks if text.isascii() else json.loads(text.encode(errors="replace"))
