"""Passes run in a child process: one that loops is stopped, one that ends its process is a step that says so."""

from __future__ import annotations

import base64
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect_of
from workbench.errors import MeasureError, PipelineError, WorkerLost
from workbench.pipeline.apply import Applied
from workbench.pipeline.spec import PassStep, is_rewriter
from workbench.worker.parent import worker


def applied_in_child(
    workload: Workload, step: PassStep, opt_level: int, timeout: float, cancelled: Callable[[], bool]
) -> Applied:
    """Run a pass over a workload in the child that tries passes.

    Raises
    ------
    PipelineError
        The pass can't be handed to another process.
    WorkerLost
        It was cancelled.
    """
    pickled = "" if step.run is None else packed(step)
    with tempfile.TemporaryDirectory() as folder:
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
    """A function or a callback as text, its code and all that it uses.

    Raises
    ------
    PipelineError
        It is a Pass object or a callback, or holds something that lives in one process only.
    """
    # a Pass object may not be packed whole, and a callback's patterns would no longer be those that its own pattern is made of
    if hasattr(step.run, "info") or is_rewriter(step.run):
        raise PipelineError(
            f"{step.name} lives in one process; to run it in another, give its name or a function that makes and runs it"
        )
    try:
        import cloudpickle
    except ImportError:
        raise PipelineError("to run a function in a process of its own, `pip install cloudpickle`") from None
    home = sys.modules.get(getattr(type(step.run) if not hasattr(step.run, "__code__") else step.run, "__module__", ""))
    # the child can import what is installed, and nothing that stands beside a notebook
    by_value = home is not None and not _installed(home)
    try:
        if by_value:
            cloudpickle.register_pickle_by_value(home)
        return base64.b64encode(cloudpickle.dumps(step.run)).decode()
    except Exception as error:  # noqa: BLE001  what a person's object says when it can't be pickled is its own affair
        raise PipelineError(
            f"{step.name} can't be handed to another process ({error}); give its name, or a function that makes it"
        ) from None
    finally:
        if by_value and home is not None:
            cloudpickle.unregister_pickle_by_value(home)


def _installed(module: Any) -> bool:
    file = getattr(module, "__file__", None)
    return (
        module.__name__ == "__main__"
        or file is None
        or "site-packages" in file
        or module.__name__.startswith("workbench.")
    )
