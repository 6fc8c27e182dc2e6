"""Relay to a graph, and to a picture: ours beside TVM's own relay_viz on the same module, interleaved."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.bar import Bar, show

ROOT = Path(__file__).parents[1]
PICTURE_SECONDS = 60


def interleaved(first: Callable[[], Any], second: Callable[[], Any], repeats: int = 11) -> tuple[float, float]:
    """Median CPU seconds of each, taken in turn so that a slow moment hits both."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for into, work in zip(times, (first, second), strict=True):
            started = time.process_time()
            work()
            into.append(time.process_time() - started)
    return statistics.median(times[0]), statistics.median(times[1])


def main() -> None:
    os.environ["TOPHUB_LOCATION"] = "NONE"
    if sys.argv[1:] == ["peer-picture"]:
        peer_picture()
    else:
        show(rows())


def rows() -> Iterator[Bar]:
    from tvm.contrib import relay_viz  # pyright: ignore[reportAttributeAccessIssue]

    import workbench as wb
    from workbench.dialects.registry import dialect
    from workbench.graph.diff import diff
    from workbench.widgets.payload import encode_graph

    class Nothing(relay_viz.interface.Plotter):
        """Takes the parsed graph and draws nothing: what is left is relay_viz's parse."""

        def create_graph(self, name: str) -> Any:  # noqa: ARG002
            return self

        def node(self, *fields: Any) -> None: ...
        def edge(self, *fields: Any) -> None: ...
        def render(self, filename: str) -> None: ...

    w = wb.samples.load("bert")
    relay = dialect("relay").frontend
    ours, peer = interleaved(
        lambda: relay.graph(w.module, "bert"), lambda: relay_viz.RelayVisualizer(w.module, plotter=Nothing())
    )
    graph = w.graph
    what = f"bert, 12 layers ({len(graph.nodes)} nodes)"
    yield Bar(f"{what}: Relay to graph", ours * 1e3, "ms", "relay_viz parse", peer * 1e3, "no slower", ours <= peer)
    started = time.perf_counter()
    encode_graph(relay.graph(w.module, "bert"))
    encoded = time.perf_counter() - started
    drawn, note = timed_peer_picture()
    yield Bar(
        f"{what}: Relay to the page's payload",
        encoded,
        "s",
        "relay_viz + dot",
        drawn,
        "under 1 s with the paint",
        encoded < 1,
        note,
    )
    started = time.perf_counter()
    for _ in range(10):
        diff(graph, graph)
    same = (time.perf_counter() - started) / 10
    yield Bar(f"{what}: diff with itself", same * 1e3, "ms", bar="under 100 ms", met=same < 0.1)
    for step in wb.trace(w, ["SimplifyInference", alter_op_layout, "ToMixedPrecision"]).steps:
        seconds = diff_seconds(step)
        name = step.name.strip("<>")
        yield Bar(f"{what}: diff across {name}", seconds * 1e3, "ms", bar="under 100 ms", met=seconds < 0.1)


def alter_op_layout(module: Any) -> Any:
    """TVM picks the layouts for a target."""
    import tvm

    with tvm.target.Target("llvm -mcpu=skylake-avx512"):
        return tvm.relay.transform.AlterOpLayout()(tvm.relay.transform.InferType()(module))


def diff_seconds(step: Any, repeats: int = 7) -> float:
    """Median CPU seconds of the diff of a step that changed something; each run meets new graphs, with nothing remembered."""
    from workbench.graph.diff import diff
    from workbench.graph.model import Graph

    assert step.status == "changed", step
    times = []
    for _ in range(repeats):
        before, after = Graph.from_json(step.before.to_json()), Graph.from_json(step.after.to_json())
        started = time.process_time()
        diff(before, after)
        times.append(time.process_time() - started)
    return statistics.median(times)


def timed_peer_picture() -> tuple[float | None, str]:
    """Seconds that relay_viz and Graphviz take, or why there is no figure."""
    command = [sys.executable, "-m", "benchmarks.extraction", "peer-picture"]
    begun = time.perf_counter()
    # a session of its own: `dot` is a grandchild, and would outlive a child that is killed alone
    peer = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        status = peer.wait(PICTURE_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(peer.pid, signal.SIGKILL)
        peer.wait()
        return None, f"relay_viz with Graphviz did not finish in {PICTURE_SECONDS} s"
    return (time.perf_counter() - begun, "") if status == 0 else (None, f"relay_viz ended with status {status}")


def peer_picture() -> None:
    """relay_viz's own way to a picture of the same module."""
    import tempfile

    from tvm.contrib import relay_viz  # pyright: ignore[reportAttributeAccessIssue]

    import workbench as wb

    w = wb.samples.load("bert")
    with tempfile.TemporaryDirectory() as folder:
        relay_viz.RelayVisualizer(w.module, plotter=relay_viz.DotPlotter()).render(f"{folder}/bert")


if __name__ == "__main__":
    main()
