"""In the child: a race on a device that a tracker lends. Both have the same device, in one session, and take turns on it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.cuda_code import compiled_for_elsewhere
from workbench.dialects.facets import Running
from workbench.measure.remote.session import Session, at_device
from workbench.measure.remote.tracker import Tracker
from workbench.measure.timing import builds
from workbench.measure.timing.jobs import compare
from workbench.measure.timing.sampling import HEATS, TURNS, Run, interleave, turns
from workbench.pipeline.config import Config


def race(
    workload: Workload,
    *,
    target: str,
    configs: Sequence[Mapping[str, Any]],
    tracker: Mapping[str, Any],
    budget: float,
    seed: int,
    reference: str | None,
    progress: Callable[..., None],
) -> dict[str, Any]:
    """Do what workbench.measure.timing.jobs.race does, on a device.

    Parameters
    ----------
    tracker
        A Tracker's fields, and `wait`: seconds to wait for a free device.
    """
    lender = Tracker(**{name: value for name, value in tracker.items() if name != "wait"})
    with tempfile.TemporaryDirectory() as scratch:
        libraries = [Path(scratch, f"{which}.tar") for which in range(len(configs))]
        for config, library in zip(configs, libraries, strict=True):
            with compiled_for_elsewhere():
                builds.compiled(workload, target, config, progress).built.export(library)
        programs = [builds.program_of(workload, Config.of(dict(config)), progress) for config in configs]

        def work(session: Session) -> dict[str, Any]:
            def loaded(which: int, heat: str) -> Running:
                # a name of its own: what is loaded must not be written over
                named = libraries[which].with_name(f"{which}-{heat}-{session.lent.port}.tar")
                os.link(libraries[which], named)
                return session.running(programs[which], named, target, seed)

            def load(heat: int) -> list[Run]:
                found = {place: loaded(TURNS[place], f"{heat}-{place}") for place in turns(heat)}
                return [found[place].run for place in range(len(TURNS))]

            progress(f"Racing on {session.lent}", 0.0)
            checks = [
                {} if reference is None else compare(loaded(which, "check"), reference, progress) for which in (0, 1)
            ]
            times = interleave(load, budget, lambda fraction: progress(f"Racing on {session.lent}", fraction))
            method = f"in turn, in one session of the server {session.lent}, loaded anew {HEATS} times"
            return {**times, "checks": checks, "target": target, "method": method}

        return at_device(lender, work, wait=tracker["wait"], progress=progress)
