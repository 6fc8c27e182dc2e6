"""In a child: a build written to a folder, for another process or another machine."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.cuda_code import compiled_for_elsewhere
from workbench.measure.kernels.counting import counted
from workbench.measure.remote.builders import COUNTED, LIBRARY
from workbench.measure.timing import builds
from workbench.worker.backend import resolved_target


def target_here(workload: Workload, *, target: str, progress: Callable[..., None]) -> str:
    """The target that a text stands for on the machine that will run it, whichever machine compiles."""
    progress("Looking at the machine")
    return resolved_target(workload, target)


def export(
    workload: Workload, *, target: str, config: Mapping[str, Any], folder: str, progress: Callable[..., None]
) -> dict[str, Any]:
    """Compile, and write the library and its counts into a folder."""
    with compiled_for_elsewhere():
        kept = builds.compiled(workload, target, config, progress)
    kept.built.export(Path(folder) / LIBRARY)
    found = {"target": kept.target, "build_seconds": kept.seconds, **counted(kept.built, workload)}
    (Path(folder) / COUNTED).write_text(json.dumps(found))
    return {}
