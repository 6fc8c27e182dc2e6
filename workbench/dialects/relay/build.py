"""Building and timing Relay workloads. Runs in the child process only: a build can end the process it runs in."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_executor

from workbench.dialects.base import Workload
from workbench.dialects.relay.dialect import DIALECT
from workbench.errors import MeasureError, UnknownName
from workbench.graph.json import to_data
from workbench.measure.host import mcpu
from workbench.measure.sampling import sample

Progress = Callable[..., None]


def resolved_target(text: str) -> str:
    """The target string that is really used: for plain `llvm`, with this host's `-mcpu`."""
    if text.split()[0] == "llvm" and "-mcpu" not in text and "-mtriple" not in text:
        cpu = mcpu(tvm.target.codegen.llvm_get_system_cpu())
        return f"{text} -mcpu={cpu}" if cpu else text
    return text


def _context(config: Mapping[str, Any]) -> tvm.transform.PassContext:
    known = tvm.transform.PassContext.list_configs()
    for key in config["options"]:
        if key not in known:
            raise UnknownName("PassContext config of this TVM", key, known)
    return tvm.transform.PassContext(
        opt_level=config["opt_level"],
        disabled_pass=list(config["disabled"]),
        required_pass=list(config["required"]),
        config=dict(config["options"]),
    )


def _build(workload: Workload, target: str, config: Mapping[str, Any], progress: Progress) -> Any:
    progress("Compiling")
    with _context(config):
        return relay.build(workload.module, target=target, params=workload.params)


def job_optimize(workload: Workload, *, target: str, config: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """The graph-level part of the compiler's own pipeline: the graph it hands to code generation, and its text."""
    progress("Optimizing")
    with _context(config):
        module, _ = relay.optimize(workload.module, target=resolved_target(target), params=workload.params)
    module = DIALECT.typed(module)
    return {"graph": to_data(DIALECT.graph(module, workload.name)), "text": DIALECT.text(module)}


def job_kernels(workload: Workload, *, target: str, config: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Compile and count: one row a call, in execution order, and the generated source."""
    target = resolved_target(target)
    started = time.perf_counter()
    library = _build(workload, target, config, progress)
    return {**_counted(library, target), "build_seconds": time.perf_counter() - started}


def job_time(
    workload: Workload, *, target: str, config: Mapping[str, Any], budget: float, seed: int, progress: Progress
) -> dict[str, Any]:
    """Compile, count, and run with random inputs until the spread settles or `budget` seconds are spent."""
    target = resolved_target(target)
    started = time.perf_counter()
    library = _build(workload, target, config, progress)
    built = time.perf_counter() - started
    device = tvm.device(target.split()[0], 0)
    if not device.exist:
        raise MeasureError(f"there is no {target.split()[0]} device here, so nothing was timed")
    executor = graph_executor.GraphModule(library["default"](device))
    for name, value in random_inputs(workload, seed).items():
        executor.set_input(name, value)

    def run(number: int) -> float:
        return float(executor.module.time_evaluator("run", device, number=number, repeat=1)().results[0])

    progress("Timing", 0.0)
    timing = sample(run, budget, lambda fraction: progress("Timing", fraction))
    return {**_counted(library, target), **timing, "build_seconds": built, "method": "graph executor, time_evaluator"}


def _counted(library: Any, target: str) -> dict[str, Any]:
    graph = json.loads(library.get_graph_json())
    return {
        "target": target,
        "tvm": tvm.__version__,
        "threads": tvm.runtime.num_threads(),
        "calls": call_rows(graph),
        "source": library.get_lib().get_source(),
    }


def call_rows(graph: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row a call of the executor's graph JSON, in execution order.

    A call of `__nop` (a reshape that needs no copy) is a row with `noop` true; it launches nothing.
    """
    shapes, types = graph["attrs"]["shape"][1], graph["attrs"]["dltype"][1]
    first = graph["node_row_ptr"]

    def described(entry: int) -> dict[str, Any]:
        size = int(np.prod(shapes[entry], dtype=np.int64)) * -(-tvm.DataType(types[entry]).bits // 8)
        return {"shape": shapes[entry], "dtype": types[entry], "bytes": size}

    rows = []
    for place, node in enumerate(graph["nodes"]):
        if node["op"] != "tvm_op":
            continue
        inputs = [described(first[source] + output) for source, output, _ in node["inputs"]]
        outputs = [described(entry) for entry in range(first[place], first[place] + int(node["attrs"]["num_outputs"]))]
        function = node["attrs"]["func_name"]
        rows.append(
            {
                "name": node["name"],
                "function": function,
                "noop": function == "__nop",
                "bytes_read": sum(i["bytes"] for i in inputs),
                "bytes_written": sum(o["bytes"] for o in outputs),
                "inputs": [f"{tuple(i['shape'])} {i['dtype']}" for i in inputs],
                "outputs": [f"{tuple(o['shape'])} {o['dtype']}" for o in outputs],
            }
        )
    return rows


def random_inputs(workload: Workload, seed: int) -> dict[str, np.ndarray]:
    """Seeded values for every parameter of `main` that has no array: small integers, or floats in [-1, 1)."""
    random = np.random.default_rng(seed)
    found = {}
    for variable in workload.module["main"].params:
        if variable.name_hint in workload.params:
            continue
        type = variable.checked_type
        if not isinstance(type, relay.TensorType) or not all(isinstance(d, tvm.tir.IntImm) for d in type.shape):
            raise MeasureError(f"the input {variable.name_hint} has type {type}; only tensors of known shape can be filled and timed")
        shape = [int(d) for d in type.shape]
        if type.dtype.startswith(("int", "uint")):
            found[variable.name_hint] = random.integers(0, 3, shape).astype(type.dtype)
        else:
            found[variable.name_hint] = random.uniform(-1, 1, shape).astype(type.dtype)
    return found
