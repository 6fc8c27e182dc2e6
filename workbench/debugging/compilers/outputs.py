"""The outputs of both compilers and of ONNX's reference evaluator on the same inputs, and the first node where the imports part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.debugging.compilers.turns import Runner
from workbench.dialects import arrays
from workbench.dialects.base import Shapes
from workbench.dialects.compiler.inputs import plain_name
from workbench.errors import MeasureError, WorkbenchError
from workbench.pipeline.outputs import AS_IT_STANDS, OutputDifference, Wanted, difference
from workbench.wording import counted

if TYPE_CHECKING:
    import numpy as np

ONNX = "ONNX's reference evaluator"


@dataclass(frozen=True)
class OutputCheck:
    """Two outputs of the model, compared."""

    first: str
    second: str
    difference: OutputDifference | None = None
    reason: str = ""
    "of a check that was not made, or of outputs of two kinds"

    @property
    def same(self) -> bool | None:
        """True if all outputs are within the tolerance of their type; None if they were not compared."""
        return None if self.difference is None else self.difference.same

    def __str__(self) -> str:
        pair, found = f"{self.first} and {self.second}", self.difference
        if found is None:
            return f"the outputs of {pair} were not compared: {self.reason}"
        if found.same:
            return f"the outputs of {pair} agree, to {found.max_relative:.1e} of the largest value"
        return (
            f"the outputs of {pair} differ: {found.differing:,} of {found.elements:,} values, "
            f"by up to {found.max_relative:.2g} of the largest"
        )


def outputs_file(runner: Runner) -> Path:
    """Return the file with the outputs of a build."""
    return runner.folder / "outputs.npz"


def read_outputs(runner: Runner) -> list[np.ndarray]:
    """Run a build once and return its outputs; raises MeasureError if it does not run."""
    path = outputs_file(runner)
    runner.prepare(outputs=str(path))
    return list(arrays.load(path).values())


def reference_outputs(runner: Runner, path: Path, inputs: Shapes, limits: Mapping[str, int]) -> list[np.ndarray]:
    """Return the outputs of ONNX's reference evaluator, which runs in a child process of the runner's environment.

    Raises
    ------
    MeasureError
        The evaluator fails, or does not end in time.
    """
    file, given = runner.folder / "onnx.npz", runner.folder / "given.npz"
    arrays.save(str(given), {plain_name(name): value for name, value in runner.workload.inputs.items()})
    arguments = {
        "given": str(given),
        "path": str(path),
        "inputs": list(inputs.items()),
        "limits": limits,
        "seed": runner.seed,
    }
    runner.environment.worker("loads").run("onnx_outputs", None, {**arguments, "outputs": str(file)}, **runner.limits)
    return list(arrays.load(file).values())


def check_outputs(found: Mapping[str, list[np.ndarray] | str]) -> tuple[OutputCheck, ...]:
    """Compare outputs, each pair once.

    Parameters
    ----------
    found
        Name -> outputs, or the reason why there are none.
    """
    names = list(found)
    return tuple(_checked(first, second, found) for place, first in enumerate(names) for second in names[place + 1 :])


def _checked(first: str, second: str, found: Mapping[str, list[np.ndarray] | str]) -> OutputCheck:
    ours, theirs = found[first], found[second]
    if isinstance(ours, str) or isinstance(theirs, str):
        return OutputCheck(first, second, reason=ours if isinstance(ours, str) else str(theirs))
    try:
        return OutputCheck(first, second, difference(ours, theirs))
    except MeasureError as error:
        return OutputCheck(first, second, reason=str(error))


def where_they_part(runners: Sequence[Runner]) -> str:
    """Return a sentence: the first node of the model whose values differ between the imported programs, or what differs instead.

    A pass of a build is the cause only if the outputs of the imported programs, which no pass has changed, agree.
    """
    try:
        ours, theirs = (_node_values(runner) for runner in runners)
    except WorkbenchError as error:
        said = f"cannot be compared node by node ({error})"
    else:
        common = [name for name in ours if name in theirs and ours[name].shape == theirs[name].shape]
        for name in common:
            if not _same_value(ours[name], theirs[name]):
                return f"the imported programs part at the node {name}, before any pass"
        said = f"agree at each of {counted(len(common), 'node')} that both have" if common else "have no node in common"
    try:
        outputs = [list(_values(runner, "repeatable outputs").values()) for runner in runners]
        same = difference(outputs[0], outputs[1]).same
    except WorkbenchError as error:
        return f"the imported programs {said}, and their outputs were not compared: {error}"
    if not same:
        return f"the imported programs {said}, and their outputs differ before any pass: an importer is the cause"
    return (
        f"the imported programs {said}, and their outputs agree, so a pass of a build is the cause: "
        "wb.bisect(wb.load(path), 'wrong') finds it"
    )


def _same_value(ours: np.ndarray, theirs: np.ndarray) -> bool:
    """Compare values of types that may differ: integers in the wider type, others in the narrower one."""
    kinds = sorted((ours.dtype, theirs.dtype), key=lambda dtype: dtype.itemsize)
    dtype = kinds[-1 if all(kind.kind in "biu" for kind in kinds) else 0]
    return difference([ours.astype(dtype)], [theirs.astype(dtype)]).same


def _node_values(runner: Runner) -> dict[str, np.ndarray]:
    """Return the value of each node of the model in the imported program, in order."""
    graph, found = runner.workload.graph, dict[str, "np.ndarray"]()
    for name, value in _values(runner, "nodes").items():
        # of several operators that a node became, the last one has its value
        found |= dict.fromkeys(graph.nodes[int(name.removeprefix("node"))].source, value)
    return found


def _values(runner: Runner, wanted: Wanted) -> dict[str, np.ndarray]:
    """Run the imported program as it is, and return the values of its nodes, or its outputs."""
    path = runner.folder / "values.npz"
    asked = {"config": AS_IT_STANDS.to_data(), "seed": runner.seed, "path": str(path), "kept": None, "wanted": wanted}
    runner.environment.worker().run("values", runner.workload, asked, **runner.limits)
    return arrays.load(path)
