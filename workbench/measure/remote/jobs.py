"""What the child does for `wb.measure` where the build came from an executor, or runs on a device that a tracker lends."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tvm

from workbench.dialects.base import Workload
from workbench.dialects.cuda_code import compiled_for_elsewhere
from workbench.dialects.registry import dialect
from workbench.errors import MeasureError
from workbench.measure.remote.builders import LIBRARY, counts_in
from workbench.measure.remote.session import Session, at_device
from workbench.measure.remote.tracker import Tracker
from workbench.measure.timing import builds
from workbench.measure.timing.jobs import observed, seen_here
from workbench.pipeline.config import Config

Progress = Callable[..., None]


def run(
    workload: Workload,
    *,
    target: str,
    config: Mapping[str, Any],
    tracker: Mapping[str, Any] | None,
    folder: str | None,
    budget: float,
    seed: int,
    reference: str | None,
    per_kernel: bool,
    progress: Progress,
) -> dict[str, Any]:
    """Do what workbench.measure.timing.jobs.run does, here or on a device, with what was built here or elsewhere.

    Parameters
    ----------
    tracker
        A Tracker's fields, and `wait`: seconds to wait for a free device. None to run here.
    folder
        Where an executor left the build; None to build here.
    """
    program = builds.program_of(workload, Config.of(dict(config)), progress)
    compiler = dialect(workload.dialect).compiler

    def here(library: Path, calls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        progress("Loading")
        running = compiler.running(program, tvm.runtime.load_module(str(library)), compiler.device_of(target), seed)
        return observed(running, calls if per_kernel else None, budget, reference, progress, seen_here)

    def on_device(library: Path, lender: Tracker, wait: float) -> dict[str, Any]:
        def work(session: Session) -> dict[str, Any]:
            progress(f"Loading on {session.lent}")
            running = session.running(program, library, target, seed)
            conditions = _elsewhere(session.conditions(target), lender)
            answer = observed(running, None, budget, reference, progress, lambda: {"conditions": conditions})
            # Relay's kernels are called by themselves, Relax's are watched by a function of this process: neither can be sent
            missing = {"kernel_method": "not timed one by one: TVM's RPC gives the whole only"} if per_kernel else {}
            return {**answer, **conditions, **missing}

        return at_device(lender, work, wait=wait, progress=progress)

    with tempfile.TemporaryDirectory() as scratch:
        library, calls = _library(workload, target, config, folder, Path(scratch), progress)
        if tracker is None:
            return {"conditions": {}, **here(library, calls)}
        fields = {name: value for name, value in tracker.items() if name != "wait"}
        return on_device(library, Tracker(**fields), tracker["wait"])


def _library(
    workload: Workload, target: str, config: Mapping[str, Any], folder: str | None, scratch: Path, progress: Progress
) -> tuple[Path, Sequence[Mapping[str, Any]]]:
    """The file of a build, linked where it is loaded, so that it may be of another kind of machine; and its calls."""
    if folder is not None:
        found = counts_in(Path(folder))
        if found["tvm"] != tvm.__version__:
            raise MeasureError(
                f"the executor compiled with TVM {found['tvm']}, and this environment has {tvm.__version__}; "
                "give its workers the same environment"
            )
        return Path(folder) / LIBRARY, found["calls"]
    with compiled_for_elsewhere():
        kept = builds.compiled(workload, target, config, progress)
    kept.built.export(scratch / LIBRARY)
    return scratch / LIBRARY, kept.built.calls()


def _elsewhere(found: dict[str, Any], tracker: Tracker) -> dict[str, Any]:
    """The conditions of a row that was measured on another machine: what isn't known of it is None, not what this one has.

    Returns
    -------
    dict
        `machine` tells trackers, keys and kinds of device apart; two boards that servers offer under one key count as alike.
    """
    parts = ("remote", tracker.host, tracker.key, str(found["gpu"]), str(found["threads"]))
    return {**found, "machine": hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]}
