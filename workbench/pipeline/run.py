"""Run a Pipeline on a Workload and keep the result of each pass, failures included.

A `Runner` remembers the result of each pass on each state, so switching one pass of a long pipeline runs only the passes
after it, and switching a pass that changed nothing runs none.
"""

from __future__ import annotations

import base64
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.dialects.base import SAFE_DEPTH, Workload, workload_of
from workbench.dialects.facets import Dialect
from workbench.dialects.registry import dialect_of
from workbench.dialects.trust import UNTRUSTED, allowed
from workbench.errors import (
    Cancelled,
    MeasureError,
    PipelineError,
    TooDeep,
    WorkbenchError,
    WorkerLost,
    check_level,
    reason_of,
    sentence,
    words,
)
from workbench.graph.model import After, Graph, depth
from workbench.pipeline.spec import BIND, PassStep, Pipeline, is_rewriter
from workbench.pipeline.step import State, Step
from workbench.pipeline.trace import Trace
from workbench.temporary import temporary_folder
from workbench.worker.limits import end_copies
from workbench.worker.parent import worker
from workbench.worker.progress import showing_progress

if TYPE_CHECKING:
    from tvm.ir import IRModule

ANY_LEVEL = 4
"the opt_level at which TVM runs every pass"
ASK_SECONDS = 60.0
"seconds for the passes that a Graph asks about"


def trace(
    workload: Workload,
    pipeline: Pipeline | str | Sequence[object] | None = None,
    opt_level: int = 3,
    *,
    isolated: bool = False,
    timeout: float | None = None,
) -> Trace:
    """Run a pipeline, one pass at a time.

    A pass that raises becomes a step with its error, and the passes after it run on the last good module. A pass whose
    own opt_level is above `opt_level` is skipped, as TVM's Sequential skips it.

    Parameters
    ----------
    pipeline
        A Pipeline, its text form, or a list of names, TVM Pass objects, DFPatternCallbacks and functions from IRModule to
        IRModule. A function gets a copy of the module, which it may change. By default the passes that a Workbench opens with.
    isolated
        Run each pass in a child process. A pass that ends its process, or takes longer than `timeout`, is then a step with
        that error, and a graph of any depth can be tried. The module is written and read twice for each pass.
    timeout
        Seconds for each pass, 60 if isolated; a value implies `isolated`.

    Raises
    ------
    UnknownName
        The dialect has no pass of a name; nothing is run.
    TooDeep
        TVM's passes would end the process on a graph of this depth, and they are not isolated.
    PipelineError
        A Pass object is to be isolated; only names and functions can be.

    Examples
    --------
    >>> w = wb.samples.load("parallel_cast")
    >>> t = wb.trace(w, "EliminateCommonSubexpr,FuseOps")
    >>> [(step.name, step.status) for step in t.steps]
    [('EliminateCommonSubexpr', 'changed'), ('FuseOps', 'same')]
    >>> t.steps[0].diff
    GraphDiff(kept 7, merged 2)
    """
    workload = workload_of(workload, "trace")
    seconds = 60.0 if isolated and timeout is None else timeout
    if pipeline is None:
        steps = default_pipeline(workload)
    else:
        steps = Pipeline([pipeline] if isinstance(pipeline, str) else pipeline)
    total = max(1, len(steps))
    with showing_progress(None, f"Running the passes of {workload.name}") as report:
        return Runner(workload, seconds).run(
            steps, opt_level, progress=lambda done: report(f"{done} of {total} done", done / total)
        )


def default_pipeline(workload: Workload) -> Pipeline:
    """Return the dialect's first preset, or the first that makes constants of the workload's parameters."""
    presets = [Pipeline.parse(preset.pipeline) for preset in dialect_of(workload).passes.presets()]
    return next((each for each in presets if workload.params and binds(each)), presets[0])


def binds(pipeline: Pipeline) -> bool:
    """Return whether a pipeline makes constants of parameters."""
    return any(step.enabled and step.name == BIND for step in pipeline)


@dataclass(frozen=True)
class Applied:
    """The result of running a pass."""

    status: str
    "changed, same, error or skipped"
    module: IRModule | None = None
    "if it changed"
    seconds: float = 0.0
    busy: float = 0.0
    "seconds of a processor, which other work on the machine does not change"
    error: str = ""
    "one sentence"
    detail: str = ""
    "the whole message, or the reason for a pass that was skipped or folded nothing"


def make_pass(dialect: Dialect, step: PassStep, params: Mapping[str, object]) -> object:
    """Return the Pass object or function of a step.

    Raises UnknownName or PipelineError: there is no such pass, or it does not take these options.
    """
    if step.run is not None:
        return step.run
    if step.name.startswith("<"):
        raise PipelineError(
            f"{step.name} is a Python function of another notebook; give the function itself in its place"
        )
    if step.name == BIND and not step.options:
        return partial(dialect.frontend.bind, params=params)
    return dialect.passes.make(step.name, step.options)


def applied(dialect: Dialect, run: object, module: object, opt_level: int, *, trusted: bool) -> Applied:
    """Run a pass and catch everything that it raises; the given module is not changed.

    `trusted`: whether the pass may compile and run kernels. A pass that may not, and changes nothing else, was
    skipped.
    """
    with allowed(trusted) as refused:
        found = _applied(dialect, run, module, opt_level)
    if not refused():
        return found
    if found.error and UNTRUSTED not in found.detail:
        return replace(found, error=f"{found.error}; {UNTRUSTED}")
    return replace(found, status="skipped" if found.module is None else found.status, error="", detail=UNTRUSTED)


def _applied(dialect: Dialect, run: object, module: object, opt_level: int) -> Applied:
    is_pass = dialect.passes.is_pass(run)
    if is_pass and dialect.passes.opt_level_of(run) > opt_level:
        level = dialect.passes.opt_level_of(run)
        return Applied("skipped", detail=f"TVM runs it from opt_level {level} on; this is {opt_level}")
    started, busy = time.perf_counter(), time.thread_time()
    try:
        with end_copies():
            result = dialect.passes.apply(run, module, opt_level) if is_pass else _called(dialect, run, module)
    except KeyboardInterrupt:
        raise
    except WorkbenchError as error:
        return Applied("error", None, time.perf_counter() - started, error=str(error), detail=str(error))
    except BaseException as error:  # noqa: BLE001  a pass is anybody's code, SystemExit too; its failure is this step's result
        return Applied("error", None, time.perf_counter() - started, error=sentence(error), detail=words(error))
    seconds, busy = time.perf_counter() - started, time.thread_time() - busy
    is_same = dialect.frontend.same(module, result)
    return Applied("same", None, seconds, busy) if is_same else Applied("changed", result, seconds, busy)


def _called(dialect: Dialect, run: object, module: object) -> IRModule:
    """Apply a function or a DFPatternCallback to a copy of the module."""
    mine = dialect.frontend.copy(module)
    with dialect.passes.diagnosed():
        result = run(mine) if callable(run) else dialect.passes.rewrite(run, mine)
    if not dialect.frontend.is_module(result):
        raise PipelineError(f"it returned a {type(result).__name__}; a pass returns an IRModule")
    return dialect.frontend.infer_types(result)


def applied_in_child(
    workload: Workload, step: PassStep, opt_level: int, timeout: float, cancelled: Callable[[], bool]
) -> Applied:
    """Run a pass on a workload in the child process that tries passes.

    Raises PipelineError: the pass can't be sent to another process. Raises WorkerLost: it was cancelled.
    """
    pickled = "" if step.run is None else packed(step)
    with temporary_folder() as folder:
        arguments = {
            "text": "" if pickled else step.text,
            "pickled": pickled,
            "opt_level": opt_level,
            "folder": folder,
        }
        try:
            found = worker("trials").run("apply", workload, arguments, timeout=timeout, cancelled=cancelled)
        except WorkerLost as error:
            if cancelled():
                raise
            return Applied("error", error=str(error), detail=str(error))
        except MeasureError as error:
            return Applied("error", error=str(error), detail=str(error))
        module = dialect_of(workload).frontend.restore(Path(folder)).module if found["status"] == "changed" else None
    return Applied(**{**found, "module": module})


def packed(step: PassStep) -> str:
    """Return a function or a callback as text, with its code and its dependencies.

    Raises PipelineError: it is a Pass object or a callback, or holds an object that exists in one process only.
    """
    # a Pass object may be pickled incompletely, and a callback's patterns would no longer be the parts of its own pattern
    if hasattr(step.run, "info") or is_rewriter(step.run):
        raise PipelineError(
            f"{step.name} lives in one process; to run it in another, give its name or a function that makes and runs it"
        )
    try:
        import cloudpickle
    except ImportError:
        raise PipelineError("to run a function in a process of its own, `pip install cloudpickle`") from None
    home = sys.modules.get(getattr(type(step.run) if not hasattr(step.run, "__code__") else step.run, "__module__", ""))
    file, name = getattr(home, "__file__", None), getattr(home, "__name__", "")
    is_installed = name == "__main__" or file is None or "site-packages" in file or name.startswith("workbench.")
    # the child can import installed packages, and not a file in the folder of a notebook
    by_value = home is not None and not is_installed
    try:
        if by_value:
            cloudpickle.register_pickle_by_value(home)
        return base64.b64encode(cloudpickle.dumps(step.run)).decode()
    except Exception as error:  # noqa: BLE001  an object may raise anything when it can't be pickled
        raise PipelineError(
            f"{step.name} can't be handed to another process ({error}); give its name, or a function that makes it"
        ) from None
    finally:
        if by_value and home is not None:
            cloudpickle.unregister_pickle_by_value(home)


class Runner:
    """A maker of traces of one workload; prefixes that they share run once."""

    MEMORY = 256
    "states kept; they share most of their nodes, so a state takes memory only for its changes"

    def __init__(self, workload: Workload, timeout: float | None = None, start: State | None = None) -> None:
        self.workload = workload
        self.timeout = timeout
        "seconds for a pass in a process of its own; None runs passes in this one"
        self.dialect = dialect_of(workload)
        self._steps: OrderedDict[tuple[object, ...], Step] = OrderedDict()
        self.start = start or State.of(workload)
        "the workload's state in another trace, if it is one; the traces made here continue that one"

    def run(
        self,
        pipeline: Pipeline,
        opt_level: int = 3,
        *,
        cancelled: Callable[[], bool] = lambda: False,
        progress: Callable[[int], None] = lambda _done: None,
    ) -> Trace:
        """Return the trace of a pipeline; `cancelled` is called between passes, `progress` with the number done."""
        check_level(opt_level)
        found = depth(self.start.graph)
        if found > SAFE_DEPTH and self.timeout is None:
            raise TooDeep(
                f"{self.workload.name} is {found} operators and functions deep, and TVM's passes end the process beyond about {SAFE_DEPTH}; "
                "trace a part of it, or with isolated=True"
            )
        passes = [make_pass(self.dialect, step, self.workload.params) if step.enabled else None for step in pipeline]
        steps: list[Step] = []
        state = self.start
        for step, run in zip(pipeline, passes, strict=True):
            if cancelled():
                raise Cancelled
            if run is None:
                steps.append(Step(step.text, state, state, "off", run=step.run))
            else:
                key = (state, step.run or step.text, opt_level, self.workload.trusted)
                # the same step as in the trace before, so its diff is reused if known
                steps.append(
                    self._remembered(key, lambda s=state, p=step, r=run: self._step(p, r, s, opt_level, cancelled))
                )
                if steps[-1].error and state.flaw:
                    first = next((step.name for step in steps if step.flaw), "")
                    wrong = f"its input is not well-formed since {first}" if first else "the program is not well-formed"
                    steps[-1] = replace(steps[-1], error=f"{steps[-1].error}; {wrong}: {state.flaw}")
                state = steps[-1].state_after
            progress(len(steps))
        return Trace(
            self.workload.name, self.workload.dialect, tuple(steps), self.start, opt_level, workload=self.workload
        )

    def workload_of(self, state: State) -> Workload:
        """Return a state of a trace as a workload of its own, the same object each time."""
        found = self.workload if state is self.start or state.workload is None else state.workload
        found.trusted = self.workload.trusted
        return found

    def _remembered(self, key: tuple[object, ...], make: Callable[[], Step]) -> Step:
        if key not in self._steps:
            self._steps[key] = make()
            if len(self._steps) > self.MEMORY:
                self._steps.popitem(last=False)
        self._steps.move_to_end(key)
        return self._steps[key]

    def _step(self, step: PassStep, run: object, state: State, opt_level: int, cancelled: Callable[[], bool]) -> Step:
        if self.timeout is None:
            found = applied(self.dialect, run, state.module, opt_level, trusted=self.workload.trusted)
        else:
            try:
                found = applied_in_child(self.workload_of(state), step, opt_level, self.timeout, cancelled)
            except WorkerLost:
                raise Cancelled from None
        after = state
        if found.module is not None:
            made = self.workload.of(found.module)
            # the graph of a trace knows those before it, and that of the workload is alone
            after = State.of(made, lambda: made.of(made.module).graph)
        results = (found.status, found.seconds, found.error, found.detail)
        return Step(step.text, state, after, *results, run=step.run, busy=found.busy)


def run_here(workload: Workload, passes: str) -> After:
    """Run passes, given as a Pipeline's text, in this process."""
    try:
        found = Runner(workload).run(Pipeline.parse(passes), ANY_LEVEL)
    except WorkbenchError as error:
        return After(workload.graph, failure=str(error))
    if found.failed is not None:
        return After(workload.graph, failure=found.failed.error)
    if any(step.detail == UNTRUSTED for step in found.steps):
        return After(workload.graph, failure=UNTRUSTED, tried=False)
    return After(workload.graph, found.end.graph)


def run_in_child(workload: Workload, graph: Graph, passes: str) -> After:
    """Run passes in the child process that tries passes."""
    not_tried = partial(After, graph, None, tried=False)
    if depth(graph) > SAFE_DEPTH:
        return not_tried(f"the graph is too deep for TVM, which ends its process beyond about {SAFE_DEPTH}")
    if BIND in passes.split(",") and not workload.params:
        return not_tried(f"{BIND} has no values; give them to wb.load(..., params=...)")
    child = worker("trials")
    try:
        child.written(workload)
    except Exception as error:  # noqa: BLE001  TVM raises errors of many classes here
        return not_tried(f"TVM cannot write this module for the child process ({reason_of(error)})")
    try:
        found = child.run("after", workload, {"passes": passes}, timeout=ASK_SECONDS)
    except WorkerLost as error:
        if error.status == "crashed":
            return After(graph, failure=str(error))
        within = f"within {ASK_SECONDS:g} s" if error.status == "timeout" else f"({error.status})"
        return not_tried(f"TVM did not answer {within}")
    except MeasureError as error:
        return After(graph, failure=str(error))
    after = found["graph"]
    return After(graph, None if after is None else Graph.from_data(after), found["failure"], found["tried"])
