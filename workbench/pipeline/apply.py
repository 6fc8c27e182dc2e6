"""Run one pass of any kind on one module, and return the result, including failures."""

from __future__ import annotations

import base64
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.dialects.base import Workload
from workbench.dialects.facets import Dialect
from workbench.dialects.registry import dialect_of
from workbench.dialects.trust import UNTRUSTED, allowed
from workbench.errors import MeasureError, PipelineError, WorkbenchError, WorkerLost, sentence, words
from workbench.pipeline.spec import PassStep, Pipeline, is_rewriter
from workbench.temporary import temporary_folder
from workbench.worker.limits import end_copies
from workbench.worker.parent import worker

if TYPE_CHECKING:
    from tvm.ir import IRModule

BIND = "BindParams"
"without options, the only pass that takes something outside the module: the workload's parameters"


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
    started = time.perf_counter()
    try:
        with end_copies():
            result = dialect.passes.apply(run, module, opt_level) if is_pass else _called(dialect, run, module)
    except KeyboardInterrupt:
        raise
    except WorkbenchError as error:
        return Applied("error", None, time.perf_counter() - started, str(error), str(error))
    except BaseException as error:  # noqa: BLE001  a pass is anybody's code, SystemExit too; its failure is this step's result
        return Applied("error", None, time.perf_counter() - started, sentence(error), words(error))
    seconds = time.perf_counter() - started
    if dialect.frontend.same(module, result):
        return Applied("same", None, seconds)
    return Applied("changed", result, seconds)


def _called(dialect: Dialect, run: object, module: object) -> IRModule:
    """Apply a function or a DFPatternCallback to a copy of the module."""
    mine = dialect.frontend.copy(module)
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
    return Applied(found["status"], module, found["seconds"], found["error"], found["detail"])


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
