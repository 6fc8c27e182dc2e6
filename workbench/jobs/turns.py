"""Jobs of a comparison of compilers: facts of a side; load a build, run it when its turn comes; and the outputs of ONNX's own evaluator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tvm

from workbench.dialects import arrays
from workbench.dialects.base import Workload
from workbench.dialects.compiler.inputs import plain_name, random_values
from workbench.dialects.compiler.running import Running
from workbench.dialects.importers.converting import needed, shapes
from workbench.dialects.importers.onnx_model import input_names, onnx_package, read
from workbench.errors import MeasureError, WorkbenchError, reason_of
from workbench.jobs.build import compiled, resolved_target
from workbench.jobs.run_build import repeatable_outputs, run_conditions
from workbench.measurement.row import device_of
from workbench.pipeline.config import Config, check_config
from workbench.worker.child import Progress

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
    outputs: str,
    progress: Progress,
) -> dict[str, object]:
    """Load a build for places in a round, anew each time, and return its conditions.

    `outputs`: the file for the outputs of one run; empty for none.
    """
    kept = compiled(workload, target, config, progress)
    progress("Loading")
    _loaded.clear()
    _loaded.update({place: kept.built.load(seed) for place in places})
    if outputs:
        running = kept.built.load(seed)
        found = repeatable_outputs(running) if device_of(kept.target) == "cpu" else running.outputs()
        arrays.save(outputs, {f"output{place}": array for place, array in enumerate(found)})
    return {**run_conditions(), "method": next((each.method for each in _loaded.values()), ""), "tvm": kept.built.tvm}


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

    Parameters
    ----------
    limits
        By `plain_name` of an input, the size of the dimension that it indexes.
    given
        The file of the values of inputs, by `plain_name`; other inputs are random.
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
