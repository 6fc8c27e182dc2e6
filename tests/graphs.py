"""Graphs and traces written by hand, for tests that need no TVM."""

from __future__ import annotations

from itertools import pairwise

from workbench.graph.model import Graph, GraphBuilder
from workbench.pipeline.step import State, Step
from workbench.pipeline.trace import Trace

WIDE = "Tensor[(4, 8), float32]"
PATTERNS = {
    "exp": 0, "tanh": 0, "nn.relu": 0, "add": 1, "transpose": 2, "concatenate": 2, "reshape": 2, "sum": 3, "nn.dense": 4,
    "nn.softmax": 4, "cumsum": 8,
}  # fmt: skip
"operator -> its pattern; another operator has none"


class Net:
    """Builds a graph of one parameter by operator names; values have one type."""

    def __init__(self, dialect: str = "relay", type: str = WIDE) -> None:
        self.builder, self.type = GraphBuilder("net", dialect), type
        self.x = self.builder.node("param", "x", type=type)

    def op(self, name: str, *inputs: int, type: str = "") -> int:
        pattern = PATTERNS.get(name)
        return self.builder.node("op", name, inputs or (self.x,), type=type or self.type, pattern=pattern)

    def done(self, *outputs: int) -> Graph:
        self.builder.outputs = list(outputs)
        return self.builder.build()


def state(graph: Graph, text: str = "") -> State:
    return State(None, lambda: graph, lambda: text)


def traced(*graphs: Graph) -> Trace:
    """Return a trace of passes that make each graph of the one before."""
    states = [state(graph) for graph in graphs]
    steps = (Step(f"Pass{place}", *pair, "changed") for place, pair in enumerate(pairwise(states)))
    return Trace("t", "relay", tuple(steps), states[0], 3)
