"""A stretch of a Relax function as its rewriters see it: bindings in order, each of a variable to a call of variables.

What TVM tidies up after a rewrite is here too: equal bindings become one and what nothing uses goes (CanonicalizeBindings,
EliminateCommonSubexpr and RemoveAllUnused of src/relax/transform, 0.27), and bindings stand after those that they need.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from workbench.analysis.branches.calls import Calls
from workbench.graph.identity import frozen
from workbench.graph.model import Graph, Node

_SHAPES = re.compile(r"[\[(]([^()\[\]]*)[\])]")

_NAME = re.compile(r"\b[A-Za-z_]\w*\b")


class CircularBindings(ValueError):
    """Two bindings need each other, so there is no order for them."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What a variable is bound to, or a tuple that stands in a call's arguments."""

    var: int
    "the variable: a node of the graph, or a number above all nodes for one that a pass made"
    kind: str
    op: str
    args: tuple[int, ...]
    type: str
    attrs: Hashable = None
    pattern: int | None = None


@dataclass
class Symbols:
    """The symbolic dimensions of a function, numbered below zero."""

    numbers: dict[str, int] = field(default_factory=dict)

    def of(self, type: str) -> Iterator[int]:
        """The symbols that are dimensions of a type's tensors."""
        for found in _SHAPES.finditer(type):
            for name in _NAME.findall(found.group(1)):
                yield self.numbers.setdefault(name, -1 - len(self.numbers))


@dataclass
class Block:
    """Bindings that a rewriter looks at together."""

    bindings: list[Bound]
    inline: dict[int, Bound]
    "tuples that are written where they are used, and are no variables"
    constants: Mapping[int, Hashable]
    "the value of each constant and shape, which are no variables either"
    types: dict[int, str]
    "the type of every value"
    symbols: Symbols
    returned: frozenset[int]
    "variables that are used outside"
    instead: dict[int, int] = field(default_factory=dict)
    "variable that was merged -> the one that stands for it"

    def variables(self, bound: Bound) -> Iterator[int]:
        """The variables that a binding reads, in the order of its arguments, those of inline tuples too.

        The symbols in its type come last: today's TVM has them as variables, and takes them for arguments.
        """
        yield from self._arguments(bound.args)
        yield from self.symbols.of(bound.type)

    def _arguments(self, args: Iterable[int]) -> Iterator[int]:
        for arg in args:
            if arg in self.inline:
                yield from self._arguments(self.inline[arg].args)
            elif arg in self.constants:
                yield from self.symbols.of(self.types[arg])
            else:
                yield arg

    def tidied(self) -> None:
        """Merge equal bindings, and drop those that nothing uses."""
        size = -1
        while size != len(self.bindings):
            size = len(self.bindings)
            self._merge()
            self._drop()

    def _merge(self) -> None:
        first: dict[Hashable, int] = {}
        kept: list[Bound] = []
        for bound in self.bindings:
            bound = replace(bound, args=tuple(self.instead.get(arg, arg) for arg in bound.args))
            same = first.setdefault(self._key(bound), bound.var)
            if same == bound.var:
                kept.append(bound)
            else:
                self.instead[bound.var] = same
        self.bindings = kept

    def _key(self, bound: Bound) -> Hashable:
        return bound.kind, bound.op, bound.attrs, tuple(map(self._argument, bound.args))

    def _argument(self, arg: int) -> Hashable:
        if arg in self.inline:
            return self._key(self.inline[arg])
        return self.constants.get(arg, self.instead.get(arg, arg))

    def _drop(self) -> None:
        for id, bound in self.inline.items():
            self.inline[id] = replace(bound, args=tuple(self.instead.get(arg, arg) for arg in bound.args))
        wanted = {self.instead.get(var, var) for var in self.returned}
        kept: list[Bound] = []
        for bound in reversed(self.bindings):
            if bound.var in wanted:
                kept.append(bound)
                wanted.update(self.variables(bound))
        self.bindings = kept[::-1]

    def ordered(self) -> None:
        """Move bindings down as little as puts each below those that it needs.

        Raises
        ------
        CircularBindings
            There is no such order.
        """
        remaining = {bound.var for bound in self.bindings}
        waiting: list[tuple[Bound, set[int]]] = []
        order: list[Bound] = []

        def put(bound: Bound) -> None:
            order.append(bound)
            remaining.discard(bound.var)
            for _, unmet in waiting:
                unmet.discard(bound.var)

        for bound in self.bindings:
            unmet = {var for var in self.variables(bound) if var in remaining}
            if unmet:
                waiting.append((bound, unmet))
            else:
                put(bound)
            while (ready := next((pair for pair in waiting if not pair[1]), None)) is not None:
                waiting.remove(ready)
                put(ready[0])
        if waiting:
            raise CircularBindings
        self.bindings = order


def blocks_of(calls: Calls) -> dict[int | None, list[Block]]:
    """The blocks of each function, by the function's group.

    Aliases are taken for what they stand for, as the graph draws them.
    """
    graph = calls.graph
    symbols = Symbols()
    held: dict[Hashable, list[Node | int]] = {}
    scopes: dict[Hashable, int | None] = {}
    called = {group.output: group for group in graph.groups if group.inputs and group.output is not None}
    for node in graph.nodes:
        here = calls.stretches[node.id]
        scopes.setdefault(here, calls.scopes[node.id])
        if node.kind not in ("param", "constant", "shape", "global"):
            held.setdefault(here, []).append(node)
        group = called.get(node.id)
        if group is not None and group.parent is not None and calls.functions[group.parent] != scopes[here]:
            # the call of a function that is drawn in place, in the stretch that comes before it
            outside = next((h for h, scope in reversed(scopes.items()) if scope == calls.functions[group.parent]), None)
            held.setdefault(outside, []).append(group.id)
    constants = {node.id: _constant(node) for node in graph.nodes if node.kind in ("constant", "shape", "global")}
    found: dict[int | None, list[Block]] = {}
    for here, members in held.items():
        found.setdefault(scopes.get(here), []).append(_block(graph, members, constants, symbols))
    return found


def _constant(node: Node) -> Hashable:
    return node.kind, node.type, node.attrs.get("digest", node.op)


def _block(graph: Graph, members: Iterable[Node | int], constants: Mapping[int, Hashable], symbols: Symbols) -> Block:
    bindings, inline = [], {}
    for member in members:
        if isinstance(member, int):
            group = graph.groups[member]
            assert group.output is not None
            type = graph.nodes[group.output].type
            bindings.append(Bound(group.output, "call", group.name, group.inputs, type, ("group", member)))
            continue
        inputs = graph.inputs[member.id]
        bound = Bound(member.id, member.kind, member.op, inputs, member.type, frozen(member.attrs), member.pattern)
        if member.name or member.kind != "tuple":
            bindings.append(bound)
        else:
            inline[member.id] = bound
    inside = {bound.var for bound in bindings} | set(inline)
    used = {s for node in graph.nodes if node.id not in inside for s in graph.inputs[node.id]}
    used |= {*graph.outputs, *(group.output for group in graph.groups if group.output is not None)}
    given = {s for group in graph.groups for s in group.inputs if group.output not in inside}
    returned = (used | given) & inside
    outside = {arg for var in returned & set(inline) for arg in inline[var].args}
    types = {node.id: node.type for node in graph.nodes}
    return Block(bindings, inline, constants, types, symbols, frozenset(returned | outside))
