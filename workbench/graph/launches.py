"""The operators of a graph that are work: calls of compiled functions, and operators that become such calls."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.graph.model import Graph
    from workbench.graph.nodes import Node


_BOOKKEEPING = re.compile(
    # marks and memory; `vm.builtin` has library calls too, so those that lowering makes are listed
    r"on_device|memory\..*|vm\.(shape_of|shape_func|reshape_tensor|bind)"
    r"|relax\.((vm|memory)\..*|builtin\.alloc_tensor|null_value|hint_on_device|shape_of|assert_op)"
    r"|vm\.builtin\.((check|match|make|alloc|tuple)_.*|reshape|shape_of|copy|null_value|read_if_cond|assert_op)"
)
_VIEW = "relax.reshape"
"RewriteDataflowReshape makes it of a compiled reshape: the same memory, passed on"


def is_work(graph: Graph) -> Callable[[Node], bool]:
    """Return whether a node of the graph is work; memory, checks and marks are not.

    Before lowering an operator of Relax is a kernel to be. After it `relax.reshape` is a view, and no other operator is left.
    """
    ops = {node.op for node in graph.ops() if not _BOOKKEEPING.fullmatch(node.op)}
    operators = {op for op in ops if op.startswith("relax.")}
    if operators == {_VIEW} and ops != operators:
        ops.remove(_VIEW)
    return lambda node: node.kind == "op" and node.op in ops
