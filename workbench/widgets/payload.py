"""Graphs and diffs as columns of bytes, which the page reads without parsing."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from operator import attrgetter
from typing import TypedDict

from workbench.graph.changes import MARKS, GraphDiff, lowered
from workbench.graph.layers import layered_pair
from workbench.graph.model import Graph
from workbench.graph.nodes import GROUP_KINDS, KINDS, Edge, Group, Node

VERSION = 1
_KIND_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
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


class Strings(dict[str, int]):
    """The numbers of strings, each once; number 0 is the empty one. A new string gets the next number when it is looked up."""

    def __init__(self) -> None:
        super().__init__({"": 0})

    def __missing__(self, text: str) -> int:
        number = self[text] = len(self)
        return number


def encode_graph(graph: Graph) -> GraphPayload:
    """Return the graph for the page. js/graph/payload.ts reads it; the keys define the column types."""
    if encode_graph not in graph.memory:
        graph.memory[encode_graph] = _encoded(graph)
    return graph.memory[encode_graph]


def _encoded(graph: Graph) -> GraphPayload:
    strings = Strings()
    sent: list[str] = []
    nodes, edges, groups, renumbered = graph.nodes, graph.edges, *_shown_groups(graph)

    # `map` and `attrgetter`, because a loop over each of fifteen columns is what takes the time of a large graph
    def texts(name: str, items: Sequence[Node | Edge | Group]) -> bytes:
        return narrow("I", map(strings.__getitem__, map(attrgetter(name), items)))

    def attrs(items: Sequence[Node | Group]) -> bytes:
        return narrow("I", (strings[_json(item.attrs)] if item.attrs else 0 for item in items))

    payload: GraphPayload = {
        "version": VERSION,
        # before the columns: Jupyter's page compares a new value with the old one up to the first difference
        "strings": sent,
        "node": {
            "kind": column("B", map(_KIND_NUMBERS.__getitem__, map(attrgetter("kind"), nodes))),
            "label_s": texts("op", nodes),
            "type_s": texts("type", nodes),
            "attrs_s": attrs(nodes),
            "name_s": texts("name", nodes),
            "span_s": texts("span", nodes),
            "group": narrow("i", (renumbered.get(n.group, -1) for n in nodes)),
            "pattern": column("b", (_NO_PATTERN if n.pattern is None else n.pattern for n in nodes)),
        },
        "edge": {
            "source": narrow("I", map(attrgetter("source"), edges)),
            "target": narrow("I", map(attrgetter("target"), edges)),
            # two bytes are enough: the page shows a position and sorts by it
            "index": column("H", (min(e.index, 0xFFFF) for e in edges)),
            "type_s": texts("type", edges),
        },
        "group": {
            "kind": column("B", (GROUP_KINDS.index(g.kind) for g in groups)),
            # the ids of `collapsed`: the places in these columns differ from them if a group is left out
            "id": narrow("i", (g.id for g in groups)),
            "name_s": texts("name", groups),
            "attrs_s": attrs(groups),
            "parent": narrow("i", (renumbered.get(g.parent, -1) for g in groups)),
        },
        "output": column("I", graph.outputs),
    }
    sent.extend(map(sendable_text, strings))
    return payload


def sendable_text(text: str) -> str:
    """Replace halves of characters, which Python can hold but a message cannot."""
    return text if text.isascii() else text.encode(errors="replace").decode()


_ENCODER = json.JSONEncoder(default=str, allow_nan=False)


def _json(value: object) -> str:
    """Return JSON for the page, without NaN and Infinity, which Python would write."""
    try:
        return _ENCODER.encode(value)
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
    columns = bytearray(len(before.nodes)), bytearray(len(after.nodes))
    for each, marks, quiet in zip(columns, diff.marks, lowered(diff, before, after), strict=True):
        for node, mark in marks.items():
            each[node] = MARKS.index(mark)
        for node in quiet:
            each[node] = _LOWERED
    pairs = chain.from_iterable((b, a) for b, many in diff.mapping.items() for a in many)
    return {"before_mark": bytes(columns[0]), "after_mark": bytes(columns[1]), "pairs": column("I", pairs)}


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


def narrow(code: str, values: Iterable[int]) -> bytes:
    """Return a column in the fewest bytes for each value that all of them fit in; the page knows their number."""
    whole = array(code, values)
    with suppress(OverflowError):
        return column("B" if code == "I" else "b", whole)
    with suppress(OverflowError):
        return column("H" if code == "I" else "h", whole)
    return whole.tobytes()


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
