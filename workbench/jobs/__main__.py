"""The program of a child process: `python -m workbench.jobs PID`, with the process id of the notebook."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from workbench.worker import supervisor


def find_job(name: str) -> Callable[..., object]:
    """Return the function of a job. A name with a colon, `module:function`, is a job of the tests."""
    if ":" in name:
        module, _, function = name.partition(":")
        return getattr(importlib.import_module(module), function)
    # imported by the first job, because TVM takes seconds to import
    from workbench.jobs.table import JOBS

    return JOBS[name]


def serve() -> None:
    """Run the child process; the supervisor calls this in its fork."""
    from workbench.worker import child

    child.serve(find_job)


if __name__ == "__main__":
    supervisor.main(serve)
