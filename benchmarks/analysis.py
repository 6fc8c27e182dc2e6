"""Dominators and regions of 50,000 nodes beside networkx; the fusion mirror on BERT beside TVM's own pass."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.bar import Bar, show
from benchmarks.synthetic import transformer
from workbench.graph.model import Graph

NODES = 50_000


def median(work: Callable[[], Any], repeats: int = 7) -> float:
    """Median CPU seconds."""
    times = []
    for _ in range(repeats):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return statistics.median(times)


def main() -> None:
    os.environ["TOPHUB_LOCATION"] = "NONE"
    show(bar for part in (dominance, fusion) for bar in part())


def dominance() -> Iterator[Bar]:
    import networkx as nx

    import workbench as wb

    graph = transformer(NODES)
    reverse = nx.DiGraph([(edge.target, edge.source) for edge in graph.edges])
    reverse.add_edges_from((-1, node) for node, users in enumerate(graph.consumers) if not users)
    ours = median(lambda: graph.post_dominators())
    peer = median(lambda: nx.immediate_dominators(reverse, -1), 3)

    def everything() -> None:
        fresh = Graph(graph.nodes, graph.edges, graph.groups, graph.outputs, graph.name, graph.dialect)
        fresh.dominators()
        list(wb.regions(fresh))

    what = f"{len(graph.nodes)} nodes"
    name = "networkx, Cooper-Harvey-Kennedy"
    yield Bar(f"{what}: post-dominators", ours, "s", name, peer, "no slower", ours <= peer)
    yield Bar(f"{what}: dominators and every region", t := median(everything, 3), "s", bar="under 1 s", met=t < 1)


def fusion() -> Iterator[Bar]:
    from tvm import relay

    import workbench as wb

    steps = wb.trace(wb.samples.load("bert"), "SimplifyInference,FuseOps").steps
    graph, module = steps[0].after, steps[0].state_after.module
    kernels = steps[1].after.kernel_count
    assert len(wb.explain_fusion(graph).kernels) == kernels
    groups = median(lambda: wb.explain_fusion(graph).groups)
    reasons = median(lambda: [d.sentence for d in wb.explain_fusion(graph).decisions])
    peer = median(lambda: relay.transform.FuseOps(2)(module))
    what = f"bert, 12 layers ({len(graph.nodes)} nodes, {kernels} kernels)"
    yield Bar(f"{what}: fused groups", groups * 1e3, "ms", "TVM's FuseOps", peer * 1e3, "under 20 ms", groups < 0.02)
    yield Bar(f"{what}: with all reasons as sentences", reasons * 1e3, "ms", bar="under 50 ms", met=reasons < 0.05)


if __name__ == "__main__":
    main()
