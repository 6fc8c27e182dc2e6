"""The first minute with an own model: a Workbench on an ONNX file in a warm process, its tabs, and what its child processes hold.

Each run is a process of its own, without Jupyter, in which a Workbench on a sample was used before, as a kernel that is warm. It
makes another by `wb.Workbench(path)`, sets the trait that the page sets on a click, and waits for the traits that the page
draws. A tab is filled when its rows are complete.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bar import Bar, show

RUNS = 3
SECONDS = 120.0
"longest wait for one thing on the page"
PAGE = (("memory", 1.0), ("ablation", 2.0), ("waterfall", 1.0))
"tabs, and the bar of each in seconds"


def write_model(path: Path, seed: int = 0) -> None:
    """Write a network of 60 operators: convolutions, batch norms, branches that join, matmuls."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(seed)
    nodes: list[Any] = []
    weights: list[Any] = []

    def weight(*shape: int) -> str:
        name = f"w{len(weights)}"
        values = rng.standard_normal(shape) * 0.1 if len(shape) > 1 else rng.random(shape) + 0.5
        weights.append(numpy_helper.from_array(values.astype("float32"), name))
        return name

    def add(op: str, *inputs: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(op, inputs, [f"v{len(nodes)}"], name=f"{op}_{len(nodes)}", **attributes))
        return nodes[-1].output[0]

    def conv(value: str, inner: int, outer: int, size: int = 3, relu: bool = True) -> str:
        value = add("Conv", value, weight(outer, inner, size, size), pads=[size // 2] * 4)
        value = add("BatchNormalization", value, *(weight(outer) for _ in range(4)))
        return add("Relu", value) if relu else value

    value = conv("x", 3, 16)
    for _ in range(5):
        left, right = conv(conv(value, 16, 16), 16, 16, relu=False), conv(value, 16, 16, 1, relu=False)
        value = add("Relu", add("Add", left, right))
    value = add("Flatten", add("GlobalAveragePool", value))
    for _ in range(3):
        value = add("Relu", add("Add", add("MatMul", value, weight(16, 16)), weight(16)))
    value = add("Softmax", value)
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 32, 32])
    made = helper.make_tensor_value_info(value, TensorProto.FLOAT, [1, 16])
    graph = helper.make_graph(nodes, "own", [given], [made], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), str(path))


def own_minute(path: Path) -> dict[str, float]:
    """Return the seconds of each thing on the page, and the bytes of the child processes, in this process."""
    import workbench as wb

    assert wb.Workbench(wb.samples.load("mlp")).wait(SECONDS)
    found: dict[str, float] = {}
    begun = time.perf_counter()
    view = wb.Workbench(str(path))
    found["made"] = time.perf_counter() - begun
    found["first picture"] = wait(begun, lambda: bool(view.after))
    found["picture after the passes"] = wait(
        begun, lambda: view.state.get("counts", {}).get("after_kernels") is not None
    )
    found["build's count"] = wait(begun, lambda: "kernels" in view.state.get("build", {}))
    assert view.wait(SECONDS)
    found["measured"] = time.perf_counter() - begun
    for name, _ in PAGE:
        # as the page sends it
        clicked = time.perf_counter()
        view.set_state({"tab": name})
        found[name] = wait(clicked, lambda name=name: is_filled(view, name))
        assert view.wait(SECONDS)
    found["bytes"] = sum(proportional(pid) for pid in below(os.getpid()))
    return found


def is_filled(view: Any, name: str) -> bool:
    """Return whether a tab has all that it shows of its own accord."""
    if name == "memory":
        return bool(view.plans)
    panel = view.panels[name]
    return bool(panel.rows) and panel.finished and getattr(view, panel.trait)[0].get("kind") != "words"


def wait(begun: float, done: Callable[[], bool]) -> float:
    """Return the seconds from `begun` until it is done."""
    while not done():
        if time.perf_counter() - begun > SECONDS:
            raise TimeoutError("the page does not have it")
        time.sleep(0.005)
    return time.perf_counter() - begun


def below(pid: int) -> list[int]:
    """Return the ids of all processes below one."""
    children = [
        int(child) for task in Path(f"/proc/{pid}/task").glob("*/children") for child in task.read_text().split()
    ]
    return [*children, *(each for child in children for each in below(child))]


def proportional(pid: int) -> int:
    """Return the bytes of a process, a page that n processes share counted as its nth part."""
    line = next(line for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines() if line.startswith("Pss:"))
    return int(line.split()[1]) * 1024


def rows() -> Iterator[Bar]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "own.onnx")
        write_model(path)
        runs: list[dict[str, float]] = []
        for _ in range(RUNS):
            made = subprocess.run(
                [sys.executable, "-m", "benchmarks.first_minute", str(path)],
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            runs.append(json.loads(made.stdout.splitlines()[-1]))
    found = {name: statistics.median(run[name] for run in runs) for name in runs[0]}

    def row(what: str, name: str, most: float | None, unit: str = "s", scale: float = 1.0) -> Bar:
        each = ", ".join(f"{run[name] / scale:.2f}" for run in runs)
        bar, ours = "" if most is None else f"at most {most:g} {unit}", found[name] / scale
        return Bar(
            f"own ONNX of 60 operators: {what}",
            ours,
            unit,
            bar=bar,
            met=None if most is None else ours <= most,
            note=each,
        )

    yield row("first picture", "first picture", 1.0)
    yield row("picture after all passes", "picture after the passes", None)
    yield row("the build's kernels", "build's count", 2.0)
    yield row("measured", "measured", None)
    for name, most in PAGE:
        yield row(f"{name} tab filled after the click", name, most)
    yield row("all child processes, shared pages once", "bytes", 400.0, "MB", 1e6)


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(own_minute(Path(sys.argv[1]))))
    else:
        show(rows())
