"""The sentence about remarks that an earlier program had, for a terminal and for CI."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from workbench.debugging.remarks.folds import FOLDED, SHORTENED
from workbench.debugging.remarks.fusion import FUSE_OPS
from workbench.debugging.remarks.remark import PASSED, Remark
from workbench.terminal import visible
from workbench.wording import counted

SHOWN = 40
"lost remarks that are listed"


def lost_text(lost: Sequence[Remark], now: Sequence[Remark], since: str) -> str:
    """Return the number of lost remarks, and a line for each with the reason that the later program gives.

    Parameters
    ----------
    lost
        In the order of the lines.
    now
        All remarks of the later program.
    since
        The name of the earlier program.
    """
    if not lost:
        return visible(f"no fusion, merge or fold lost since {since}")
    count = Counter(map(_noun, lost))
    head = ", ".join(counted(many, noun) for noun, many in count.items())
    reasons: dict[Hashable, list[Remark]] = {}
    for each in reversed(now):
        if each.kind != PASSED:
            reasons.setdefault(_producer(each), []).append(each)
    lines = [f"{head} lost since {since}:"]
    for each in lost[:SHOWN]:
        found = reasons.get(_producer(each))
        lines.append(f"  {_line(each, found.pop() if found else None)}")
    if len(lost) > SHOWN:
        lines.append(f"  and {len(lost) - SHOWN} more")
    return visible("\n".join(lines))


def _producer(remark: Remark) -> Hashable:
    """Return the identity of the first operator: a node that no phase looks at has a remark without a consumer."""
    return remark.pass_name, remark.function, remark.layer, remark.operators[:1], remark.bytes


def _noun(remark: Remark) -> str:
    if remark.pass_name == FUSE_OPS:
        return "fusion"
    return "fold" if remark.name in (FOLDED, SHORTENED) else "merge"


def _line(remark: Remark, reason: Remark | None) -> str:
    size = "unknown bytes" if remark.bytes is None else counted(remark.bytes, "byte")
    layer = f" in {remark.layer}" if remark.layer else ""
    operators = " -> ".join(remark.operators)
    name = "" if remark.pass_name == FUSE_OPS else f", {remark.pass_name}"
    return f"{size}: {operators}{layer}{name}" + (f"; now {reason.name}: {reason.text}" if reason else "")
