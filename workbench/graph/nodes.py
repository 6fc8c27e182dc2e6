"""The parts of a Graph: nodes, edges and groups, TVM's answers about them, and attributes that were methods."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from workbench.graph.model import Graph


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


_BOOKKEEPING = re.compile(
    # annotations and memory; `vm.builtin` also has library calls, so those that lowering makes are listed
    r"on_device|memory\..*|vm\.(shape_of|shape_func|reshape_tensor|bind)"
    r"|relax\.((vm|memory)\..*|builtin\.alloc_tensor|null_value|hint_on_device|shape_of|assert_op|print)"
    r"|vm\.builtin\.((check|match|make|alloc|tuple)_.*|reshape|shape_of|copy|null_value|read_if_cond|assert_op)"
)
_VIEW = "relax.reshape"
"made by RewriteDataflowReshape from a compiled reshape: a view of the same memory"


def is_work(graph: Graph) -> Callable[[Node], bool]:
    """Return a predicate: whether a node of the graph is work. Memory, checks and annotations are not.

    Before lowering, an operator of Relax is a future kernel. After it, `relax.reshape` is a view, and no other operator is left.
    """
    ops = {node.op for node in graph.ops if not _BOOKKEEPING.fullmatch(node.op)}
    operators = {op for op in ops if op.startswith("relax.")}
    if operators == {_VIEW} and ops != operators:
        ops.remove(_VIEW)
    return lambda node: node.kind == "op" and node.op in ops


T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


def warn_of_call(name: str, instead: str = "") -> None:
    """Warn the caller's caller that the value is now an attribute, not a method."""
    now = f"use {instead}" if instead else "leave out the parentheses"
    warnings.warn(f"{name} is an attribute: {now}", DeprecationWarning, stacklevel=3)


class CallableTuple(tuple[T, ...]):
    """The tuple of an attribute that was a method: a call still gives the value, with a DeprecationWarning."""

    __slots__ = ()

    def __call__(self) -> tuple[T, ...]:
        warn_of_call("this value")
        return self


class CallableDict(dict[K, V]):
    """The dict of an attribute that was a method."""

    def __call__(self) -> dict[K, V]:
        warn_of_call("this value")
        return self
