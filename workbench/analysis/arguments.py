"""The number of inputs that analyses expect of operators; a saved graph may have another number."""

from __future__ import annotations

from workbench.errors import WorkbenchError
from workbench.graph.model import Graph
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


def check_arguments(graph: Graph) -> None:
    """Raise unless operators have the inputs that analyses read.

    Raises
    ------
    WorkbenchError
        An operator has more or fewer, which a module that TVM has typed cannot have.
    """
    counts = {**dict.fromkeys(_ONE[graph.dialect], 1), **dict.fromkeys(_TWO[graph.dialect], 2)}
    for node in graph.ops:
        given, wanted = len(graph.inputs[node.id]), counts.get(node.op)
        if wanted is not None and given != wanted:
            raise WorkbenchError(
                f"{node.op} (node {node.id}) has {counted(given, 'input')} and takes {wanted}; load the graph from a module that TVM accepts"
            )
