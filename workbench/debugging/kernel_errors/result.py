"""`wb.kernel_errors`: the error of each kernel of a build by itself, apart from the error of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any

from workbench.dialects.base import Workload, workload_of
from workbench.dialects.compiler.inputs import Inputs, with_inputs
from workbench.errors import MeasureError, UnknownName
from workbench.graph.model import Graph
from workbench.measurement.kernels import Kernels, from_result
from workbench.measurement.overlay import Overlay, overlaid
from workbench.pipeline.config import Config, check_config
from workbench.pipeline.outputs import OutputDifference
from workbench.pipeline.spec import Pipeline
from workbench.target_text import TargetLike, target_text
from workbench.terminal import html_table, visible
from workbench.wording import counted
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import JobOptions, Progress, never, worker
from workbench.worker.progress import showing_progress

if TYPE_CHECKING:
    import pandas as pd

ERRORS = ("own", "inherited", "whole")
LISTED = 5
"kernels in the text of a result"


@dataclass(frozen=True)
class KernelError:
    """The errors of one call of a kernel. A relative error is over the largest magnitude of the values."""

    index: int
    "of the call, as in `wb.kernels`"
    kernel: str
    "the compiled function"
    operators: tuple[str, ...]
    nodes: tuple[int, ...]
    "ids in `KernelErrors.graph`"
    own: OutputDifference | None
    "of the kernel on the reference's values of its inputs; None if the reference does not have its value"
    inherited: OutputDifference | None
    "of its inputs in the run, the largest; None if the reference has none of them, or they come from outside"
    whole: OutputDifference | None
    "of its output in the run"
    reference: str = ""
    "the operator of the reference with the same value"
    scale: float | None = None
    "of a quantised output: its errors are then of the real numbers that the integers represent"
    includes: tuple[int, ...] = ()
    "earlier calls whose values the reference does not have: its own error includes theirs"
    note: str = ""
    "the reason why it is not compared, or the kernels whose errors it includes"

    def row(self) -> dict[str, object]:
        """Return the columns of the table."""
        figures: dict[str, object] = {}
        for name in ERRORS:
            found: OutputDifference | None = getattr(self, name)
            figures[name] = None if found is None else found.max_relative
            figures[f"{name}_abs"] = None if found is None else found.max_absolute
        head = {"index": self.index, "kernel": self.kernel, "operators": " ".join(self.operators)}
        same = None if self.own is None else self.own.same
        rest = {"reference": self.reference, "scale": self.scale, "nodes": self.nodes, "includes": self.includes}
        return {**head, **figures, "same": same, **rest, "note": self.note}


@dataclass(frozen=True)
class KernelErrors:
    """The errors of the kernels of a build, in execution order."""

    rows: tuple[KernelError, ...] = field(repr=False)
    kernels: Kernels
    "the build"
    values: int
    "tensors that the reference computes"
    kept: int
    "the most of them that were kept at once"

    @property
    def graph(self) -> Graph:
        """The module that was compiled: a kernel is a group around the operators it computes."""
        return self.kernels.graph

    @property
    def wrong(self) -> tuple[KernelError, ...]:
        """The kernels with an error of their own beyond the tolerance of `wb.compare_outputs`, in execution order."""
        return tuple(row for row in self.rows if row.own is not None and not row.own.same)

    def worst(self, n: int = LISTED) -> tuple[KernelError, ...]:
        """Return the n kernels with the largest relative error of their own, the largest first."""
        known = [(row.own.max_relative, row) for row in self.rows if row.own is not None]
        return tuple(row for _, row in sorted(known, key=lambda each: -each[0])[:n])

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row for each kernel: `own`, `inherited` and `whole` are relative to the largest value, `_abs` absolute."""
        import pandas as pd

        return pd.DataFrame([row.row() for row in self.rows])

    def overlay(self, what: str = "own", *, onto: Graph | None = None) -> Overlay:
        """Return the relative error of each kernel, for `GraphView.overlay`.

        Parameters
        ----------
        what
            "own", "inherited" or "whole".
        onto
            The graph to which the ids belong, as in `wb.overlay_of`.

        Raises
        ------
        UnknownName
            Another `what`.
        """
        if what not in ERRORS:
            raise UnknownName("error of a kernel", what, ERRORS)
        found = {row.index: getattr(row, what) for row in self.rows}
        errors = {index: each.max_relative for index, each in found.items() if each is not None}
        # a page takes no infinity
        top = max((error for error in errors.values() if isfinite(error)), default=0.0)
        values = {index: error if isfinite(error) else max(top, 1.0) for index, error in errors.items()}
        return overlaid(f"{what} error", "of the largest value", values, self.kernels, onto, max)

    def __str__(self) -> str:
        lines = [self._sentence()]
        for row in self.worst():
            if row.own is not None and row.own.max_absolute:
                inherited = 0.0 if row.inherited is None else row.inherited.max_relative
                several = f", with that of calls {', '.join(map(str, row.includes))}" if row.includes else ""
                errors = f"own {row.own.max_relative:.2g}{several}, inherited {inherited:.2g}"
                lines.append(f"  {row.kernel} (call {row.index}): {errors}")
        return visible("\n".join(lines))

    def _sentence(self) -> str:
        unknown = sum(row.own is None for row in self.rows)
        rest = f"; {unknown} not compared" if unknown else ""
        return f"{len(self.wrong)} of {counted(len(self.rows), 'kernel')} with an error of its own{rest}"

    def _repr_html_(self) -> str:
        hidden = ("nodes", "includes", "own_abs", "inherited_abs", "whole_abs")
        rows = ({name: value for name, value in row.row().items() if name not in hidden} for row in self.rows)
        return html_table(self._sentence(), rows)


def kernel_errors(
    workload: Workload,
    config: Config | Pipeline | Mapping[str, Any] | str | int | None = None,
    target: TargetLike = "llvm",
    *,
    reference: Workload | None = None,
    inputs: Inputs | None = None,
    seed: int = 0,
    timeout: float = TIMEOUT,
    memory: int | None = None,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = never,
) -> KernelErrors:
    """Run each kernel of a build on the values that its inputs should have, and compare its output with the right value.

    The right values are those of a build at opt level 0, in which each operator is a kernel. A tensor of the build is the
    tensor of the reference that `wb.diff` pairs with it, pass by pass; of several candidates, the nearest to the kernel's output.
    Both builds run once, in a child process, and a value is dropped after its last use. Errors of quantised values are of the
    real numbers, and a difference of one step is rounding.

    Parameters
    ----------
    config
        A Config, or a part of one: an opt level, a pipeline or its text, a dict of fields; opt level 3 by default.
    target
        As `wb.kernels` takes it.
    reference
        The program whose values are right, such as the one before a rewrite, on the same inputs; by default the workload.
    inputs
        As `wb.measure` takes them.
    seed
        Of the random inputs.
    memory
        Bytes that the child process may hold; nine tenths of the free memory by default.

    Raises
    ------
    MeasureError, WorkerLost
        A build or a run failed, or ended its process.

    Examples
    --------
    >>> found = wb.kernel_errors(wb.samples.load("parallel_cast"))
    >>> len(found.rows), found.wrong
    (5, ())
    """
    workload = with_inputs(workload_of(workload, "kernel_errors"), inputs)
    how = Config.of({} if config is None else config)
    check_config(workload, how)
    right = workload if reference is None else workload_of(reference, "reference= of kernel_errors")
    if right.dialect != workload.dialect:
        raise MeasureError(
            f"{workload.name} is {workload.dialect} and the reference {right.name} is {right.dialect}; give one of the same dialect"
        )
    with showing_progress(progress, f"Comparing the kernels of {workload.name}") as report:
        arguments = {
            "target": target_text(target),
            "config": how.to_data(),
            "reference": str(worker().written(right)),
            "trusted": workload.trusted and right.trusted,
            "seed": seed,
        }
        limits: JobOptions = {"timeout": timeout, "memory": memory, "progress": report, "cancelled": cancelled}
        return _result(worker().run("kernel_errors", workload, arguments, **limits), how)


def _result(answer: Mapping[str, Any], how: Config) -> KernelErrors:
    kernels = from_result(answer, how)
    graph = kernels.graph
    rows = []
    for found in answer["errors"]:
        call = kernels.rows[found["index"]]
        nodes = tuple(call["nodes"])
        errors = {name: None if found[name] is None else OutputDifference(**found[name]) for name in ERRORS}
        operators = tuple(graph.nodes[id].op for id in nodes if graph.nodes[id].kind == "op")
        note, names = found["note"], (f"{kernels.rows[at]['function']} (call {at})" for at in found["includes"])
        if found["includes"] and not note:
            note = f"its own error includes that of {', '.join(names)}, whose value the reference does not have"
        rest = {"reference": found["reference"], "scale": found["scale"], "includes": tuple(found["includes"])}
        rows.append(KernelError(call["index"], call["function"], operators, nodes, **errors, **rest, note=note))
    return KernelErrors(tuple(rows), kernels, answer["values"], answer["kept"])
