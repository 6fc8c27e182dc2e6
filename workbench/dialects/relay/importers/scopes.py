"""Full paths of modules in what TVM makes of TorchScript.

TVM has PyTorch inline the calls between modules with a pass that names modules by what they were called when they were last
traced: a second trace of one model says `0.query` where the first said `layers.0.query`. The graph that PyTorch inlines by
itself has the full path; its operators are the same and come in the same order.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tvm.relay.frontend import pytorch


@contextmanager
def full_paths(script: Any) -> Iterator[None]:
    """Have TVM's importer name the operators of this script by the paths of the modules that call them."""
    paths: dict[str, deque[str]] = defaultdict(deque)
    for kind, path in operators(script):
        paths[kind].append(path)

    theirs = pytorch.PytorchScopePreservingNamer

    class ByModule(theirs):
        def get_node_source_name(self, node: Any) -> str:
            named = paths.get(node.kind()) if node.kind().startswith("aten::") else None
            if named:
                named.rotate(-1)  # the whole graph is gone through more than once
            # a script from a file has lost its paths
            return (named[-1] if named else "") or super().get_node_source_name(node)

    pytorch.PytorchScopePreservingNamer = ByModule
    try:
        yield
    finally:
        pytorch.PytorchScopePreservingNamer = theirs


def operators(script: Any) -> Iterator[tuple[str, str]]:
    """Every operator and the path of the module that calls it, in order, those in branches and loops where they stand."""
    graph = script.inlined_graph  # its nodes live as long as it does
    waiting = [graph.nodes()]
    while waiting:
        node = next(waiting[-1], None)
        if node is None:
            waiting.pop()
            continue
        yield node.kind(), path_in(node.scopeName())
        waiting.extend(block.nodes() for block in reversed(list(node.blocks())))


def path_in(scope: str) -> str:
    """The path of a module in either form of a scope's name that PyTorch writes.

    >>> path_in("__module.layers.0/__module.layers.0.query"), path_in("Net::/Layer::layers.0/torch.nn.Linear::query")
    ('layers.0.query', 'layers.0.query')
    """
    if "__module." in scope:
        return scope.rpartition("__module.")[2]
    return ".".join(name for part in scope.split("/") if (name := part.rpartition("::")[2]))
