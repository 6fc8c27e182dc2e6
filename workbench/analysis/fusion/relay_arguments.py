"""What counts against max_function_args in a Relay program, and in which order TVM comes to it."""

from __future__ import annotations

from workbench.analysis.fusion.forward import Arguments
from workbench.analysis.fusion.relay_types import dynamic, shape
from workbench.graph.model import Graph, Group, Node


def arguments(graph: Graph) -> Arguments:
    """What counts against max_function_args: variables and fields of tuples, and the dimensions of dynamic ones."""
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
    """The place of each node in the order in which TVM's visitor enters them: values of lets, then what is returned."""
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
        # a function's body comes before the arguments that its call passes
        waiting += reversed(returned.get(id, ()))
        waiting += [n for n in reversed(graph.inputs[id]) if not counting.is_parameter(graph.nodes[n], node.group)]
    return place


def _cost(type: str) -> int:
    """A dynamic tensor is passed with its unknown dimensions and its strides."""
    unknown = dynamic(type)
    return 1 + (unknown + (shape(type) or "").count(",") + 1 if unknown else 0)


class _Counting:
    """Records of the nodes, and behind them of what a program has and its Graph does not draw.

    That is calls of functions that are drawn in place, and lets that are used as values. What the Graph cannot say, and
    the count then differs from TVM's: that a value is both passed to a function drawn in place and captured by it, that
    two drawings of one function capture it once, that a value bound by a let is used beside it too, and that a
    parameter's type is wider than its argument's.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.own = [0] * len(graph.nodes)
        self.reads: list[tuple[int, ...]] = [()] * len(graph.nodes)
        self.uses = [0] * len(graph.nodes)
        self.undrawn: dict[tuple[str, int], int] = {}
        self.in_place = any(group.inputs or group.kind == "primitive" for group in graph.groups)

    def count(self, sources: tuple[int, ...], around: int | None) -> tuple[int, tuple[int, ...]]:
        """What the arguments count, and those that are no variables; `around` is the group that the use stands in."""
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
        """Add a use of each source; a use of a variable is none of its value."""
        for source in sources:
            node = self.graph.nodes[source]
            if not self.is_variable(node, around) and self.record(node, around) == source:
                self.uses[source] += 1 + unknown

    def is_variable(self, node: Node, around: int | None) -> bool:
        if node.kind == "param" or node.held == "let":
            return True
        return self.is_parameter(node, around)

    def is_parameter(self, node: Node, around: int | None) -> bool:
        """Whether a use inside `around` reads the node through a parameter of a function that is drawn in place."""
        return self.in_place and any(node.id in group.inputs for group in self.left(around, node.group))

    def record(self, node: Node, around: int | None) -> int:
        """The record of what the use reads: the node's, or that of a call or a let that gives its value."""
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
        """A further record, without parameters of its own."""
        if (kind, id) not in self.undrawn:
            self.undrawn[kind, id] = len(self.own)
            self.own.append(0)
            self.reads.append(())
        return self.undrawn[kind, id]

    def left(self, start: int | None, end: int | None) -> list[Group]:
        """The groups around `start` that are not around `end`, innermost first."""
        around = {group.id for group in self.graph.ancestors(end)}
        return [group for group in self.graph.ancestors(start) if group.id not in around]
