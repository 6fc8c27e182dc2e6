"""Timing the calls of a graph executor one by one: each compiled function by itself, on the inputs that it gets in a run.

TVM's debug executor gives what the nodes hold. Its own `run_individual` reads the clock around every single run, which
costs as much as a small kernel (0.24 µs on the machine that this was written on); time_evaluator reads it around many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from workbench.dialects.base import KernelTime
from workbench.dialects.evaluating import evaluated

METHOD = "each call by itself on the inputs of a real run (debug executor), repeated by time_evaluator"


def timed_calls(
    graph: Mapping[str, Any], debug: Any, compiled: Any, device: Any, budget: float
) -> Iterator[KernelTime]:
    """What each call of a run takes, in execution order.

    Parameters
    ----------
    graph
        The executor's graph JSON, read.
    debug
        The module of TVM's debug executor, its inputs set.
    compiled
        The module with the compiled functions.
    budget
        Seconds for all calls together.
    """
    calls = sum(node["op"] == "tvm_op" for node in graph["nodes"])
    for function, arguments in _calls(graph, debug):
        # a reshape that needs no copy is a call of nothing
        seconds = [0.0] if function == "__nop" else evaluated(compiled, function, arguments, device, budget / calls)
        yield KernelTime(function, seconds)


def _calls(graph: Mapping[str, Any], debug: Any) -> Iterator[tuple[str, list[Any]]]:
    """Run node after node: the function of each call, and the tensors that it reads and writes."""
    held: dict[tuple[int, int], Any] = {}
    readers = Counter((source, output) for node in graph["nodes"] for source, output, _ in node["inputs"])
    for place, node in enumerate(graph["nodes"]):
        debug["execute_node"](place)
        outputs = [(place, output) for output in range(int(node.get("attrs", {}).get("num_outputs", 1)))]
        held.update({entry: debug["get_node_output"](*entry) for entry in outputs})
        inputs = [(source, output) for source, output, _ in node["inputs"]]
        if node["op"] == "tvm_op":
            yield node["attrs"]["func_name"], [held[entry] for entry in (*inputs, *outputs)]
        for entry in inputs:
            readers[entry] -= 1
        # tensors that nobody reads any more need no memory
        for entry in {*inputs, *outputs}:
            if readers[entry] <= 0:
                del held[entry]
