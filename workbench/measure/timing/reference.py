"""The outputs that every configuration of a workload should have, computed once.

The reference is built for this CPU at opt level 0 and without SimplifyExpr, SimplifyExprPostAlterOp and FoldConstant, which
run even there and would hide their own errors.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workbench.dialects.base import Workload
from workbench.errors import MeasureError
from workbench.worker.parent import worker

_found: weakref.WeakKeyDictionary[Workload, dict[int, Path | str]] = weakref.WeakKeyDictionary()
_root: list[Path] = []
_making = threading.Lock()
"several devices ask for the same one at the same time"


def reference(workload: Workload, seed: int, **limits: Any) -> tuple[Path | None, str]:
    """The file with the outputs for a seed's random inputs; or None, and why there is none.

    Parameters
    ----------
    limits
        As `Worker.run` takes them.

    Raises
    ------
    WorkerLost
        It was cancelled.
    """
    with _making:
        known = _found.setdefault(workload, {})
        if seed not in known:
            known[seed] = _made(workload, seed, limits)
        found = known[seed]
    return (None, found) if isinstance(found, str) else (found, "")


def _made(workload: Workload, seed: int, limits: dict[str, Any]) -> Path | str:
    path = _folder() / f"{id(workload)}-{seed}.npz"
    try:
        worker().run("reference", workload, {"seed": seed, "path": str(path)}, **limits)
    except MeasureError as error:
        cancelled: Callable[[], bool] = limits.get("cancelled", bool)
        if cancelled():
            raise
        # it would fail again, and take as long again
        return f"the reference cannot be had: {error}"
    weakref.finalize(workload, path.unlink, missing_ok=True)
    return path


def _folder() -> Path:
    if not _root:
        _root.append(Path(tempfile.mkdtemp(prefix="tvm-workbench-reference-")))
        atexit.register(shutil.rmtree, _root[0], ignore_errors=True)
    return _root[0]
