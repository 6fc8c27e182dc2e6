"""What the child process does for `wb.measure` and `wb.race`: builds, runs, checks and times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import tvm

from workbench.dialects import arrays
from workbench.dialects.base import Workload
from workbench.dialects.facets import Running
from workbench.errors import MeasureError
from workbench.measure.kernels.counting import counted
from workbench.measure.kernels.per_kernel import kernel_rows
from workbench.measure.timing import builds
from workbench.measure.timing.sampling import HEATS, TURNS, Run, interleave, sample, turns
from workbench.pipeline.outputs import AS_IT_STANDS, difference
from workbench.process.backend import built_here
from workbench.process.cuda_probe import gpu, look

Progress = Callable[..., None]
RACE_METHOD = f"in turn, in one process, loaded anew {HEATS} times"
KERNELS_SHARE = 1.0
"of the budget: what timing the kernels one by one may take beside timing the whole"


def build(workload: Workload, *, target: str, config: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Compile and count, and keep the build for the run that follows."""
    kept = builds.compiled(workload, target, config, progress)
    # the graph and what else is large is for those who look at one build
    return {
        "target": kept.target,
        "build_seconds": kept.seconds,
        "calls": counted(kept.built, workload)["calls"],
    }


def run(
    workload: Workload,
    *,
    target: str,
    config: Mapping[str, Any],
    budget: float,
    seed: int,
    reference: str | None,
    per_kernel: bool,
    progress: Progress,
) -> dict[str, Any]:
    """Run what was built, with random inputs: compare its outputs, and time it until the spread settles.

    Parameters
    ----------
    reference
        The file with the outputs that it should have; None to compare nothing.
    """
    kept = builds.compiled(workload, target, config, progress)
    progress("Loading")
    running = kept.built.load(seed)
    calls = counted(kept.built, workload)["calls"] if per_kernel else None
    return observed(running, calls, budget, reference, progress, seen_here)


def observed(
    running: Running,
    calls: Sequence[Mapping[str, Any]] | None,
    budget: float,
    reference: str | None,
    progress: Progress,
    seen: Callable[[], Mapping[str, Any]],
) -> dict[str, Any]:
    """Compare the outputs of what is loaded, wherever it runs, and time it.

    Parameters
    ----------
    calls
        The build's, to time each by itself too; None to time the whole only.
    seen
        Is asked for the conditions right after the whole was timed.
    """
    checked = {} if reference is None else compare(running, reference, progress)
    progress("Timing", 0.0)
    times = sample(running.run, budget, lambda fraction: progress("Timing", fraction))
    answer = {**checked, **times, "method": running.method, **seen()}
    if calls is not None:
        progress("Timing kernels")
        rows = kernel_rows(calls, running.kernels(budget * KERNELS_SHARE))
        answer |= {"per_kernel": rows, "kernel_method": running.kernel_method}
    return answer


def seen_here() -> dict[str, Any]:
    """What only the process that ran it can say, just after it did: TVM's threads, the GPU's clock."""
    found = gpu()
    threads = int(tvm.runtime.num_threads())
    return {"threads": threads, "gpu_clock_mhz": None if found is None else found.clock_mhz}


def compare(running: Running, reference: str, progress: Progress) -> dict[str, Any]:
    """What one run gives, against the reference's outputs; others in number, shape or type are wrong too."""
    progress("Checking outputs")
    expected = list(arrays.load(reference).values())
    try:
        found = difference(running.outputs(), expected)
    except MeasureError as error:
        return {"same": False, "said": str(error), "max_abs_error": None, "max_rel_error": None}
    said = f"{found.differing:,} of {found.elements:,} values differ, by up to {found.max_relative:.2g} of the largest"
    return {
        "same": found.same,
        "said": said,
        "max_abs_error": found.max_absolute,
        "max_rel_error": found.max_relative,
    }


def reference(workload: Workload, *, seed: int, path: str, progress: Progress) -> dict[str, Any]:
    """Build for this CPU with as little optimisation as there is, run once, and write the outputs to a file."""
    progress("Building the reference")
    built = built_here(workload, AS_IT_STANDS.to_data())
    progress("Running the reference")
    outputs = built.load(seed).outputs()
    arrays.save(path, {f"output{place}": array for place, array in enumerate(outputs)})
    return {}


def race(
    workload: Workload,
    *,
    target: str,
    configs: Sequence[Mapping[str, Any]],
    budget: float,
    seed: int,
    reference: str | None,
    progress: Progress,
) -> dict[str, Any]:
    """Build two configurations and run them in turn, the first one twice, loaded anew a few times."""
    kept = [builds.compiled(workload, target, config, progress) for config in configs]
    checks = [{} if reference is None else compare(each.built.load(seed), reference, progress) for each in kept]
    progress("Racing", 0.0)

    def load(heat: int) -> list[Run]:
        loaded = {place: kept[TURNS[place]].built.load(seed) for place in turns(heat)}
        return [loaded[place].run for place in range(len(TURNS))]

    times = interleave(load, budget, lambda fraction: progress("Racing", fraction))
    return {**times, "checks": checks, "target": kept[0].target, "method": RACE_METHOD}


def cuda(workload: Workload, *, progress: Progress) -> dict[str, Any]:
    """What CUDA there is here, as CudaFacts' fields."""
    del workload
    progress("Looking for a GPU")
    built = tvm.get_global_func("device_api.cuda", allow_missing=True) is not None
    return asdict(look(built, built and bool(tvm.cuda(0).exist)))
