"""`wb.compare_outputs`: compare the outputs of two programs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from workbench.dialects import arrays
from workbench.dialects.base import Workload, workload_of
from workbench.dialects.compiler.inputs import Inputs, with_inputs
from workbench.errors import MeasureError
from workbench.pipeline.config import Config
from workbench.temporary import temporary_folder
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import JobOptions, Progress, Worker, worker
from workbench.worker.progress import showing_progress

if TYPE_CHECKING:
    from typing_extensions import Unpack

TOLERANCE = {
    "float64": 1e-9,
    "float32": 1e-4,
    "float16": 1e-2,
    "bfloat16": 5e-2,
    "float8_e4m3fn": 0.15,
    "float8_e5m2": 0.3,
}
"relative to the largest value of the output; integers and truth values must be equal"

Wanted = Literal["outputs", "repeatable outputs", "nodes"]
AS_IT_STANDS = Config(pipeline="as it stands").context()


@dataclass(frozen=True)
class OutputDifference:
    """The difference between the outputs of two programs."""

    same: bool
    "every output within the tolerance of its type"
    max_absolute: float
    max_relative: float
    "the largest difference over the largest magnitude of that output"
    worst: int
    "place of the output with the largest relative difference"
    differing: int
    "elements that differ at all"
    elements: int

    def __bool__(self) -> bool:
        return self.same

    def __str__(self) -> str:
        if self.same and not self.differing:
            return f"all {self.elements:,} values are equal"
        return f"{self.differing:,} of {self.elements:,} values differ, by up to {self.max_relative:.2g} of the largest"


def compare_outputs(
    first: Workload,
    second: Workload,
    *,
    inputs: Inputs | None = None,
    seed: int = 0,
    timeout: float = TIMEOUT,
    progress: Progress | None = None,
) -> OutputDifference:
    """Run both programs on the same random inputs and compare their outputs.

    Both are compiled as they are: at opt level 0 and without SimplifyExpr and FoldConstant, which run even at that level and
    would hide their own errors.

    Parameters
    ----------
    inputs
        Arrays by the name of the input, `{"ids": array}`; of a tuple a tuple of arrays. The other inputs are random.

    Raises
    ------
    MeasureError
        One of them does not compile or run, or their outputs have other shapes or types.

    Examples
    --------
    >>> w = wb.samples.load("parallel_cast")
    >>> after = wb.load(wb.trace(w, "EliminateCommonSubexpr").result)
    >>> found = wb.compare_outputs(w, after)
    >>> found.same, found.elements
    (True, 16)
    """
    first, second = workload_of(first, "compare_outputs"), workload_of(second, "compare_outputs")
    if first.dialect != second.dialect:
        raise MeasureError(
            f"{first.name} is {first.dialect} and {second.name} is {second.dialect}; compare within a dialect"
        )
    first, second = with_inputs(first, inputs), with_inputs(second, inputs)
    with showing_progress(progress, f"Running {first.name} and {second.name}") as report:
        pair = _with_same_limits(first, second)
        ours, theirs = (
            run_once(each, wanted="repeatable outputs", seed=seed, timeout=timeout, progress=report) for each in pair
        )
    return difference(ours.outputs, theirs.outputs)


def _with_same_limits(first: Workload, second: Workload) -> tuple[Workload, Workload]:
    """Return both with the limits of both, since an indexing operator may already be lowered in one of them."""
    # for a picture without a module this raises its own error
    _ = first.module, second.module
    ours, theirs = first.limits, second.limits
    if ours == theirs:
        return first, second
    both = {
        name: min(ours.get(name, theirs.get(name, 0)), theirs.get(name, ours.get(name, 0))) for name in {*ours, *theirs}
    }
    return replace(first, known_limits=both), replace(second, known_limits=both)


@dataclass(frozen=True)
class Values:
    """Values of one run."""

    outputs: list[np.ndarray]
    nodes: dict[int, np.ndarray]
    "values of nodes of the graph, if requested and available"


def run_once(
    workload: Workload,
    *,
    kept: tuple[str, int] | None = None,
    wanted: Wanted = "outputs",
    seed: int = 0,
    child: Worker | None = None,
    **limits: Unpack[JobOptions],
) -> Values:
    """Compile a module as it is and run it once with seeded random inputs, in the child process.

    `kept`: a module that the child keeps, instead of the workload's own. Raises MeasureError: it does not compile or run;
    NotRepeatable if it gives other outputs each run, and `wanted` are repeatable ones.
    """
    with temporary_folder() as folder:
        path = Path(folder) / "values.npz"
        asked = {"config": AS_IT_STANDS.to_data(), "seed": seed, "path": str(path), "kept": kept, "wanted": wanted}
        (child or worker()).run("values", workload, asked, **limits)
        values = arrays.load(path)
    outputs = [array for name, array in values.items() if name.startswith("output")]
    found = {int(name.removeprefix("node")): array for name, array in values.items() if name.startswith("node")}
    return Values(outputs, found)


def difference(ours: list[np.ndarray], theirs: list[np.ndarray]) -> OutputDifference:
    """Compare arrays of equal shapes and types, pair by pair.

    Raises MeasureError: their number, shapes or types differ.
    """
    kinds = [[f"{a.shape} {a.dtype}" for a in arrays] for arrays in (ours, theirs)]
    if kinds[0] != kinds[1]:
        raise MeasureError(f"the outputs are not of one kind: {', '.join(kinds[0])} against {', '.join(kinds[1])}")
    rows = [_one(a, b) for a, b in zip(ours, theirs, strict=True)]
    worst = max(range(len(rows)), key=lambda place: rows[place][2], default=0)
    return OutputDifference(
        same=all(row[0] for row in rows),
        max_absolute=max((row[1] for row in rows), default=0.0),
        max_relative=max((row[2] for row in rows), default=0.0),
        worst=worst,
        differing=sum(row[3] for row in rows),
        elements=sum(a.size for a in ours),
    )


def _one(a: np.ndarray, b: np.ndarray) -> tuple[bool, float, float, int]:
    if a.dtype.kind in "biu":
        return _integers(a, b)
    tolerance = TOLERANCE.get(str(a.dtype), 0.0)
    wide_a, wide_b = a.astype("float64"), b.astype("float64")
    # a NaN or an infinity equals only itself
    odd = ~(np.isfinite(wide_a) & np.isfinite(wide_b))
    odd_differ = odd & ~((wide_a == wide_b) | (np.isnan(wide_a) & np.isnan(wide_b)))
    gap = np.abs(np.where(odd, 0.0, wide_a) - np.where(odd, 0.0, wide_b))
    scale = float(np.max(np.abs(np.where(odd, 0.0, wide_a)), initial=0.0)) or 1.0
    largest = float(np.max(gap, initial=0.0))
    if odd_differ.any():
        return False, float("inf"), float("inf"), int(np.count_nonzero(odd_differ | (gap > 0)))
    return largest <= tolerance * scale, largest, largest / scale, int(np.count_nonzero(gap))


def _integers(a: np.ndarray, b: np.ndarray) -> tuple[bool, float, float, int]:
    """Compare integers exactly: in float64, 2**53 + 1 is 2**53."""
    # the difference of two 64-bit integers has no 64-bit sign, and wraps around to its size in uint64
    gap = np.maximum(a, b).astype("uint64") - np.minimum(a, b).astype("uint64")
    scale = max(abs(int(a.max(initial=0))), abs(int(a.min(initial=0)))) or 1
    largest = int(gap.max(initial=0))
    return largest == 0, float(largest), largest / scale, int(np.count_nonzero(gap))
