"""The forward graph of the fusion algorithm: kinds of nodes and edges, and values used from outside.

Relay (src/relay/transforms/fuse_ops.cc, TVM 0.17): the parameters and bodies of functions, the branches, and the values of lets
are used from outside; the inside of a branch or a closure is in the same graph as the outside, and they may merge.

Relax (src/relax/transform/fuse_ops.cc, TVM 0.27): all functions that are not kernels are in one graph. Only `call_tir` and
`call_tir_inplace` have a kind, the one that AnnotateTIROpPattern found; a value that leaves its dataflow block is used from outside;
fields of a tuple argument are separate arguments, so tuples have no effect. Nothing merges in an arm of an `if` or in a local
function.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

from workbench.graph.model import Graph, Group, Node
from workbench.graph.nodes import reached

ELEMWISE, BROADCAST, INJECTIVE, COMM_REDUCE, OUT_ELEMWISE, TUPLE, OPAQUE = 0, 1, 2, 3, 4, 7, 8
"Pattern kinds, as TVM numbers them. A kernel has the largest kind of its nodes, and most tests compare with <=."


@dataclass(slots=True)
class Arguments:
    """The counts that are compared with max_function_args."""

    own: list[int]
    "parameters that each node's record starts with"
    reads: list[tuple[int, ...]]
    "for each call and tuple, its arguments that are not variables"
    uses: list[int]
    "parameters that each node's uses take: one each, and one for each dynamic dimension of a call's result"
    entered: list[int]
    "when TVM's visitor first enters each node, which is before it enters the inputs of the node"


@dataclass(slots=True)
class Forward:
    """The forward graph, with the Graph's node ids, as plain lists for speed."""

    kinds: list[int]
    "pattern kind of each node"
    users: list[list[tuple[int, int]]]
    "(consumer, kind of the edge) pairs of each node, an argument used twice twice"
    held: list[str]
    "why the algorithm cannot follow a node's value, a key of HELD; empty if it can"
    computes: list[bool]
    "whether a node that ends up alone, or at the end of its kernel, is made into a kernel"
    lacking: list[int] = field(default_factory=list)
    "operators that registered no pattern, for which the pass fails"
    frozen: list[int] = field(default_factory=list)
    "nodes in functions that the pass leaves as they are: kernels already made, offloaded regions"
    arguments: Callable[[], Arguments] | None = None
    "computes the counts for max_function_args; None where the dialect has no such limit"


HELD = {
    "result": "is returned by its function",
    "branch": "is what a branch returns",
    "condition": "decides an if",
    "let": "is bound by a let",
    "body": "is what a let gives",
    "block": "is used outside its dataflow block",
    "alias": "has a second name, which FuseOps takes for an operator that it does not know (CanonicalizeBindings removes it)",
    "argument": "is passed to a function that is called as a whole",
    "reference": "goes into a reference",
    "match": "is taken apart by a match",
    "mixed": "is in a tuple with values that are not tensors",
    "local": "is in an arm of an `if` or in a local function, where FuseOps merges nothing",
    "kernel": "is in a function that the pass leaves as it is",
}
"Reasons for which FuseOps treats a value as extern: something other than an operator takes it."


def hold(graph: Graph, seen: Forward, leaves: Callable[[Group], bool]) -> None:
    """Mark results and arguments of functions, and the nodes of functions that the pass leaves as they are."""
    held = seen.held
    for output in graph.outputs:
        held[output] = "result"
    if not graph.groups:
        return
    left = [False] * len(graph.groups)
    for group in graph.groups:
        if group.output is not None:
            held[group.output] = held[group.output] or ("branch" if group.kind == "branch" else "result")
        for source in group.inputs:
            held[source] = held[source] or "argument"
        above = group.parent is not None and left[group.parent]
        left[group.id] = above or group.kind in ("primitive", "external") or leaves(group)
    if any(left):
        for node in graph.nodes:
            if node.group is not None and left[node.group]:
                seen.kinds[node.id], held[node.id] = OPAQUE, "kernel"
                seen.frozen.append(node.id)
        outside = set(seen.frozen)
        seen.lacking[:] = [id for id in seen.lacking if id not in outside]


# -- Relax

_INPLACE = "relax.call_tir_inplace"
"the only call besides `call_tir` that FuseOps knows; any other, such as `call_tir_with_grad`, is opaque to it"


def relax_forward(graph: Graph) -> Forward:
    """Return the forward graph of a Relax Graph."""
    nodes = graph.nodes
    held = [node.held for node in nodes]
    computes = [node.kind == "op" for node in nodes]
    seen = Forward([OPAQUE] * len(nodes), [[] for _ in nodes], held, computes)
    local = _local(graph)
    for node, inputs in zip(nodes, graph.inputs, strict=True):
        if node.group in local:
            held[node.id] = "local"
        elif node.kind == "op" and node.pattern is not None and node.attrs.get("called_by", _INPLACE) == _INPLACE:
            seen.kinds[node.id] = node.pattern
        elif node.kind == "get_item" and inputs and nodes[inputs[0]].kind != "param":
            seen.kinds[node.id] = INJECTIVE
        for source in inputs:
            seen.users[source].append((node.id, seen.kinds[node.id]))
    hold(graph, seen, lambda _: False)
    return seen


def blocked_by(graph: Graph, root: Callable[[int], int]) -> str:
    """Return the name of a local function that makes FuseOps lose kernels and raise; or "".

    The pass drops its kernels when it visits a dataflow block inside the function, and fails at the next kernel that it has not
    emitted.

    `root`: the node whose value a node's kernel returns.
    """
    local = _local(graph)
    for function in graph.nodes:
        if function.kind == "function" and function.block > 0 and function.group not in local:
            rows = [node.id for node in graph.nodes if node.block == function.block and node.group == function.group]
            if _has_dataflow(graph, function) and _after(graph, rows, function.id, root):
                return function.name or "fn"
    return ""


def _has_dataflow(graph: Graph, function: Node) -> bool:
    """Return whether a local function has a dataflow block."""
    inner = {g.id for g in graph.groups if g.parent == function.group and g.name in (function.name, "fn")}
    return any(
        node.block > 0 and any(group.id in inner for group in graph.ancestors(node.group))
        for node in graph.nodes[: function.id]
    )


def _after(graph: Graph, rows: Sequence[int], function: int, root: Callable[[int], int]) -> bool:
    """Return whether a kernel of several nodes among these is emitted after the function."""
    needs: dict[int, set[int]] = {}
    sizes = Counter(root(row) for row in rows)
    for row in rows:
        needs.setdefault(root(row), set()).update(root(source) for source in graph.inputs[row])
    done = reached((root(row) for row in rows if row < function), lambda kernel: needs.get(kernel, ()))
    return any(size > 1 and kernel not in done for kernel, size in sizes.items())


def _local(graph: Graph) -> set[int | None]:
    """Return the groups that are, or are inside, an arm of an `if` or a local function."""
    found: set[int | None] = set()
    for group in graph.outside_in:
        if group.parent in found or group.kind == "branch" or (group.kind == "function" and group.parent is not None):
            found.add(group.id)
    return found


# -- Relay

FOLDED = ("int32", "int64", "float32", "float64", "bool")
"Scalar constants of these types are written into the kernel; any other constant is an argument."


UNWRAPPED = re.compile(r"on_device|vm\..*|memory\..*|call_lowered|annotation\.stop_fusion")
"Operators that compute nothing and never become a kernel."


_TAKEN_BY = {"if": "condition", "match": "match", "ref": "reference"}


def relay_forward(graph: Graph) -> Forward:
    """Return the forward graph of a Relay Graph."""
    nodes = graph.nodes
    seen = Forward([OPAQUE] * len(nodes), [[] for _ in nodes], [""] * len(nodes), [False] * len(nodes))
    kinds, users, held = seen.kinds, seen.users, seen.held
    for node, inputs in zip(nodes, graph.inputs, strict=True):
        id, kind = node.id, node.kind
        if node.held:
            held[id] = node.held
        if kind == "op":
            if node.pattern is None:
                seen.lacking.append(id)
            else:
                kinds[id] = node.pattern
            seen.computes[id] = not UNWRAPPED.fullmatch(node.op)
            edge, own = kinds[id], shape(node.type) if kinds[id] == BROADCAST else None
            for source in inputs:
                same = own is not None and shape(nodes[source].type) == own
                users[source].append((id, ELEMWISE if same else edge))
        elif kind == "constant":
            kinds[id] = ELEMWISE if node.type in FOLDED else OPAQUE
        elif kind == "tuple":
            kinds[id] = TUPLE
            for source in inputs:
                if is_tensor(nodes[source].type):
                    users[source].append((id, INJECTIVE))
                else:
                    held[source] = held[source] or "mixed"
        elif kind == "get_item" and inputs:
            whole = nodes[inputs[0]].type
            if all(map(is_tensor, fields(whole))):
                kinds[id] = INJECTIVE
                users[inputs[0]].append((id, INJECTIVE))
            else:
                held[inputs[0]] = held[inputs[0]] or "mixed"
        elif kind == "call":
            for source in inputs:
                users[source].append((id, OPAQUE))
        elif kind in _TAKEN_BY:
            for source in inputs:
                held[source] = held[source] or _TAKEN_BY[kind]
    hold(graph, seen, lambda group: "SkipOptimization" in group.attrs)
    for id, how in enumerate(held):
        if how in ("let", "body"):
            # the use is of the variable or of the let, and not of the value
            users[id].clear()
    seen.arguments = lambda: arguments(graph)
    return seen


def arguments(graph: Graph) -> Arguments:
    """Return the counts for max_function_args: variables, fields of tuples, and dynamic dimensions."""
    counting = _Counting(graph)
    for node, inputs in zip(graph.nodes, graph.inputs, strict=True):
        if node.kind in ("op", "call", "tuple"):
            counting.own[node.id], counting.reads[node.id] = counting.count(inputs, node.group)
        elif node.kind == "param":
            counting.own[node.id] = _cost(node.type)
        if node.kind in ("op", "call", "tuple", "get_item"):
            counting.use(inputs, node.group, dynamic(node.type) if node.kind in ("op", "call") else 0)
    for group in graph.groups:
        if group.inputs and group.output is not None:
            counting.use(group.inputs, group.parent, dynamic(graph.nodes[group.output].type))
    return Arguments(counting.own, counting.reads, counting.uses, _entered(graph, counting))


def _entered(graph: Graph, counting: _Counting) -> list[int]:
    """Return each node's place in the order in which TVM's visitor enters them: values of lets, then results."""
    returned: dict[int, list[int]] = {}
    for group in graph.groups:
        if group.inputs and group.output is not None:
            returned.setdefault(group.output, []).extend(group.inputs)
    tops = [group.output for group in graph.groups if group.parent is None and group.output is not None]
    lets = [node.id for node in graph.nodes if node.held == "let" and node.group in (None, 0)]
    place = [-1] * len(graph.nodes)
    waiting = [*reversed(tops), *reversed(lets)]
    count = 0
    while waiting:
        id = waiting.pop()
        if place[id] >= 0:
            continue
        place[id], count = count, count + 1
        node = graph.nodes[id]
        # the body of a function comes before the arguments of its call
        waiting += reversed(returned.get(id, ()))
        waiting += [n for n in reversed(graph.inputs[id]) if not counting.is_parameter(graph.nodes[n], node.group)]
    return place


def _cost(type: str) -> int:
    """Return the number of parameters of a value: a dynamic tensor adds its unknown dimensions and its strides."""
    unknown = dynamic(type)
    return 1 + (unknown + (shape(type) or "").count(",") + 1 if unknown else 0)


class _Counting:
    """Records of the nodes, followed by records of expressions that the Graph does not draw.

    These are calls of functions that are drawn in place, and lets that are used as values. The count differs from TVM's in
    cases that the Graph does not show: a value is both passed to a function drawn in place and captured by it; two
    drawings of one function capture it once; a value bound by a let is also used directly; a parameter's type is wider
    than its argument's.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.own = [0] * len(graph.nodes)
        self.reads: list[tuple[int, ...]] = [()] * len(graph.nodes)
        self.uses = [0] * len(graph.nodes)
        self.undrawn: dict[tuple[str, int], int] = {}
        self.in_place = any(group.inputs or group.kind == "primitive" for group in graph.groups)

    def count(self, sources: tuple[int, ...], around: int | None) -> tuple[int, tuple[int, ...]]:
        """Return the count of the arguments, and those that are not variables; `around` is the group of the use."""
        count, others = 0, []
        for source in sources:
            node = self.graph.nodes[source]
            if self.is_variable(node, around):
                count += _cost(node.type)
                continue
            record = self.record(node, around)
            if record == source and node.kind == "get_item":
                count += _cost(node.type)
            others.append(record)
        return count, tuple(others)

    def use(self, sources: tuple[int, ...], around: int | None, unknown: int) -> None:
        """Add a use of each source; a use of a variable is not a use of its value."""
        for source in sources:
            node = self.graph.nodes[source]
            if not self.is_variable(node, around) and self.record(node, around) == source:
                self.uses[source] += 1 + unknown

    def is_variable(self, node: Node, around: int | None) -> bool:
        if node.kind == "param" or node.held == "let":
            return True
        return self.is_parameter(node, around)

    def is_parameter(self, node: Node, around: int | None) -> bool:
        """Return whether a use inside `around` reads the node through a parameter of a function that is drawn in place."""
        return self.in_place and any(node.id in group.inputs for group in self.left(around, node.group))

    def record(self, node: Node, around: int | None) -> int:
        """Return the record that the use reads: the node's, or that of a call or a let that returns its value."""
        if self.in_place:
            for group in reversed(self.left(node.group, around)):
                if group.output == node.id and group.kind not in ("branch", "scope"):
                    return self.call(group)
        return self.extra("let", node.id) if node.held == "body" else node.id

    def call(self, group: Group) -> int:
        if ("call", group.id) not in self.undrawn:
            place = self.extra("call", group.id)
            self.own[place], self.reads[place] = self.count(group.inputs, group.parent)
        return self.undrawn["call", group.id]

    def extra(self, kind: str, id: int) -> int:
        """Return an additional record without parameters of its own."""
        if (kind, id) not in self.undrawn:
            self.undrawn[kind, id] = len(self.own)
            self.own.append(0)
            self.reads.append(())
        return self.undrawn[kind, id]

    def left(self, start: int | None, end: int | None) -> list[Group]:
        """Return the groups around `start` that are not around `end`, innermost first."""
        around = {group.id for group in self.graph.ancestors(end)}
        return [group for group in self.graph.ancestors(start) if group.id not in around]


_SCALAR = re.compile(r"(u?int|b?float|bfloat|custom)[0-9]\w*|bool")


@cache
def shape(type: str) -> str | None:
    """Return the shape of a tensor type as text; None for other types.

    >>> shape("Tensor[(1, ?), float32]"), shape("float32"), shape("(bool, bool)")
    ('1, ?', '', None)
    """
    if type.startswith("Tensor[(") and ")" in type:
        return type[8 : type.index(")")]
    return "" if _SCALAR.fullmatch(type) else None


def is_tensor(type: str) -> bool:
    """Return whether the type is a tensor's or a scalar's."""
    return shape(type) is not None


@cache
def fields(type: str) -> tuple[str, ...]:
    """Return the types of a tuple's fields."""
    if not (type.startswith("(") and type.endswith(")")):
        return (type,) if type and not is_tensor(type) else ()
    depth, parts, start = 0, [], 1
    for place in range(1, len(type) - 1):
        char = type[place]
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            parts.append(type[start:place].strip())
            start = place + 1
    last = type[start:-1].strip()
    return (*parts, last) if last else tuple(parts)


def dynamic(type: str) -> int:
    """Return the number of unknown dimensions of a tensor."""
    return (shape(type) or "").count("?")
