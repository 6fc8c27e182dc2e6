"""Repairs of characters damaged by web pages, terminals and mail; each place maps back to its origin."""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field

_BEGINS = r"(?=%[\w.]|def\s+@|fn\s*[(\[]|let\s+%|free_var\b|if\s*\(|\}|\#\[|[a-z_][\w.]*\(|\()"
"beginnings of a line of Relay"
_PROMPT = (
    r">>>|\.\.\.|In \[\d{1,5}\]:|Out\[\d{1,5}\]:|>{1,3}|\||\$|\d{1,6}(?: ?[:|]|(?=[ \t]))"
    r"|\[?\d\d:\d\d:\d\d[^\]\n%]{0,80}\](?:[^\n%\[\]]{0,200}?: )?"
)
_QUOTES = str.maketrans("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"' * 7)


BEFORE_LINES = "prompts, quotation marks and numbers before lines were left out"


@dataclass(frozen=True)
class Repair:
    """One kind of damage."""

    said: str
    "the repair, for the note"
    pattern: re.Pattern[str]
    replacement: str | Callable[[re.Match[str]], str]


def _whole(comment: str) -> bool:
    return comment.startswith("/*") and comment.endswith("*/")


COLOURS = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
REPAIRS = (
    Repair("terminal colours were left out", COLOURS, ""),
    Repair("line breaks became plain ones", re.compile(r"\r\n?|[\u2028\u2029\x0b\x0c\x85]"), "\n"),
    Repair("HTML tags were left out", re.compile(r"</?(?:br|p|div|pre|code|span|em|i|b|strong)\b[^<>\n]{0,200}>"), ""),
    Repair(
        "HTML entities became the characters they name",
        re.compile(r"&(?:[a-z]{2,6}|#\d{2,5}|#x[0-9a-f]{2,5});", re.IGNORECASE),
        lambda found: html.unescape(found.group()),
    ),
    Repair(BEFORE_LINES, re.compile(r"^[ \t]{0,8}>(?: ?>){0,5}(?!>) ?", re.MULTILINE), ""),
    Repair("unusual spaces became plain ones", re.compile(r"[\u00a0\u2000-\u200a\u202f\u205f\u3000]"), " "),
    Repair("invisible characters were left out", re.compile(r"[\u200b-\u200f\u2060\ufeff\u00ad]"), ""),
    Repair(
        "typographic quotes became plain ones",
        re.compile(r"[\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb]"),
        lambda found: found.group().translate(_QUOTES),
    ),
    Repair("typographic arrows became plain ones", re.compile(r"\u2192|[\u2010-\u2015\u2212]>"), "->"),
    Repair("typographic arrows became plain ones", re.compile(r"\u21d2"), "=>"),
    Repair("typographic dashes became plain ones", re.compile(r"[\u2010-\u2015\u2212]"), "-"),
    Repair(
        "comments that had lost their slashes got them back",
        re.compile(r"(?:/ ?)?\*\s*((?:ty|span)=[^*;{}\"]*)\*(?: ?/)?"),
        lambda found: found.group() if _whole(found.group()) else f"/* {' '.join(found.group(1).split())} */",
    ),
    Repair(
        "comments of Python and C++ became comments of Relay",
        # the type is before the semicolon in Relay
        re.compile(r"(;[ \t]{0,20})?(?:#|//)[ \t]{0,20}((?:ty|span)=[^\n*;]{1,2000})"),
        lambda found: f"/* {found.group(2).strip()} */{';' if found.group(1) else ''}",
    ),
    Repair(
        "comments that had lost their stars got them back",
        re.compile(r"(?<![*/\w])/\s?_?\s?(ty=[^/*;{}\"\n]*?)\s?_?\s?/(?![*/])"),
        lambda found: f"/* {found.group(1).strip()} */",
    ),
    Repair(
        "names in comments that had lost their slashes got them back",
        re.compile(r"(?<=\) )\* ([\w./:\-]{1,300}) \*(?= */\*|;|,|\)| *\n| *\})"),
        lambda found: f"/* {found.group(1)} */",
    ),
    Repair(
        BEFORE_LINES,
        re.compile(rf"^[ \t]{{0,200}}(?:(?:{_PROMPT})[ \t]{{0,200}}){{1,3}}{_BEGINS}", re.MULTILINE),
        "",
    ),
)  # fmt: skip


@dataclass
class Repaired:
    """A text after repairs of its characters."""

    text: str
    said: dict[str, list[int]] = field(default_factory=dict)
    "repair -> its places in `text`, in order"
    _shifts: list[tuple[list[int], list[int]]] = field(default_factory=list)
    "for each repair: places in the text after it, and the same places before it"

    def original(self, place: int) -> int:
        """Return a place of `text` as it was before the repairs."""
        for after, before in reversed(self._shifts):
            at = bisect_right(after, place) - 1
            place = before[at] + place - after[at] if at >= 0 else place
        return place

    def notes(self, start: int, end: int) -> list[str]:
        """Return the repairs between two places of `text`."""
        return [
            f"{said} ({count} of them)" if count > 1 else said
            for said, places in self.said.items()
            if (count := bisect_right(places, end) - bisect_right(places, start - 1))
        ]


def repaired(text: str) -> Repaired:
    """Return the text with all applicable repairs made."""
    result = Repaired(text)
    for repair in REPAIRS:
        _apply(repair, result)
    return result


def _apply(repair: Repair, to: Repaired) -> None:
    pieces: list[str] = []
    after: list[int] = []
    before: list[int] = []
    places: list[int] = []
    copied = length = 0
    for found in repair.pattern.finditer(to.text):
        put = repair.replacement if isinstance(repair.replacement, str) else repair.replacement(found)
        if put == found.group():
            continue
        pieces += (to.text[copied : found.start()], put)
        length += found.start() - copied
        places.append(length)
        length += len(put)
        copied = found.end()
        after.append(length)
        before.append(copied)
    if not pieces:
        return
    shift = (after, before)
    to.said = {said: [_moved(place, shift) for place in known] for said, known in to.said.items()}
    to.said.setdefault(repair.said, []).extend(places)
    to.said[repair.said].sort()
    to.text = "".join(pieces) + to.text[copied:]
    to._shifts.append(shift)  # noqa: SLF001  its own


def _moved(place: int, shift: tuple[list[int], list[int]]) -> int:
    """Return a place after a repair."""
    after, before = shift
    at = bisect_right(before, place) - 1
    return after[at] + place - before[at] if at >= 0 else place
