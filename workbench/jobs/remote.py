"""Jobs that run a build of an executor, or run on a device of a tracker."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tvm

from workbench.dialects.base import Workload
from workbench.dialects.compiler.cuda_code import compiled_for_elsewhere
from workbench.dialects.facets import Running
from workbench.dialects.registry import dialect
from workbench.errors import MeasureError
from workbench.jobs.build import compiled, program_of
from workbench.jobs.device_session import Session, at_device
from workbench.jobs.run_build import compare, observed, run_conditions
from workbench.measurement.build_and_time import RaceRequest, TimeRequest
from workbench.measurement.remote.executor import LIBRARY, counts_in
from workbench.measurement.remote.tracker import Tracker
from workbench.measurement.repeats import HEATS, TURNS, Run, interleave, turns
from workbench.pipeline.config import Config
from workbench.worker.child import Progress


def run(workload: Workload, *, progress: Progress, **asked: Any) -> dict[str, object]:
    """Run `workbench.jobs.run_build.run` here or on a device, with a build from here or from an executor."""
    request = TimeRequest(**asked)
    with tempfile.TemporaryDirectory() as scratch:
        library, calls = _library(workload, request, Path(scratch), progress)
        program = program_of(workload, Config.of(dict(request.config)), progress)
        if request.tracker is not None:
            return _run_on_device(program, library, request, progress)
        progress("Loading")
        compiler = dialect(workload.dialect).compiler
        loaded = tvm.runtime.load_module(str(library))
        running = compiler.running(program, loaded, compiler.device_of(request.target), request.seed)
        return {
            "conditions": {},
            **observed(running, calls if request.per_kernel else None, request, progress, run_conditions),
        }


def _run_on_device(program: Workload, library: Path, request: TimeRequest, progress: Progress) -> dict[str, object]:
    assert request.tracker is not None
    lender = _lender(request.tracker)

    def work(session: Session) -> dict[str, object]:
        progress(f"Loading on {session.lent}")
        running = session.running(program, library, request.target, request.seed)
        conditions = _elsewhere(session.conditions(request.target), lender)
        answer = observed(running, None, request, progress, lambda: {"conditions": conditions})
        # Relay's kernels are called one by one, Relax's are timed by a function of this process: neither can be sent
        missing = "not timed one by one: TVM's RPC gives the whole only"
        return {**answer, **conditions, **({"kernel_method": missing} if request.per_kernel else {})}

    return at_device(lender, work, wait=request.tracker["wait"], progress=progress)


def _lender(tracker: Mapping[str, Any]) -> Tracker:
    """Return the tracker of a request, whose mapping also has `wait`: the seconds to wait for a device."""
    return Tracker(**{name: value for name, value in tracker.items() if name != "wait"})


def _library(
    workload: Workload, request: TimeRequest, scratch: Path, progress: Progress
) -> tuple[Path, Sequence[Mapping[str, object]]]:
    """Return the file of a build and its calls. The machine that loads it links it, and may be of another kind."""
    if request.folder is not None:
        found = counts_in(Path(request.folder))
        if found["tvm"] != tvm.__version__:
            raise MeasureError(
                f"the executor compiled with TVM {found['tvm']}, and this environment has {tvm.__version__}; "
                "give its workers the same environment"
            )
        return Path(request.folder) / LIBRARY, found["calls"]
    return _exported(workload, request.target, request.config, scratch / LIBRARY, progress)


def _exported(
    workload: Workload, target: str, config: Mapping[str, object], library: Path, progress: Progress
) -> tuple[Path, Sequence[Mapping[str, object]]]:
    with compiled_for_elsewhere():
        kept = compiled(workload, target, config, progress)
    kept.built.export(library)
    return library, kept.built.calls()


def _elsewhere(found: dict[str, object], tracker: Tracker) -> dict[str, object]:
    """Return the conditions of a row measured on another machine: unknown ones are None, not those of this machine.

    Returns
    -------
    dict
        `machine` distinguishes trackers, keys and kinds of device; boards under one key count as the same.
    """
    parts = ("remote", tracker.host, tracker.key, str(found["gpu"]), str(found["threads"]))
    return {**found, "machine": hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]}


def race(workload: Workload, *, progress: Progress, **asked: Any) -> dict[str, object]:
    """Run `workbench.jobs.run_build.race` on a device: both use the same one, in one session, in turn."""
    request = RaceRequest(**asked)
    assert request.tracker is not None
    with tempfile.TemporaryDirectory() as scratch:
        libraries = [Path(scratch, f"{which}.tar") for which in range(len(request.configs))]
        for config, library in zip(request.configs, libraries, strict=True):
            _exported(workload, request.target, config, library, progress)
        programs = [program_of(workload, Config.of(dict(config)), progress) for config in request.configs]

        def work(session: Session) -> dict[str, object]:
            def loaded(which: int, heat: str) -> Running:
                # a name of its own, so that a loaded library is not overwritten
                named = libraries[which].with_name(f"{which}-{heat}-{session.lent.port}.tar")
                os.link(libraries[which], named)
                return session.running(programs[which], named, request.target, request.seed)

            def load(heat: int) -> list[Run]:
                found = {place: loaded(TURNS[place], f"{heat}-{place}") for place in turns(heat)}
                return [found[place].run for place in range(len(TURNS))]

            progress(f"Racing on {session.lent}", 0.0)
            expected = request.reference
            checks = [compare(loaded(which, "check"), expected, progress) if expected else {} for which in (0, 1)]
            times = interleave(load, request.budget, lambda fraction: progress(f"Racing on {session.lent}", fraction))
            method = f"in turn, in one session of the server {session.lent}, loaded anew {HEATS} times"
            return {**times, "checks": checks, "target": request.target, "method": method}

        return at_device(_lender(request.tracker), work, wait=request.tracker["wait"], progress=progress)
