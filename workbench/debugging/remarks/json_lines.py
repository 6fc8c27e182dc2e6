"""Remarks as JSON lines: a head with the version and the number of remarks, then one object a remark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from workbench.debugging.remarks.remark import KINDS, VERSION, Remark, Source, check_head
from workbench.graph import received
from workbench.graph.received import Damaged

_TEXTS = ("kind", "pass_name", "name", "message", "function", "layer", "change")
_MOST_NODES = 1 << 31


def lines(remarks: Sequence[Remark]) -> Iterator[str]:
    """Yield the lines of a file."""
    yield json.dumps({"format": "tvm-workbench remarks", "version": VERSION, "remarks": len(remarks)})
    for remark in remarks:
        yield json.dumps(asdict(remark))


def read(text: str) -> Iterator[Remark]:
    """Yield the remarks of a file's text.

    Raises
    ------
    Damaged
        It is not such a file, or it was cut off.
    """
    first, *rest = text.removesuffix("\n").split("\n")
    head = received.fields(received.parse(first), {"version": int, "remarks": int})
    check_head(head["version"], head["remarks"], len(rest))
    for line in rest:
        yield _from_data(received.parse(line))


def _from_data(data: object) -> Remark:
    given = received.fields(data, {**dict.fromkeys(_TEXTS, str), "operators": list, "nodes": list})
    if given["kind"] not in KINDS:
        raise Damaged(f"{given['kind']!r} is not a kind of remark")
    operators = received.texts(given.pop("operators"), "operators")
    nodes = tuple(received.place(node, _MOST_NODES, "nodes") for node in given.pop("nodes"))
    assert isinstance(data, dict), "its fields were read"
    place, size = data.get("source"), data.get("bytes")
    source = None if place is None else Source(**received.fields(place, {"file": str, "line": int, "column": int}))
    bytes = None if size is None else received.fields(data, {"bytes": int})["bytes"]
    return Remark(**given, operators=operators, nodes=nodes, source=source, bytes=bytes)
