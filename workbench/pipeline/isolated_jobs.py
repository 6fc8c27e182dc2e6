"""What the child process does for an isolated pass: runs it, and writes the module that it made."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect_of
from workbench.pipeline.apply import applied, made
from workbench.pipeline.spec import Pipeline

Progress = Callable[..., None]


def apply(
    workload: Workload, *, text: str, pickled: str, opt_level: int, folder: str, progress: Progress
) -> dict[str, Any]:
    """Run one pass, by its text or as its notebook packed it."""
    dialect = dialect_of(workload)
    if pickled:
        import cloudpickle

        # our own notebook sent it, over a connection with a key
        run = cloudpickle.loads(base64.b64decode(pickled))
    else:
        (step,) = Pipeline.parse(text)
        run = made(dialect, step, workload.params)
    progress("Running a pass")
    found = applied(dialect, run, workload.module, opt_level)
    if found.status == "changed":
        dialect.frontend.dump(Workload(found.module, {}, workload.name, workload.dialect), Path(folder))
    return {"status": found.status, "seconds": found.seconds, "error": found.error, "detail": found.detail}
