"""Graphs and diffs as columns of bytes, which the page reads without parsing."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterable, Mapping
from typing import TypedDict

from workbench.graph.changes import MARKS, GraphDiff, lowered
from workbench.graph.layers import layered_pair
from workbench.graph.model import Graph
from workbench.graph.nodes import GROUP_KINDS, KINDS, Group

VERSION = 1
_NO_PATTERN = -1
_LOWERED = len(MARKS)
"the mark of nodes that js/graph/picture.ts shows as kept, or with `show_lowering` as changed, removed or added"
DEEPEST = 64
"boxes in boxes that the page draws; it walks from a node to each box around it"


class NodeColumns(TypedDict):
    """A value for each node; names that end in `_s` are columns of numbers of strings."""

    kind: bytes
    label_s: bytes
    type_s: bytes
    attrs_s: bytes
    name_s: bytes
    span_s: bytes
    group: bytes
    pattern: bytes


class EdgeColumns(TypedDict):
    """A value for each edge."""

    source: bytes
    target: bytes
    index: bytes
    type_s: bytes


class GroupColumns(TypedDict):
    """A value for each group."""

    kind: bytes
    id: bytes
    name_s: bytes
    attrs_s: bytes
    parent: bytes


class GraphPayload(TypedDict, total=False):
    """A graph as columns; {} before there is one."""

    version: int
    node: NodeColumns
    edge: EdgeColumns
    group: GroupColumns
    output: bytes
    strings: list[str]


class DiffPayload(TypedDict, total=False):
    """The marks of the nodes of two graphs, and the pairs of nodes that belong together; {} before there are any."""

    before_mark: bytes
    after_mark: bytes
    pairs: bytes


class Strings:
    """A table of strings, each once; number 0 is the empty one."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {"": 0}

    def __call__(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


def encode_graph(graph: Graph) -> GraphPayload:
    """Return the graph for the page. js/graph/payload.ts reads it; the keys define the column types."""
    strings = Strings()
    nodes, edges, groups, renumbered = graph.nodes, graph.edges, *_shown_groups(graph)

    def attrs(value: object) -> int:
        return strings(_json(value) if value else "")

    return {
        "version": VERSION,
        "node": {
            "kind": column("B", (KINDS.index(n.kind) for n in nodes)),
            "label_s": column("I", (strings(n.op) for n in nodes)),
            "type_s": column("I", (strings(n.type) for n in nodes)),
            "attrs_s": column("I", (attrs(n.attrs) for n in nodes)),
            "name_s": column("I", (strings(n.name) for n in nodes)),
            "span_s": column("I", (strings(n.span) for n in nodes)),
            "group": column("i", (renumbered.get(n.group, -1) for n in nodes)),
            "pattern": column("b", (_NO_PATTERN if n.pattern is None else n.pattern for n in nodes)),
        },
        "edge": {
            "source": column("I", (e.source for e in edges)),
            "target": column("I", (e.target for e in edges)),
            # two bytes are enough: the page shows a position and sorts by it
            "index": column("H", (min(e.index, 0xFFFF) for e in edges)),
            "type_s": column("I", (strings(e.type) for e in edges)),
        },
        "group": {
            "kind": column("B", (GROUP_KINDS.index(g.kind) for g in groups)),
            # the ids of `collapsed`: the places in these columns differ from them if a group is left out
            "id": column("i", (g.id for g in groups)),
            "name_s": column("I", (strings(g.name) for g in groups)),
            "attrs_s": column("I", (attrs(g.attrs) for g in groups)),
            "parent": column("i", (renumbered.get(g.parent, -1) for g in groups)),
        },
        "output": column("I", graph.outputs),
        # last, because every string must have its number
        "strings": [sendable_text(text) for text in strings.numbers],
    }


def sendable_text(text: str) -> str:
    """Replace halves of characters, which Python can hold but a message cannot."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def _json(value: object) -> str:
    """Return JSON for the page, without NaN and Infinity, which Python would write."""
    try:
        return json.dumps(value, default=str, allow_nan=False)
    except (ValueError, TypeError):
        return json.dumps(_plain(value))


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    plain = value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value))
    return value if plain else str(value)


def _shown_groups(graph: Graph) -> tuple[list[Group], dict[int | None, int]]:
    """Return the groups to draw, without a lone function around everything and those inside DEEPEST others.

    The second value is the place of each group among them; that of one left out is the place of the one around it.
    """
    roots = [g for g in graph.groups if g.parent is None]
    hidden = roots[0].id if len(roots) == 1 and roots[0].kind == "function" else None
    depth: dict[int | None, int] = {None: 0, hidden: 0}
    for group in graph.outside_in:
        depth.setdefault(group.id, depth[group.parent] + 1)
    shown = [g for g in graph.groups if 0 < depth[g.id] <= DEEPEST]
    places: dict[int | None, int] = {g.id: place for place, g in enumerate(shown)}
    for group in graph.outside_in:
        if depth[group.id] > DEEPEST:
            places[group.id] = places[group.parent]
    return shown, places


def encode_diff(diff: GraphDiff, before: Graph, after: Graph) -> DiffPayload:
    """Return the marks of every node of both graphs, and the pairs for selection and hover."""
    before_mark = bytearray(len(before.nodes))
    after_mark = bytearray(len(after.nodes))
    for b, a in diff.changed:
        before_mark[b] = after_mark[a] = MARKS.index("changed")
    for b in diff.removed:
        before_mark[b] = MARKS.index("removed")
    for a in diff.added:
        after_mark[a] = MARKS.index("added")
    for many, a in diff.merged:
        after_mark[a] = MARKS.index("merged")
        for b in many:
            before_mark[b] = MARKS.index("merged")
    for b, many in diff.split:
        before_mark[b] = MARKS.index("split")
        for a in many:
            after_mark[a] = MARKS.index("split")
    for marks, nodes in zip((before_mark, after_mark), lowered(diff, before, after), strict=True):
        for node in nodes:
            marks[node] = _LOWERED
    pairs = (id for b, many in diff.mapping.items() for a in many for id in (b, a))
    return {"before_mark": bytes(before_mark), "after_mark": bytes(after_mark), "pairs": column("I", pairs)}


class PairTraits(TypedDict):
    """The traits of a comparison for two new graphs: nothing is selected, and the page sends its open groups again."""

    before: GraphPayload
    after: GraphPayload
    diff: DiffPayload
    selection: dict[str, list[int]]
    hovered: dict[str, list[int]]
    collapsed: None


def encode_pair(before: Graph, after: Graph, changes: GraphDiff) -> tuple[tuple[Graph, Graph], PairTraits]:
    """Return two graphs with the layers of the first, and the traits that show them with their difference."""
    drawn = layered_pair(before, after, changes)
    encoded: PairTraits = {
        "before": encode_graph(drawn[0]),
        "after": encode_graph(drawn[1]),
        "diff": encode_diff(changes, before, after),
        "selection": {},
        "hovered": {},
        "collapsed": None,
    }
    return drawn, encoded


def column(code: str, values: Iterable[int]) -> bytes:
    """Return little-endian bytes: array() writes the platform's order, and all of Jupyter's platforms are little-endian."""
    return array(code, values).tobytes()


def packed(message: object) -> tuple[object, list[bytes]]:
    """Return the message with its bytes replaced by places in a list of buffers, and that list, for js/model/model.ts.

    >>> packed({"type": "state", "kind": b"ab"})
    ({'type': 'state', 'kind': {'buffer': 0}}, [b'ab'])
    """
    buffers: list[bytes] = []

    def plain(value: object) -> object:
        if isinstance(value, bytes):
            buffers.append(value)
            return {"buffer": len(buffers) - 1}
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value

    return plain(message), buffers
