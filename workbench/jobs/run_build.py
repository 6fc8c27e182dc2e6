"""Jobs that run a build on this machine: time it, race it against another here or in another process, write outputs.

The outputs are also those of the reference, and of ONNX's own evaluator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import tvm

from workbench import samples
from workbench.analysis.index_limits import indexes
from workbench.dialects import arrays
from workbench.dialects.base import Workload, choose_entry
from workbench.dialects.compiler.built import device_of as local_device
from workbench.dialects.compiler.inputs import plain_name, random_values
from workbench.dialects.compiler.running import KernelTime, Running
from workbench.dialects.importers.converting import needed, shapes
from workbench.dialects.importers.onnx_model import input_names, onnx_package, read
from workbench.dialects.trust import allowed
from workbench.errors import MeasureError, NotRepeatable, WorkbenchError, reason_of
from workbench.jobs.build import built_here, compiled, compiler_of, counted, program_of, resolved_target
from workbench.measurement.build_and_time import RaceRequest, TimeRequest
from workbench.measurement.repeats import HEATS, TURNS, Run, interleave, sample, turns
from workbench.measurement.row import device_of
from workbench.pipeline.config import AS_IS, Config, check_config
from workbench.pipeline.outputs import AS_IT_STANDS, difference
from workbench.worker.child import Progress
from workbench.worker.cuda import gpu, look

SHORT = 0.1
"seconds of a run in which every kernel is tried with other memory beside its inputs"
RACE_METHOD = f"in turn, in one process, loaded anew {HEATS} times"


def run(workload: Workload, *, progress: Progress, **asked: Any) -> dict[str, object]:
    """Run a build on random inputs (a TimeRequest): compare its outputs, and time it until the spread settles."""
    request = TimeRequest(**asked)
    kept = compiled(workload, request.target, request.config, progress)
    progress("Loading")
    running = kept.built.load(request.seed)
    calls = counted(kept.built, workload)["calls"] if request.per_kernel else None
    return observed(running, calls, request, progress, run_conditions)


def observed(
    running: Running,
    calls: Sequence[Mapping[str, object]] | None,
    request: TimeRequest,
    progress: Progress,
    seen: Callable[[], Mapping[str, object]],
) -> dict[str, object]:
    """Compare the outputs of a loaded build, wherever it runs, and time it.

    `calls`: the build's, to time each separately too. `seen` returns the conditions, right after the whole was timed.
    """
    checked = compare(running, request.reference, progress)
    progress("Timing", 0.0)
    times = sample(running.run, request.budget, lambda fraction: progress("Timing", fraction))
    answer = {**checked, **times, "method": running.method, **seen()}
    if calls is not None:
        answer |= _kernels(running, calls, request.budget, progress)
    return answer


def kernel_times(
    workload: Workload, *, target: str, config: Mapping[str, object], budget: float, seed: int, progress: Progress
) -> dict[str, object]:
    """Run a build on random inputs, and time its kernels one by one for so many seconds, the whole not at all."""
    kept = compiled(workload, target, config, progress)
    progress("Loading")
    return _kernels(kept.built.load(seed), counted(kept.built, workload)["calls"], budget, progress)


def _kernels(
    running: Running, calls: Sequence[Mapping[str, object]], budget: float, progress: Progress
) -> dict[str, object]:
    progress("Timing kernels")
    return {"per_kernel": kernel_rows(calls, running.kernels(budget)), "kernel_method": running.kernel_method}


def run_conditions() -> dict[str, object]:
    """Return the conditions that only the running process knows: TVM's threads, the GPU's clock."""
    found = gpu()
    threads = int(tvm.runtime.num_threads())
    return {"threads": threads, "gpu_clock_mhz": None if found is None else found.clock_mhz}


def compare(running: Running, reference: str | None, progress: Progress) -> dict[str, object]:
    """Compare the outputs of one run with those in the file of the reference; another number, shape or type of outputs is wrong too."""
    if reference is None:
        return {}
    progress("Checking outputs")
    expected = list(arrays.load(reference).values())
    try:
        found = difference(running.outputs(), expected)
    except MeasureError as error:
        return {"same": False, "said": str(error), "max_abs_error": None, "max_rel_error": None}
    return {
        "same": found.same,
        "said": str(found),
        "max_abs_error": found.max_absolute,
        "max_rel_error": found.max_relative,
    }


def check(
    workload: Workload,
    *,
    target: str,
    config: Mapping[str, object],
    seed: int,
    reference: str | None,
    progress: Progress,
) -> dict[str, object]:
    """Build, run once on random inputs, and compare the outputs with the reference's, if there is one."""
    kept = compiled(workload, target, config, progress)
    progress("Running")
    running = kept.built.load(seed)
    if reference is None:
        running.outputs()
    return compare(running, reference, progress)


def outputs(
    workload: Workload,
    *,
    config: Mapping[str, object],
    runs: Sequence[tuple[int, Mapping[str, int]]],
    path: str,
    progress: Progress,
) -> dict[str, object]:
    """Build once for this CPU without optimisation, and write the outputs of runs to a file, each with a seed and sizes of dimensions.

    An array's name is the run's place with that of the output, `0.1`. Returns the errors of the runs that have none.
    """
    progress("Compiling")
    built = built_here(workload, config)
    found: dict[str, np.ndarray] = {}
    refused: dict[str, str] = {}
    for place, (seed, sizes) in enumerate(runs):
        progress(f"Running ({place + 1} of {len(runs)})", place / len(runs))
        try:
            sized = choose_entry(built.workload, shapes=sizes)
            running = built.compiler.running(sized, built.library, local_device(built.target), seed)
            values = repeatable_outputs(running)
        except Exception as error:  # noqa: BLE001  TVM raises errors of many classes for sizes that a program does not take
            refused[str(place)] = reason_of(error)
            continue
        found.update({f"{place}.{output}": array for output, array in enumerate(values)})
    arrays.save(path, found)
    return {"refused": refused}


def reference(workload: Workload, *, seed: int, path: str, progress: Progress) -> dict[str, object]:
    """Build for this CPU with the least optimisation, run once, and write the outputs to a file."""
    progress("Building the reference")
    built = built_here(workload, AS_IT_STANDS.to_data())
    progress("Running the reference")
    outputs = repeatable_outputs(built.load(seed))
    arrays.save(path, {f"output{place}": array for place, array in enumerate(outputs)})
    return {}


def repeatable_outputs(running: Running) -> list[np.ndarray]:
    """Return the outputs of a run on this CPU.

    Kernels of indexing operators are also tried with other memory beside their inputs, and all kernels of a short run. Raises
    NotRepeatable: a second run gives others, or a kernel reads memory outside of its tensors.
    """
    started = perf_counter()
    outputs = running.outputs()
    is_short = perf_counter() - started < SHORT
    outside = next(
        (each.function for each in running.calls() if (is_short or indexes(each.function)) and each.reads_outside()), ""
    )
    if outside:
        raise NotRepeatable(
            f"this program differs from itself: its outputs depend on memory that is not its own, which the kernel {outside} "
            "reads beside its inputs"
        )
    again = running.outputs()
    if any(ours.tobytes() != theirs.tobytes() for ours, theirs in zip(outputs, again, strict=True)):
        raise NotRepeatable("this program differs from itself: two runs on the same inputs give other outputs")
    return outputs


def race(workload: Workload, *, progress: Progress, **asked: Any) -> dict[str, object]:
    """Build two configurations (a RaceRequest) and run them in turn, the first one twice, and load them several times."""
    request = RaceRequest(**asked)
    kept = [compiled(workload, request.target, config, progress) for config in request.configs]
    checks = [compare(each.built.load(request.seed), request.reference, progress) for each in kept]
    progress("Racing", 0.0)

    def load(heat: int) -> list[Run]:
        loaded = {place: kept[TURNS[place]].built.load(request.seed) for place in turns(heat)}
        return [loaded[place].run for place in range(len(TURNS))]

    times = interleave(load, request.budget, lambda fraction: progress("Racing", fraction))
    return {**times, "checks": checks, "target": kept[0].target, "method": RACE_METHOD}


def cuda(workload: Workload, *, progress: Progress) -> dict[str, object]:
    """Return the facts about CUDA here, as the fields of CudaFacts."""
    del workload
    progress("Looking for a GPU")
    built = tvm.get_global_func("device_api.cuda", allow_missing=True) is not None
    return asdict(look(built, built and bool(tvm.cuda(0).exist)))


def kernel_rows(calls: Sequence[Mapping[str, object]], times: Iterable[KernelTime]) -> list[dict[str, object]]:
    """Return one row for each timed call: `index` of the call, `name`, `function`, `op`, `median_us`, `share` of all time.

    Both come in execution order. Calls that run nothing are left out; a time whose call is not in the table (an arm of an
    `if` that ran twice) has no index.
    """
    rows: list[tuple[float, dict[str, object]]] = []
    place = 0
    for time in times:
        index = next((i for i in range(place, len(calls)) if calls[i]["function"] == time.function), None)
        if index is not None:
            place = index + 1
        call = {} if index is None else calls[index]
        if call.get("noop"):
            continue
        name = call.get("name", time.function)
        row = {"index": index, "name": name, "function": time.function, "op": call.get("op")}
        rows.append((median(time.samples) * 1e6, row))
    total = sum(us for us, _ in rows)
    return [{**row, "median_us": us, "share": us / total if total else 0.0} for us, row in rows]


LENGTHS = (4, 36, 132)
"kernels of the chains"
ELEMENTS = 64
"of a value: the work of a kernel must be small against the call"


def chains(*, dialect: str, target: str, rows: int, budget: float, progress: Progress) -> dict[str, object]:
    """Build chains of element-wise kernels on 256 bytes, none fused, and time each.

    `rows`: the rows of the values, which TVM's schedules spread over threads. Returns `calls` (kernels of each chain), `samples`
    (seconds of one run, a list for each chain), and `parallel` (whether the kernels start threads of TVM's pool).
    """
    config = Config(opt_level=0, disabled=AS_IS if dialect == "relay" else ()).to_data()
    calls, timed, parallel = [], [], False
    for place, length in enumerate(LENGTHS):
        progress(f"Timing a chain of {length} kernels", place / len(LENGTHS))
        chain = samples.load("chain", dialect=dialect, length=length, rows=rows, width=ELEMENTS // rows)
        with allowed(chain.trusted):
            kept = compiled(chain, target, config, progress)
            timed.append(sample(kept.built.load(0).run, budget)["samples"])
        calls.append(len(counted(kept.built, chain)["calls"]))
        parallel = "ParallelLaunch" in kept.built.source()
    return {"calls": calls, "samples": timed, "parallel": parallel}


COMPLETE = 19
"the opset from which ONNX's reference evaluator has DequantizeLinear"
LONG = 0.1
"seconds of a run in which it does not matter that the caches are cold"
_loaded: dict[int, Running] = {}
"by the place in a round of the race"


def side(workload: Workload, *, target: str, config: Mapping[str, object], progress: Progress) -> dict[str, str]:
    """Return the version of TVM, the target in full, and why this TVM refuses the configuration; empty if it does not."""
    progress("Looking at the machine")
    refused = ""
    try:
        check_config(workload, Config.of(config))
    except WorkbenchError as error:
        refused = str(error)
    return {"tvm": str(tvm.__version__), "target": resolved_target(target), "refused": refused}


def prepare(
    workload: Workload,
    *,
    target: str,
    config: Mapping[str, object],
    seed: int,
    places: Sequence[int],
    files: Sequence[str],
    progress: Progress,
) -> dict[str, object]:
    """Load a build for places in a round, anew each time, and return its conditions; write the outputs of one run to a file, if one is named.

    `files`: paths of the outputs, empty for none, and of the library. With the outputs the library is written, if TVM finds a linker. All
    places are loaded from it where it is, so that a process that has no build makes none.
    """
    outputs, library = files
    _loaded.clear()
    if Path(library).is_file() and not outputs:
        progress("Loading")
        program = program_of(workload, Config.of(config), progress)
        module, device = tvm.runtime.load_module(library), local_device(target)
        _loaded.update({place: compiler_of(workload).running(program, module, device, seed) for place in places})
    else:
        kept = compiled(workload, target, config, progress)
        progress("Loading")
        _loaded.update({place: kept.built.load(seed) for place in places})
        if outputs:
            running, is_cpu = kept.built.load(seed), device_of(kept.target) == "cpu"
            found = repeatable_outputs(running) if is_cpu else running.outputs()
            arrays.save(outputs, {f"output{place}": array for place, array in enumerate(found)})
            if is_cpu:
                with suppress(Exception):  # TVM raises errors of many kinds without a linker
                    kept.built.export(Path(library))
    return {**run_conditions(), "method": next((each.method for each in _loaded.values()), "")}


def turn(*, place: int, number: int, progress: Progress) -> float:
    """Run a loaded build and return the mean seconds of a run.

    The first runs are not timed, unless they are long: another process had the caches and the cores.
    """
    del progress
    first = _loaded[place].run(max(1, number // 5))
    return first if first > LONG else _loaded[place].run(number)


def _inference(model: Any, base: type) -> list[type]:
    """Return the batch normalisation of a model that is not trained: up to opset 13 ONNX's evaluator mixes the batch's statistics in."""

    class BatchNormalization(base):
        op_domain = ""

        def _run(
            self,
            x: np.ndarray,
            scale: np.ndarray,
            bias: np.ndarray,
            mean: np.ndarray,
            var: np.ndarray,
            epsilon: float,
            **_: object,
        ) -> tuple[np.ndarray]:
            scale, bias, mean, var = (each.reshape(-1, *[1] * (x.ndim - 2)) for each in (scale, bias, mean, var))
            return ((scale * (x - mean) / np.sqrt(var + epsilon) + bias).astype(x.dtype),)

    for node in model.graph.node:
        trains = len(node.output) > 1 or any(each.name == "training_mode" and each.i for each in node.attribute)
        if node.op_type == "BatchNormalization" and trains:
            return []
    return [BatchNormalization]


def onnx_outputs(
    *,
    path: str,
    inputs: Sequence[tuple[str, Sequence[int]]],
    limits: Mapping[str, int],
    given: str,
    seed: int,
    outputs: str,
    progress: Progress,
) -> dict[str, object]:
    """Run ONNX's reference evaluator on the inputs that builds get, and write the outputs to a file.

    By `plain_name` of an input, `limits` has the size of the dimension that it indexes, and the file `given` values; others are random.
    """
    progress("Running ONNX's reference evaluator")
    model, onnx = read(Path(path)), onnx_package()
    names = input_names(model)
    sizes, values, fed = shapes(dict(inputs), names), arrays.load(given), {}
    for value in model.graph.input:
        if value.name not in names:
            continue
        kind = value.type.tensor_type
        shape = sizes.get(value.name) or [each.dim_value for each in kind.shape.dim]
        dtype = str(onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type))
        below = limits.get(plain_name(value.name)) if "int" in dtype else None
        known = values.get(plain_name(value.name))
        fed[value.name] = random_values(value.name, shape, dtype, seed, below) if known is None else known
    reference = needed("onnx.reference", "onnx", "the outputs of ONNX's reference evaluator")
    evaluate = partial(reference.ReferenceEvaluator, new_ops=_inference(model, reference.op_run.OpRun))
    try:
        try:
            found = evaluate(model).run(None, fed)
        except RuntimeError as error:
            if not str(error).startswith("No implementation"):
                raise
            raised = needed("onnx.version_converter", "onnx", "a newer opset").convert_version(model, COMPLETE)
            found = evaluate(raised).run(None, fed)
    except Exception as error:
        raise MeasureError(f"ONNX's reference evaluator failed: {reason_of(error)}") from error
    arrays.save(outputs, {f"output{place}": array for place, array in enumerate(found)})
    return {}
