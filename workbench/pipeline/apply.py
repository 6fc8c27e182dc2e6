"""One pass over one module: what came of it, whatever the pass is and does."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from workbench.dialects.facets import Dialect
from workbench.errors import PipelineError, WorkbenchError, sentence, words
from workbench.pipeline.spec import PassStep, is_rewriter
from workbench.worker.limits import end_copies

BIND = "BindParams"
"without options, the one pass that takes what the module does not hold: the workload's parameters"


@dataclass(frozen=True)
class Applied:
    """What came of a pass."""

    status: str
    "changed, same, error or skipped"
    module: Any = None
    "if it changed"
    seconds: float = 0.0
    error: str = ""
    "one sentence"
    detail: str = ""
    "all that was said"


def made(dialect: Dialect, step: PassStep, params: Mapping[str, Any]) -> Any:
    """The Pass object or function that a step stands for.

    Raises
    ------
    UnknownName, PipelineError
        There is no such pass, or it does not take these options.
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


def applied(dialect: Dialect, run: Any, module: Any, opt_level: int) -> Applied:
    """Run a pass. Nothing that it raises gets out; the module that it is given stays as it is."""
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


def _called(dialect: Dialect, run: Any, module: Any) -> Any:
    """What a function or a DFPatternCallback makes of a copy of the module."""
    mine = dialect.frontend.copy(module)
    result = dialect.passes.rewrite(run, mine) if is_rewriter(run) else run(mine)
    if not dialect.frontend.is_module(result):
        raise PipelineError(f"it returned a {type(result).__name__}; a pass returns an IRModule")
    return dialect.frontend.infer_types(result)
