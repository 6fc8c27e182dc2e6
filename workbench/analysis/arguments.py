"""The graph that an analysis of branches or chains takes; a saved graph may have operators with other inputs than it reads."""

from __future__ import annotations

from workbench.errors import WorkbenchError
from workbench.graph.model import Graph, HasGraph, graph_of
from workbench.wording import counted

_TWO = {
    "relay": (
        *("add", "subtract", "multiply", "divide", "nn.bias_add", "nn.prelu"),
        *("nn.conv2d", "nn.dense", "nn.batch_matmul", "nn.pad"),
    ),
    "relax": tuple(f"relax.{op}" for op in ("add", "subtract", "multiply", "divide", "matmul", "nn.conv2d")),
}
_ONE = {
    "relay": ("nn.relu", "cast", "clip", "transpose", "squeeze"),
    "relax": tuple(
        f"relax.{op}"
        for op in ("nn.relu", "nn.gelu", "nn.gelu_tanh", "nn.silu", "nn.pad", "astype", "permute_dims", "squeeze")
    ),
}


def checked_graph(source: Graph | HasGraph, asked: str, passes: str) -> Graph:
    """Return the graph of a Workload or the Graph itself; `passes` begins the error's sentence about the dialects.

    Raises WorkbenchError: the graph is of neither dialect, or an operator has more or fewer inputs than analyses
    read, which a module that TVM has typed cannot have.
    """
    graph = graph_of(source, asked)
    if graph.dialect not in _ONE:
        raise WorkbenchError(
            f"{graph.name} is {graph.dialect or 'of no dialect'}, and {passes} passes of Relay and Relax; load the graph from a "
            "module of one of these"
        )
    counts = {**dict.fromkeys(_ONE[graph.dialect], 1), **dict.fromkeys(_TWO[graph.dialect], 2)}
    for node in graph.ops:
        given, wanted = len(graph.inputs[node.id]), counts.get(node.op)
        if wanted is not None and given != wanted:
            raise WorkbenchError(
                f"{node.op} (node {node.id}) has {counted(given, 'input')} and takes {wanted}; load the graph from a module that TVM accepts"
            )
    return graph
