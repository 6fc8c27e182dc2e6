"""Job that times chains of kernels without work: the cost of one more call."""

from __future__ import annotations

from workbench import samples
from workbench.dialects.trust import allowed
from workbench.jobs.build import compiled, counted
from workbench.measurement.repeats import sample
from workbench.pipeline.config import AS_IS, Config
from workbench.worker.child import Progress

LENGTHS = (4, 36, 132)
"kernels of the chains"
ELEMENTS = 64
"of a value: the work of a kernel must be small against the call"


def chains(*, dialect: str, target: str, rows: int, budget: float, progress: Progress) -> dict[str, object]:
    """Build chains of element-wise kernels on 256 bytes, none fused, and time each.

    Parameters
    ----------
    rows
        The rows of the values: TVM's schedules spread rows over threads.

    Returns
    -------
    dict
        `calls` (kernels of each chain), `samples` (seconds of one run, a list for each chain), `parallel` (whether the kernels
        start threads of TVM's pool).
    """
    config = Config(opt_level=0, disabled=AS_IS if dialect == "relay" else ()).to_data()
    calls, timed, parallel = [], [], False
    for place, length in enumerate(LENGTHS):
        progress(f"Timing a chain of {length} kernels", place / len(LENGTHS))
        chain = samples.load("chain", dialect=dialect, length=length, rows=rows, width=ELEMENTS // rows)
        with allowed(chain.trusted):
            kept = compiled(chain, target, config, progress)
            timed.append(sample(kept.built.load(0).run, budget)["samples"])
        calls.append(len(counted(kept.built, chain)["calls"]))
        parallel = "ParallelLaunch" in kept.built.source()
    return {"calls": calls, "samples": timed, "parallel": parallel}
