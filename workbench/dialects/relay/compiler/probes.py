"""A Relay module whose outputs are the values of its nodes.

Only the printed text connects a node of the graph with an expression of the module: `Node.line` is the line that binds
it. So the text is read back with another result.
"""

from __future__ import annotations

import re

import tvm
from tvm import relay

from workbench.dialects.arrays import bytes_of
from workbench.dialects.base import Workload
from workbench.errors import MeasureError, last_line

_BOUND = re.compile(r"  (%\d+) = ")
MOST_BYTES = 64_000_000
"of constants, which are printed as text"


def probed(workload: Workload) -> tuple[Workload, list[int]]:
    """Return the workload with another module, and the id of the node of each output.

    Nodes are the operators of `main` outside of kernels, `let` and `if`.

    Raises
    ------
    MeasureError
        The module has no such nodes, or is too large to be printed.
    """
    ids = {node.line: node.id for node in workload.graph.nodes if node.kind == "op" and node.type.startswith("Tensor[")}
    lines = _text(workload.module).splitlines()
    start = next((place for place, line in enumerate(lines) if line.startswith("def @main")), None)
    if start is None:
        raise MeasureError("the module has no main")
    end = next(place for place in range(start, len(lines)) if lines[place] == "}")
    found = [
        (match.group(1), ids[place + 1])
        for place in range(start + 1, end)
        if (match := _BOUND.match(lines[place])) and place + 1 in ids
    ]
    last = max((place for place in range(start + 1, end) if _BOUND.match(lines[place])), default=None)
    # a bound function ends on a later line
    if last is None or not found or not lines[last].endswith(";"):
        raise MeasureError("no operator of main has a value of its own")
    head = lines[start].partition(") -> ")[0].removesuffix(") {") + ") {"
    result = f"  ({', '.join(name for name, _ in found)},)"
    text = "\n".join([*lines[:start], head, *lines[start + 1 : last + 1], result, *lines[end:]])
    try:
        module = relay.transform.InferType()(tvm.relay.parse(text))
    except (tvm.TVMError, tvm.error.DiagnosticError) as error:
        raise MeasureError(f"the module cannot be printed and read back: {last_line(error)}") from None
    return workload.of(module), [id for _, id in found]


def _text(module: tvm.IRModule) -> str:
    size = 0

    def add(expression: relay.Expr) -> None:
        nonlocal size
        if isinstance(expression, relay.Constant):
            size += bytes_of(expression.data).nbytes

    for function in module.functions.values():
        if isinstance(function, relay.Function):
            relay.analysis.post_order_visit(function, add)
    if size > MOST_BYTES:
        raise MeasureError(f"its constants are {size >> 20} MB, too many to look inside")
    return module.astext(show_meta_data=True)
