"""A Trace: the list of graphs that a pipeline makes, and the changes from each to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError
from workbench.graph.changes import GraphDiff
from workbench.graph.diff import diff
from workbench.pipeline.step import Step, Steps
from workbench.terminal import html_table
from workbench.wording import counted
from workbench.worker.limits import TIMEOUT

if TYPE_CHECKING:
    from tvm.ir import IRModule

    from workbench.dialects.compiler.inputs import Inputs
    from workbench.pipeline.checks import Checks, StepCheck
    from workbench.pipeline.lineage import Lineage


@dataclass(frozen=True, eq=False)
class Trace(Steps):
    """The steps of a pipeline on a workload.

    Examples
    --------
    >>> w = wb.samples.load("parallel_cast")
    >>> import tempfile
    >>> path = wb.trace(w, "EliminateCommonSubexpr").save(tempfile.mkdtemp() + "/casts.wbtrace")
    >>> t = wb.Trace.open(path)
    >>> t.steps[0].name, t.steps[0].status
    ('EliminateCommonSubexpr', 'changed')
    """

    @property
    def result(self) -> IRModule:
        """The module after the last pass.

        Raises
        ------
        WorkbenchError
            The trace has graphs and text only: it was opened from a file, or the compiler ran in the child process.
        """
        if self.end.module is None:
            raise WorkbenchError("this trace holds graphs and text, no modules; run wb.trace to get a module")
        return self.end.module

    @cached_property
    def diff(self) -> GraphDiff:
        """The changes of the whole pipeline to the graph: each node is followed from step to step."""
        return diff(self.start.graph, self.end.graph)

    def lineage(self, step: int | Step, node: int, side: str = "after") -> Lineage:
        """Follow one node through the trace: its origin, the nodes that it became, and the kernel that it ended in.

        Parameters
        ----------
        step
            A step of this trace or its place in `steps`.
        node
            Id of a node of the step's graph.
        side
            The graph of the node, `after` or `before` the step.

        Raises
        ------
        WorkbenchError
            There is no such step or node.
        """
        from workbench.pipeline.lineage import lineage

        return lineage(self, self.step(step).state_before if side == "before" else self.step(step).state_after, node)

    def check(
        self,
        steps: int | Iterable[int] | None = None,
        *,
        inputs: Inputs | None = None,
        seed: int = 0,
        timeout: float = TIMEOUT,
        progress: Callable[[StepCheck], None] | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Checks:
        """Check that no pass changed the outputs: run the modules before and after each step on the same random inputs.

        Both are compiled as they are, at opt level 0 and without SimplifyExpr and FoldConstant, which run even at that level. A
        step that changed nothing is not run. If the outputs differ, the result has the first node that differs.

        Parameters
        ----------
        steps
            Places of the steps to check; by default all.
        inputs
            Arrays by the name of the input, `{"ids": array}`; of a tuple a tuple of arrays. The other inputs are random.
        progress
            Called with each checked step; by default progress is shown in the cell or the terminal after a second.

        Raises
        ------
        WorkbenchError
            The trace was opened from a file, so it holds no modules.
        """
        from workbench.pipeline.checks import check

        return check(self, steps, inputs=inputs, seed=seed, timeout=timeout, progress=progress, cancelled=cancelled)

    def code(self) -> str:
        """Return Python that repeats this trace, as the text of a module.

        It needs TVM alone, unless the trace has passes of ours, such as CutFusion, which it imports. The module of a pipeline
        has a function `transformed(mod, params)`, whose result is structurally equal to `result`; that of a build has
        `built(mod, params)`, and `optimized`, the graph-level part of it.
        """
        from workbench.pipeline.codegen import code

        return code(self)

    def save(self, path: str | Path) -> Path:
        """Write the trace to a file, by convention `.wbtrace`, with the graphs and texts of all states but no modules.

        Raises
        ------
        WorkbenchError
            The suffix is that of a page or a picture, or the file cannot be written.
        """
        if Path(path).suffix.lower() in (".html", ".svg", ".pdf", ".png"):
            raise WorkbenchError(
                f"a trace is saved as .wbtrace, not as {Path(path).name!r}; wb.PassStepper(trace).save writes a page"
            )
        from workbench.pipeline.trace_file import save

        return save(self, path)

    @classmethod
    def open(cls, path: str | Path) -> Trace:
        """Read a saved trace; needs no TVM.

        Raises
        ------
        LoadError
            The file is not a trace, or is of an unknown version, damaged or truncated.
        """
        from workbench.pipeline.trace_file import load

        return load(path, cls)

    def __repr__(self) -> str:
        changed = sum(step.changed for step in self.steps)
        return f"Trace({self.name!r}: {counted(len(self.steps), 'step')}, {changed} changed the module)"

    def _repr_html_(self) -> str:
        rows = (
            {
                "step": place,
                "pass": step.name,
                "result": step.error or (step.flaw and f"not well-formed: {step.flaw}") or step.status,
                "ms": step.seconds * 1e3,
            }
            for place, step in enumerate(self.steps)
        )
        return html_table(repr(self), rows)
