"""The parts of a Graph: nodes, edges and groups, and TVM's answers about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

DIALECTS = ("relay", "relax")
KINDS = ("op", "param", "constant", "tuple", "get_item", "call", "function", "if", "match", "ref", "global", "shape")
GROUP_KINDS = ("function", "scope", "primitive", "composite", "external", "branch")
PATTERNS = {
    0: "ElemWise",
    1: "Broadcast",
    2: "Injective",
    3: "CommReduce",
    4: "OutEWiseFusable",
    7: "Tuple",
    8: "Opaque",
}


@dataclass(frozen=True, slots=True)
class Node:
    """One value of the program."""

    id: int
    "index in `Graph.nodes`; producers come before consumers"
    kind: str
    "one of KINDS"
    op: str
    "operator name (`nn.conv2d`), parameter name, constant text, or a name that depends on the kind"
    type: str = ""
    "as TVM prints it, including dynamic dimensions"
    attrs: Mapping[str, Any] = field(default_factory=dict)
    "attributes that differ from their defaults, as plain values; `digest` identifies the values of a tensor constant"
    group: int | None = None
    "innermost group that holds the node"
    name: str = ""
    "the variable it is bound to, if the program names one"
    scope: str = ""
    "layer path from the importer, `encoder/layer_0`"
    span: str = ""
    "source span as TVM prints it; only a hint, because passes drop it"
    pattern: int | None = None
    "operator pattern kind for fusion, a key of PATTERNS"
    line: int = 0
    "line of the printed text that binds it, 1-based; 0 if unknown"
    block: int = 0
    "number of the Relax binding block that binds it, 1-based, negative for a block that is not dataflow; 0 if none"
    source: tuple[str, ...] = ()
    "the nodes of the imported model that it computes, by names that are unique in that model; empty if unknown"
    held: str = ""
    "non-operator use that comes first: `let`, `body` (of a let), `block` (it leaves one), `alias`; fusion stops there"


@dataclass(frozen=True, slots=True)
class Edge:
    """A use of one node's value by another."""

    source: int
    target: int
    index: int
    "argument position at the target"
    type: str = ""
    "type of the value that flows"


@dataclass(frozen=True, slots=True)
class Group:
    """A box around nodes."""

    id: int
    kind: str
    "one of GROUP_KINDS"
    name: str
    parent: int | None = None
    attrs: Mapping[str, Any] = field(default_factory=dict)
    output: int | None = None
    "node whose value the function returns"
    inputs: tuple[int, ...] = ()
    "nodes whose values are its arguments, for a function drawn where it is called"


@dataclass(frozen=True)
class Parts:
    """A graph as it is saved and drawn."""

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    groups: tuple[Group, ...] = ()
    outputs: tuple[int, ...] = ()
    name: str = ""
    dialect: str = ""


def nesting(groups: Sequence[Group]) -> dict[int, int]:
    """Return the depth of each group, from 1, the outer ones first; a group inside itself has none."""
    inner: list[list[int]] = [[] for _ in groups]
    for group in groups:
        if group.parent is not None:
            inner[group.parent].append(group.id)
    found = {group.id: 1 for group in groups if group.parent is None}
    waiting = list(found)
    for id in waiting:
        found.update(dict.fromkeys(inner[id], found[id] + 1))
        waiting += inner[id]
    return found


def reached(starts: Iterable[int], onward: Callable[[int], Iterable[int]]) -> set[int]:
    """Return the starts and everything that `onward` leads to from them, step by step."""
    found = set(starts)
    waiting = list(found)
    while waiting:
        new = {each for each in onward(waiting.pop()) if each not in found}
        found |= new
        waiting += new
    return found


@dataclass(frozen=True)
class Answers:
    """TVM's answers about a Relax module."""

    merged: Mapping[int, int] | None = None
    """the nodes that EliminateCommonSubexpr merges into an earlier one, each with that node, or -1 where TVM puts a variable
    that is out of scope there; None where the pass was not run"""
    unfusible: str = ""
    "why FuseOps raises with any settings; empty where it does not"


@dataclass(frozen=True)
class Joined:
    """Products of one value that CombineParallelMatmul joins into one."""

    left: int
    "the node of the first factor, which they share"
    right: tuple[int, ...]
    "the nodes of their second factors; factors joined in an earlier round are listed one by one"
    bias: tuple[int, ...] = ()
    "the nodes that are added to them; empty where the pass joins the products without bias"


@dataclass(frozen=True)
class Products:
    """The result of TVM's CombineParallelMatmul on a Relax module."""

    joined: tuple[Joined, ...] = ()
    "in the order in which the pass joins them; where it raises, including the one it failed at"
    parts: frozenset[int] = frozenset()
    "nodes whose value is a part of a split after the pass"
    failure: str = ""
    "the error that the pass raises; empty where it raises none"
